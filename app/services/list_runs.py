"""The list of runs, newest first: which job, where, how it ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.jobs import Outcome
from app.domain.results import CommitRef
from app.services.list_checks import commit_ref
from app.store.repositories import runs
from app.store.repositories.runs import RunContext

PAGE = 50
"""Runs on one page."""


@dataclass(frozen=True)
class RunLine:
    """One run; `outcome` and `ended_at` are None while it goes on, `base` where only head was measured."""

    id: int
    project: str
    suite: str
    device_class: str
    worker: str
    base: CommitRef | None
    head: CommitRef
    attempt: int
    max_attempts: int
    outcome: Outcome | None
    phase: str
    reason: str | None
    message: str | None
    device_s: float
    budget_s: float
    started_at: datetime
    ended_at: datetime | None
    n_invocations: int
    n_void: int


@dataclass(frozen=True)
class RunList:
    """A page of runs; `older` is where the next page begins, None on the last one."""

    lines: tuple[RunLine, ...]
    older: int | None

    @property
    def is_moving(self) -> bool:
        """Whether any run on this page is still going on."""
        return any(line.outcome is None for line in self.lines)


def list_runs(
    session: Session,
    *,
    project_ids: Collection[int] | None = None,
    commit_id: int | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> RunList:
    """Return a page of runs in two statements.

    Args:
        session: the session.
        project_ids: the projects that the reader may see; None for all.
        commit_id: only those that measured the commit on either arm.
        before: only those older than this run.
        limit: the most runs to return.
    """
    found = runs.recent(session, limit + 1, before=before, project_ids=project_ids, commit_id=commit_id)
    shown = found[:limit]
    counts = runs.invocation_counts(session, [context.run.id for context in shown]) if shown else {}
    return RunList(
        lines=tuple(run_line(context, *counts.get(context.run.id, (0, 0))) for context in shown),
        older=shown[-1].run.id if len(found) > limit else None,
    )


def run_line(context: RunContext, n_invocations: int, n_void: int) -> RunLine:
    """Return a run as a list shows it."""
    run, job, attempt = context.run, context.job, context.attempt
    return RunLine(
        id=run.id,
        project=context.project.name,
        suite=job.suite,
        device_class=job.device_class,
        worker=context.worker.name,
        base=commit_ref(context.base) if context.base else None,
        head=commit_ref(context.head),
        attempt=attempt.number,
        max_attempts=job.max_attempts,
        outcome=Outcome(attempt.outcome) if attempt.outcome else None,
        phase=" ".join(filter(None, (attempt.phase, attempt.detail))),
        reason=attempt.reason,
        message=attempt.message,
        device_s=max(run.device_s, attempt.device_s),
        budget_s=job.budget_s,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        n_invocations=n_invocations,
        n_void=n_void,
    )
