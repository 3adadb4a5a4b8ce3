"""Where numbers come from: a run by its name, measured by a worker of ours or posted from elsewhere.

A run that was measured is called by its number, `12`; an upload, which is somebody else's run, `upload-3`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.services.access import Principal
from app.services.series_document import series_document
from app.services.visibility import may_see
from app.store.repositories import run_results as results
from app.store.repositories import runs, uploads
from app.store.repositories.run_results import RunResult
from app.store.repositories.runs import RunContext
from app.store.repositories.uploads import UploadContext
from app.store.tables import Environment, Project, Result

UPLOAD = "upload-"
"""What names of uploads begin with, where runs have nothing before their number."""

_NAME = re.compile(rf"({UPLOAD})?([1-9][0-9]{{0,17}})")


def upload_name(upload_id: int) -> str:
    """Return what an upload is called where a run is expected."""
    return f"{UPLOAD}{upload_id}"


def run_name(result: Result) -> str:
    """Return the name of the run that a result comes from."""
    return name_of_run(result.run_id, result.upload_id)


def name_of_run(run_id: int | None, upload_id: int | None) -> str:
    """Return the name of a run that was measured, or else of an upload."""
    return str(run_id) if upload_id is None else upload_name(upload_id)


def visible_run(session: Session, principal: Principal | None, name: str) -> RunContext | UploadContext:
    """Return the run, or the upload, of that name.

    Raises NotFoundError for an unknown one, and for one of a project that the principal may not see.
    """
    match = _NAME.fullmatch(name)
    if match is not None:
        find = uploads.with_context if match.group(1) else runs.with_context
        context = find(session, int(match.group(2)))
        if context is not None and may_see(principal, context.project.id):
            return context
    raise NotFoundError(f"there is no run {name[:80]!r} that you may see")


def get_run(session: Session, principal: Principal | None, name: str) -> dict[str, Any]:
    """Return the run as plain JSON values; `kind` says whether it was `measured` or `posted`. Raises NotFoundError."""
    context = visible_run(session, principal, name)
    return _measured(session, context) if isinstance(context, RunContext) else _posted(session, context)


def run_results(
    session: Session,
    principal: Principal | None,
    name: str,
    *,
    benchmark: str | None,
    after: int | None,
    limit: int,
) -> dict[str, Any]:
    """Return `{run, results, next}`: what the run has brought, with every value, in the order of its arrival.

    Of a result whose values are no longer kept there are none, and `n` says how many they were.

    Args:
        session: the session.
        principal: who reads.
        name: the run's.
        benchmark: only results of this one.
        after: `next` of the page before.
        limit: the most results.

    Raises NotFoundError.
    """
    context = visible_run(session, principal, name)
    run_id, upload_id = (
        (context.run.id, None) if isinstance(context, RunContext) else (None, context.upload.id)
    )
    found = results.of_run(session, run_id, upload_id, benchmark=benchmark, after=after, limit=limit + 1)
    shown = found[:limit]
    return {
        "run": name,
        "results": [_result(one, context.project) for one in shown],
        "next": shown[-1].result.id if len(found) > limit else None,
    }


def _result(one: RunResult, project: Project) -> dict[str, Any]:
    result = one.result
    return {
        "series": series_document(one.series, one.case, project),
        "arm": result.arm,
        "commit": one.commit.sha,
        "branch": result.branch,
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "n": result.n,
        "values": one.sample.values if one.sample else [],
        "void": one.sample.void if one.sample else [],
        "flags": result.flags,
        "measured_at": result.measured_at,
    }


def _measured(session: Session, context: RunContext) -> dict[str, Any]:
    run, attempt, worker = context.run, context.attempt, context.worker
    return {
        "run": str(run.id),
        "kind": "measured",
        "project": context.project.name,
        "base": context.base.sha if context.base else None,
        "head": context.head.sha,
        "device_class": context.job.device_class,
        "job": _job(context),
        "worker": {"name": worker.name, "host": worker.host, "agent_version": worker.agent_version},
        "environment": _environment(runs.environment_of(session, run)),
        "arms": run.arms,
        "activity": run.activity,
        "invocations": _invocations(runs.invocation_tally(session, run.id)),
        "device_s": max(run.device_s, attempt.device_s),
        "created_at": run.created_at,
        "prepared_at": run.prepared_at,
        "published_at": run.published_at,
        "ended_at": attempt.ended_at,
    }


def _job(context: RunContext) -> dict[str, Any]:
    job, attempt = context.job, context.attempt
    return {
        "id": job.id,
        "suite": job.suite,
        "state": job.state,
        "attempt": attempt.number,
        "outcome": attempt.outcome,
        "reason": attempt.reason or job.reason,
        "budget_s": job.budget_s,
    }


def _environment(environment: Environment | None) -> dict[str, Any] | None:
    if environment is None:
        return None
    return {
        "machine_hash": environment.machine_hash,
        "machine": environment.machine,
        "software": environment.software,
    }


def _invocations(tally: Sequence[tuple[str, str, bool, int]]) -> dict[str, Any]:
    arms: dict[str, Counter[str]] = {}
    for arm, status, _, count in tally:
        arms.setdefault(arm, Counter())[status] += count
    return {
        "total": sum(count for *_, count in tally),
        "void": sum(count for _, _, void, count in tally if void),
        "arms": {arm: dict(statuses) for arm, statuses in arms.items()},
    }


def _posted(session: Session, context: UploadContext) -> dict[str, Any]:
    upload = context.upload
    return {
        "run": upload_name(upload.id),
        "kind": "posted",
        "project": context.project.name,
        "base": None,
        "head": context.commit.sha,
        "environment": _environment(context.environment),
        "posted_by": upload.posted_by,
        "results": uploads.n_results(session, upload.id),
        "created_at": upload.created_at,
    }
