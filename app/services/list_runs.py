"""The list of runs, newest first: which job, where, how it ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.jobs import Outcome
from app.domain.results import CommitRef
from app.services.list_checks import commit_ref
from app.store.repositories import runs
from app.store.repositories.runs import InvocationCounts, RunContext

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
    n_ok: int

    @property
    def is_barren(self) -> bool:
        """Whether it came to its end, and none of its invocations succeeded."""
        return self.outcome is Outcome.OK and self.n_invocations > 0 and self.n_ok == 0


def list_runs(
    session: Session,
    *,
    project_ids: Collection[int] | None = None,
    commit_id: int | None = None,
    limit: int = PAGE,
) -> tuple[RunLine, ...]:
    """Return the newest runs in two statements.

    Args:
        session: the session.
        project_ids: the projects that the reader may see; None for all.
        commit_id: only those that measured the commit on either arm.
        limit: the most runs to return.
    """
    return _lines(session, runs.recent(session, limit, project_ids=project_ids, commit_id=commit_id))


def lines_of(session: Session, run_ids: Collection[int]) -> dict[int, RunLine]:
    """Return the line of each of these runs by its id, in two statements."""
    return {line.id: line for line in _lines(session, runs.contexts(session, run_ids))} if run_ids else {}


def _lines(session: Session, found: Sequence[RunContext]) -> tuple[RunLine, ...]:
    counts = runs.invocation_counts(session, [context.run.id for context in found]) if found else {}
    return tuple(run_line(context, counts.get(context.run.id, InvocationCounts())) for context in found)


def run_line(context: RunContext, invocations: InvocationCounts) -> RunLine:
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
        n_invocations=invocations.n,
        n_void=invocations.n_void,
        n_ok=invocations.n_ok,
    )
