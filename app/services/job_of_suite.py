"""The job of one suite on one device class: what an agent needs to know of it, and what the judge does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA, ALPHA_PASS, MAX_PAIRS
from app.config import ServiceSettings
from app.services.check_request import CheckRequest
from app.services.costs import costs_document
from app.services.derive_values import LEAST_TIMED_S, wants_energy
from app.settings import SuiteSettings, Thresholds, suite_digest
from app.store.repositories import clock, fleet
from app.store.repositories.upsert import get_or_create
from app.store.tables import Commit, Job, Project, Request, RequestJob

POLICY_VERSION = 1
"""Part of a job's key: a new way to measure makes new jobs, never answers from old ones."""


@dataclass(frozen=True)
class JobContext:
    """What the jobs of one check share; `n_jobs` is how many share its alpha."""

    project: Project
    request: Request
    base: Commit
    head: Commit
    wanted: CheckRequest
    n_jobs: int


def job_of_suite(
    session: Session, service: ServiceSettings, context: JobContext, suite: SuiteSettings, device_class: str
) -> Job:
    """Return the job, made if it is new: whatever it rests on is part of its key."""
    wanted = context.wanted
    identity = {
        "project": context.project.id,
        "base": context.base.sha,
        "head": context.head.sha,
        "suite": suite_digest(wanted.settings, suite),
        "class": device_class,
        "policy": POLICY_VERSION,
        "alpha": ALPHA / context.n_jobs,
        "request": context.request.id,
        "untrusted": wanted.untrusted,
    }
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    job, _ = get_or_create(
        session,
        Job,
        {"key": key},
        project_id=context.project.id,
        suite=suite.name,
        device_class=device_class,
        devices_needed=suite.devices_needed,
        base_commit_id=context.base.id,
        head_commit_id=context.head.id,
        spec=_spec(context, suite),
        policy=_policy(context, suite),
        budget_s=60.0 * wanted.settings.gate.device_minutes,
        max_pairs=MAX_PAIRS,
        is_untrusted=wanted.untrusted,
        band=wanted.band,
        deadline_at=clock.later(service.queue_deadline_s),
    )
    session.add(RequestJob(request_id=context.request.id, job_id=job.id))
    session.flush()
    return job


def _spec(context: JobContext, suite: SuiteSettings) -> dict[str, Any]:
    """Return the part of `workers.protocol.JobSpec` that is known before a device is."""
    return {
        "project": context.project.name,
        "source": context.wanted.source,
        "base_sha": context.base.sha,
        "head_sha": context.head.sha,
        "benchmarks_from": context.wanted.benchmarks_from,
        "sandbox": fleet.LEAST_SANDBOX if context.wanted.untrusted else 0,
        "suite": {
            "name": suite.name,
            "benchmarks": list(suite.benchmarks),
            "command": suite.command,
            "output": suite.output,
            "setup": list(suite.setup),
            "env": dict(suite.env),
            "timeout_s": suite.timeout_s,
            "least_timed_s": _least_timed_s(context, suite),
        },
    }


def _least_timed_s(context: JobContext, suite: SuiteSettings) -> float:
    """Return how long each case has to be timed [s]: seconds where a gate or a budget is about energy."""
    budgets = [budget.metric for budget in context.wanted.settings.budgets]
    return LEAST_TIMED_S if wants_energy([*(suite.gate or ()), *budgets]) else 0.0


def _policy(context: JobContext, suite: SuiteSettings) -> dict[str, Any]:
    """Return what the judge needs to know of the settings; fixed here, so that no later change moves a verdict."""
    settings = context.wanted.settings
    branches = {"branch": context.wanted.branch, "base_branch": context.wanted.base_branch}
    of_history = {name: branch for name, branch in branches.items() if branch is not None}
    return {
        **of_history,
        "alpha": ALPHA / context.n_jobs,
        "alpha_pass": ALPHA_PASS,
        "default": _thresholds(settings.gate.thresholds),
        "gate": list(suite.gate) if suite.gate else None,
        "metrics": {
            m.name: _thresholds(settings.thresholds(m.name)) | {"unit": m.unit, "better": m.better}
            for m in settings.metrics
        },
        **costs_document(settings),
        "budgets": [
            {
                "benchmark": b.benchmark,
                "metric": b.metric,
                "max": b.max.value if b.max else None,
                "min": b.min.value if b.min else None,
            }
            for b in settings.budgets
        ],
    }


def _thresholds(found: Thresholds) -> dict[str, Any]:
    return {"tau0": found.minimum_effect_ln, "tau": found.tolerance_ln}
