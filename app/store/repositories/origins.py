"""Confirmed changes for the worse on the branches of connected repositories: where they came from, what is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from app.domain.changes import ChangeState
from app.domain.notices import Acceptance
from app.store import tables
from app.store.repositories.changes import code_got_worse
from app.store.tables import (
    BenchmarkCase,
    ChangePoint,
    Commit,
    Job,
    Origin,
    Repository,
    RequestJob,
    Result,
    Run,
    Series,
)


@dataclass(frozen=True)
class Told:
    """A change with all that is told of it; `job` is what measured it, None for one that was posted."""

    change: ChangePoint
    origin: Origin
    series: Series
    case: BenchmarkCase
    commit: Commit
    previous: Commit
    job: Job | None


def repositories_of(session: Session, project_id: int) -> Sequence[Repository]:
    """Return the connected repositories of a project, in id order."""
    return session.scalars(
        select(Repository)
        .where(Repository.project_id == project_id, Repository.is_connected)
        .order_by(Repository.id)
    ).all()


def _unfollowed(within: timedelta) -> Select[ChangePoint]:
    """Select confirmed changes of code for the worse that the forge was not asked about."""
    return (
        select(ChangePoint)
        .join(Series, Series.id == ChangePoint.series_id)
        .outerjoin(Origin, Origin.change_point_id == ChangePoint.id)
        .where(*code_got_worse(within), Origin.change_point_id.is_(None))
    )


def unfollowed(session: Session, commit_id: int, branch: str, within: timedelta) -> Sequence[ChangePoint]:
    """Return the changes that begin with a commit and that the forge was not asked about, in id order."""
    query = _unfollowed(within).where(ChangePoint.commit_id == commit_id, ChangePoint.branch == branch)
    return session.scalars(query.order_by(ChangePoint.id)).all()


def commits_to_follow(session: Session, within: timedelta, limit: int) -> Sequence[int]:
    """Return commits with changes that the forge was not asked about, or that were taken back and still stand there."""
    unasked = (
        _unfollowed(within)
        .join(
            Repository,
            (Repository.project_id == ChangePoint.project_id) & (Repository.branch == ChangePoint.branch),
        )
        .where(Repository.is_connected)
        .with_only_columns(ChangePoint.commit_id)
        .distinct()
        .limit(limit)
    )
    taken_back = (
        select(ChangePoint.commit_id)
        .join(Origin, Origin.change_point_id == ChangePoint.id)
        .where(
            ChangePoint.state == ChangeState.CORRECTED,
            Origin.shown != ChangeState.CORRECTED,
            Origin.number.is_not(None),
        )
        .distinct()
        .limit(limit)
    )
    return list(dict.fromkeys([*session.scalars(unasked), *session.scalars(taken_back)]))


def numbers_of(session: Session, commit_id: int) -> Sequence[tuple[int, int]]:
    """Return (repository, pull request) of what a commit's changes came with."""
    rows = session.execute(
        select(Origin.repository_id, Origin.number)
        .join(ChangePoint, ChangePoint.id == Origin.change_point_id)
        .where(ChangePoint.commit_id == commit_id, Origin.number.is_not(None))
        .distinct()
        .order_by(Origin.repository_id, Origin.number)
    ).all()
    return [(repository, number) for repository, number in rows if number is not None]


def told(session: Session, repository_id: int, number: int) -> Sequence[Told]:
    """Return the changes that came with a pull request, in id order."""
    previous = aliased(Commit)
    rows = session.execute(
        select(ChangePoint, Origin, Series, BenchmarkCase, Commit, previous, Job)
        .join(Origin, Origin.change_point_id == ChangePoint.id)
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Commit, Commit.id == ChangePoint.commit_id)
        .join(previous, previous.id == ChangePoint.previous_commit_id)
        .join(Result, Result.id == ChangePoint.result_id)
        .outerjoin(Run, Run.id == Result.run_id)
        .outerjoin(Job, Job.id == Run.job_id)
        .where(Origin.repository_id == repository_id, Origin.number == number)
        .order_by(ChangePoint.id)
        .execution_options(populate_existing=True)
    )
    return [Told(*row) for row in rows]


def runs_of_requests(session: Session, request_ids: Collection[int]) -> dict[int, int]:
    """Return the newest run of each request."""
    rows: Any = session.execute(
        select(RequestJob.request_id, func.max(Run.id))
        .join(Run, Run.job_id == RequestJob.job_id)
        .where(RequestJob.request_id.in_(request_ids))
        .group_by(RequestJob.request_id)
    )
    return {row[0]: row[1] for row in rows}


def unaccepted(session: Session, repository_id: int, number: int) -> Sequence[int]:
    """Return the changes that came with a pull request, stand, and nobody has accepted, in id order."""
    return session.scalars(
        select(ChangePoint.id)
        .join(Origin, Origin.change_point_id == ChangePoint.id)
        .outerjoin(tables.Acceptance, tables.Acceptance.change_point_id == ChangePoint.id)
        .where(
            Origin.repository_id == repository_id,
            Origin.number == number,
            ChangePoint.state == ChangeState.CONFIRMED,
            tables.Acceptance.change_point_id.is_(None),
        )
        .order_by(ChangePoint.id)
    ).all()


def accept(session: Session, change_id: int, repository_id: int | None, said: Acceptance) -> None:
    """Store that a change is wanted; what was accepted already stays as it was."""
    statement = insert(tables.Acceptance).values(
        change_point_id=change_id,
        repository_id=repository_id,
        number=said.number,
        accepted_by=said.by,
        reason=said.reason,
        accepted_at=said.at,
    )
    session.execute(statement.on_conflict_do_nothing(index_elements=["change_point_id"]))


def take_back_acceptances(session: Session, change_ids: Collection[int]) -> None:
    """Forget that these changes are wanted."""
    its = tables.Acceptance
    session.execute(delete(its).where(its.change_point_id.in_(change_ids)))


def acceptances(session: Session, change_ids: Collection[int]) -> dict[int, Acceptance]:
    """Return the acceptance of each change that has one."""
    its = tables.Acceptance
    rows = session.scalars(select(its).where(its.change_point_id.in_(change_ids)))
    return {
        row.change_point_id: Acceptance(row.accepted_by, row.reason, row.accepted_at, row.number)
        for row in rows
    }


def pulls_of(session: Session, change_ids: Collection[int]) -> dict[int, int]:
    """Return the merged pull request that each change came with, where one is known."""
    rows = session.execute(
        select(Origin.change_point_id, Origin.number).where(
            Origin.change_point_id.in_(change_ids), Origin.number.is_not(None)
        )
    )
    return {change_id: number for change_id, number in rows if number is not None}
