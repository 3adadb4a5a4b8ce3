"""Somebody asks for a check: it becomes a request, a check, and one paired job for each suite and device class."""

from __future__ import annotations

import hashlib
import json
import shlex
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.sequential import ALPHA, ALPHA_PASS, MAX_PAIRS
from app.config import ServiceSettings
from app.domain.errors import AccessError, ConflictError, UsageError
from app.domain.jobs import JobState
from app.domain.results import CommitRef
from app.services.access import Principal
from app.services.derive_values import LEAST_TIMED_S, wants_energy
from app.services.lease_jobs import end_job, hint
from app.services.plan_check import Plan, Planned, Wish, plan_again, plan_whole
from app.settings import Settings, SuiteSettings, Thresholds, settings_digest, suite_digest
from app.store.repositories import access, checks, clock, fleet, outbox, projects
from app.store.repositories.upsert import get_or_create
from app.store.tables import Check, Commit, Job, Project, Request, RequestJob

POLICY_VERSION = 1
"""Part of a job's key: a new way to measure makes new jobs, never answers from old ones."""


@dataclass(frozen=True)
class CheckRequest:
    """A check to be made: which commits from where, under which settings, which suites and device classes.

    `suites` and `devices` narrow the settings; empty means all. `key` makes asking twice one request; without one
    each call is a request of its own. `benchmarks_from` says whose benchmark files both arms run.
    """

    settings: Settings
    source: dict[str, str]
    base: CommitRef
    head: CommitRef
    suites: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    benchmarks_from: str = "head"
    trigger: str = "manual"
    key: str | None = None
    band: int = 0
    branch: str | None = None
    """The branch whose history both commits are of; None where head is on none yet."""
    base_branch: str | None = None
    """The branch that base is of; None for the project's own."""
    wishes: tuple[Wish, ...] = ()
    """What somebody wants besides; where there are such, and no suites, they are all that is measured."""
    beside: int | None = None
    """An earlier check of the same commits by the same settings: all that it measured, but for the wishes, stands."""
    untrusted: bool = False
    """Head is a stranger's: it is measured in a sandbox, by the untrusted pool, and nothing of it joins a history."""


def request_check(
    session: Session, service: ServiceSettings, principal: Principal, wanted: CheckRequest
) -> Check:
    """Store the check with its jobs and wake the agents; return the check, an existing one for a known key.

    Raises UsageError for a suite that the settings do not have, AccessError for another project than the token's.
    """
    suites = {suite.name: suite for suite in wanted.settings.suites}
    _refuse_unknown(wanted, suites)
    project = projects.project(session, wanted.settings.project.name)
    if principal.project_id not in (None, project.id):
        raise AccessError(f"the token {principal.name!r} is bound to another project than {project.name!r}")
    if not wanted.untrusted and wanted.base_branch != "":  # what was picked by hand says nothing of it
        project.branch = wanted.settings.project.branch
    request, new = _request(session, project, principal, wanted)
    base, head = (_commit(session, project, info) for info in (wanted.base, wanted.head))
    if not new:
        return _check_of(session, request, wanted, base, head)
    check = _check(session, project, request, base, head, wanted)
    plan = _plan(session, service, wanted, suites)
    for job in plan.kept:
        session.add(RequestJob(request_id=request.id, job_id=job.id))
    context = _Context(project, request, base, head, wanted, plan.n_jobs)
    for planned in plan.new:
        _add_job(session, service, context, planned)
    if not plan.new:  # else the last of its jobs has it concluded
        outbox.put(session, "check.conclude", f"check.conclude/{check.id}", {"check_id": check.id})
    access.audit(session, principal.name, "check.requested", f"check/{check.id}", project=project.name)
    return check


@dataclass(frozen=True)
class _Context:
    project: Project
    request: Request
    base: Commit
    head: Commit
    wanted: CheckRequest
    n_jobs: int


def _refuse_unknown(wanted: CheckRequest, known: Mapping[str, SuiteSettings]) -> None:
    named = (*wanted.suites, *(wish.suite for wish in wanted.wishes))
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise UsageError(
            f"no suite named {unknown!r} in ratchet.toml; it has: {', '.join(sorted(known))}", code="no_suite"
        )


def _plan(
    session: Session, service: ServiceSettings, wanted: CheckRequest, suites: Mapping[str, SuiteSettings]
) -> Plan:
    live = _live_classes(session, service, wanted)
    wished = [(suites[wish.suite], wish.device) for wish in wanted.wishes]
    if wanted.beside is not None:
        return plan_again(session, wanted.beside, wished, live)
    takes_all = not wanted.suites and not wanted.wishes
    anyway = [suite for name, suite in suites.items() if takes_all or name in wanted.suites]
    return plan_whole(anyway, wanted.devices, wished, live)


def _request(
    session: Session, project: Project, principal: Principal, wanted: CheckRequest
) -> tuple[Request, bool]:
    key = wanted.key or f"{wanted.trigger}/{uuid.uuid4()}/{wanted.base.sha}/{wanted.head.sha}"
    full = f"{project.id}/{key}"
    rest = {"project_id": project.id, "trigger": wanted.trigger, "asked_by": principal.name}
    return get_or_create(session, Request, {"key": full}, **rest)


def _check_of(session: Session, request: Request, wanted: CheckRequest, base: Commit, head: Commit) -> Check:
    """Return the check that this key made. Raises ConflictError if it was asked for something else."""
    check = checks.of_request(session, request.id)
    assert check is not None
    its = check.settings
    known = (check.base_commit_id, check.head_commit_id, its["digest"], its.get("untrusted", False))
    if known != (base.id, head.id, settings_digest(wanted.settings), wanted.untrusted):
        raise ConflictError(
            f"the key {wanted.key!r} was used for another check, {check.id}", code="idempotency_conflict"
        )
    return check


def _commit(session: Session, project: Project, info: CommitRef) -> Commit:
    return projects.commit(
        session,
        project.id,
        info.sha,
        subject=info.subject,
        author=info.author,
        authored_at=info.date,
    )


def _check(
    session: Session, project: Project, request: Request, base: Commit, head: Commit, wanted: CheckRequest
) -> Check:
    gate = wanted.settings.gate
    check = Check(
        project_id=project.id,
        request_id=request.id,
        base_commit_id=base.id,
        head_commit_id=head.id,
        alpha=ALPHA,
        settings={
            "minimum_effect": gate.minimum_effect,
            "tolerance": gate.tolerance,
            "strict": gate.strict,
            "comment": wanted.settings.project.comment,
            "suites": [suite.name for suite in wanted.settings.suites],
            "digest": settings_digest(wanted.settings),
            "untrusted": wanted.untrusted,
        },
        reproduce=_reproduce(wanted),
    )
    session.add(check)
    session.flush()
    return check


def _reproduce(wanted: CheckRequest) -> str:
    words = ["ratchet check --repo .", f"--base {wanted.base.sha[:12]}", f"--head {wanted.head.sha[:12]}"]
    named = dict.fromkeys((*wanted.suites, *(wish.suite for wish in wanted.wishes)))
    words += [f"--suite {shlex.quote(name)}" for name in named]
    words += [f"--device {shlex.quote(glob)}" for glob in wanted.devices]
    return " ".join(words)


def _live_classes(session: Session, service: ServiceSettings, wanted: CheckRequest) -> list[str]:
    """Return the device classes of the workers that may be given the check's jobs."""
    return fleet.live_classes(
        session, within=service.worker_live_for, healths=fleet.TENDED, untrusted=wanted.untrusted
    )


def _add_job(session: Session, service: ServiceSettings, context: _Context, planned: Planned) -> None:
    job = _job(session, service, context, planned.suite, planned.device_class)
    reason = _why_no_capacity(session, service, context.wanted, planned)
    if reason is None:
        _say_if_quarantined(session, service, job)
        hint(session, job)
    elif job.state == JobState.QUEUED:
        end_job(session, job, JobState.NO_CAPACITY, reason="no_capacity", message=reason)


def _say_if_quarantined(session: Session, service: ServiceSettings, job: Job) -> None:
    """Have a job that waits say so where the devices that it needs are in quarantine: they may be well soon."""
    most = fleet.most_devices_of_one_worker(
        session, job.device_class, within=service.worker_live_for, untrusted=job.is_untrusted
    )
    if job.state == JobState.QUEUED and most < job.devices_needed:
        job.reason = "device_quarantined"
        job.message = f"it waits until a device of class {job.device_class} leaves its quarantine"


def _why_no_capacity(
    session: Session, service: ServiceSettings, wanted: CheckRequest, planned: Planned
) -> str | None:
    suite, device_class = planned.suite, planned.device_class
    pool = "worker of the untrusted pool" if wanted.untrusted else "live worker"
    if not planned.is_live:
        live = _live_classes(session, service, wanted)
        have = ", ".join(live) if live else f"no {pool.removeprefix('live ')} is connected"
        return f"no {pool} has a device of class {device_class}; connected now: {have}"
    most = fleet.most_devices_of_one_worker(
        session,
        device_class,
        within=service.worker_live_for,
        healths=fleet.TENDED,
        untrusted=wanted.untrusted,
    )
    if most < suite.devices_needed:
        needs = f"{suite.devices_needed} devices of class {device_class} on one {pool.removeprefix('live ')}"
        return f"the suite needs {needs}; the most that one has is {most}"
    return None


def _job(
    session: Session, service: ServiceSettings, context: _Context, suite: SuiteSettings, device_class: str
) -> Job:
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


def _spec(context: _Context, suite: SuiteSettings) -> dict[str, Any]:
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


def _least_timed_s(context: _Context, suite: SuiteSettings) -> float:
    """Return how long each case has to be timed [s]: seconds where a gate or a budget is about energy."""
    budgets = [budget.metric for budget in context.wanted.settings.budgets]
    return LEAST_TIMED_S if wants_energy([*(suite.gate or ()), *budgets]) else 0.0


def _policy(context: _Context, suite: SuiteSettings) -> dict[str, Any]:
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
        "prices": [
            {"devices": p.devices, "hour": p.hour, "currency": p.currency, "date": p.date.isoformat()}
            for p in settings.prices
        ],
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
