"""The list of checks, newest first: what each one says, and how far the running ones have come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.jobs import HELD, JobState
from app.domain.results import CommitRef
from app.domain.verdicts import Conclusion
from app.store.repositories import checks, projects
from app.store.repositories.checks import JobCount
from app.store.tables import Check, Commit, Project

PAGE = 50
"""Checks on one page."""


@dataclass(frozen=True)
class CheckProgress:
    """How far an unfinished check has come over all its jobs; `waiting_for` are queued jobs' classes."""

    settled: int
    gating: int
    pairs: int
    is_measuring: bool
    waiting_for: tuple[str, ...]


@dataclass(frozen=True)
class CheckLine:
    """One check of the list: it has a conclusion and a title, or progress while it is not complete."""

    id: int
    project: str
    base: CommitRef
    head: CommitRef
    conclusion: Conclusion | None
    title: str | None
    created_at: datetime
    concluded_at: datetime | None
    progress: CheckProgress | None


@dataclass(frozen=True)
class CheckList:
    """A page of checks; `older` is where the next page begins, None on the last one."""

    lines: tuple[CheckLine, ...]
    projects: tuple[str, ...]
    older: int | None

    @property
    def is_moving(self) -> bool:
        """Whether anything on this page is still going on."""
        return any(line.progress for line in self.lines)


def list_checks(
    session: Session,
    *,
    project: str | None = None,
    project_ids: Collection[int] | None = None,
    commit_id: int | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> CheckList:
    """Return a page of checks in three statements, however many there are.

    Args:
        session: the session.
        project: only those of the project of this name.
        project_ids: the projects that the reader may see; None for all.
        commit_id: only those that the commit is base or head of.
        before: only those older than this check.
        limit: the most checks to return.
    """
    found = checks.recent(
        session,
        limit=limit + 1,
        project=project,
        project_ids=project_ids,
        before=before,
        commit_id=commit_id,
    )
    shown = found[:limit]
    unfinished = [check.id for check, *_ in shown if check.conclusion is None]
    progress = _progress(checks.job_counts(session, unfinished)) if unfinished else {}
    return CheckList(
        lines=tuple(_line(*row, progress) for row in shown),
        projects=tuple(projects.names(session, project_ids=project_ids)),
        older=shown[-1][0].id if len(found) > limit else None,
    )


def commit_ref(row: Commit) -> CommitRef:
    """Return the commit as it is shown."""
    return CommitRef(row.sha, row.subject, row.author, row.authored_at)


def _line(
    check: Check, project: Project, base: Commit, head: Commit, progress: dict[int, CheckProgress]
) -> CheckLine:
    nothing_yet = CheckProgress(0, 0, 0, is_measuring=False, waiting_for=())
    return CheckLine(
        id=check.id,
        project=project.name,
        base=commit_ref(base),
        head=commit_ref(head),
        conclusion=Conclusion(check.conclusion) if check.conclusion else None,
        title=check.title,
        created_at=check.created_at,
        concluded_at=check.concluded_at,
        progress=None if check.conclusion else progress.get(check.id, nothing_yet),
    )


def _progress(counts: Sequence[JobCount]) -> dict[int, CheckProgress]:
    by_check: dict[int, list[JobCount]] = defaultdict(list)
    for count in counts:
        by_check[count.check_id].append(count)
    return {check_id: _sum(jobs) for check_id, jobs in by_check.items()}


def _sum(jobs: Iterable[JobCount]) -> CheckProgress:
    """Add up a check's jobs; what a lost attempt had measured does not count, its job waits again."""
    queued = [job for job in jobs if job.state == JobState.QUEUED]
    begun = [job for job in jobs if job.state != JobState.QUEUED]
    return CheckProgress(
        settled=sum(job.settled for job in begun),
        gating=sum(job.gating for job in begun),
        pairs=sum(job.pairs for job in begun),
        is_measuring=any(job.state in HELD for job in begun),
        waiting_for=tuple(sorted({job.device_class for job in queued})),
    )
