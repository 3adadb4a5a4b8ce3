"""Change points: what is known of where histories changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, func, or_, select, text
from sqlalchemy.orm import Session, aliased

from app.domain.alerts import CLOSED_STATES
from app.domain.changes import WITHIN_CHANCE, ChangeState
from app.domain.jobs import TERMINAL, JobState
from app.store.tables import BenchmarkCase, ChangePoint, Commit, Job, Project, RequestJob, Result, Series

_TERMINAL_JOBS = [str(state) for state in TERMINAL]


@dataclass(frozen=True)
class ChangeContext:
    """A change point with what it is about."""

    change: ChangePoint
    series: Series
    case: BenchmarkCase
    project: Project
    commit: Commit
    previous: Commit
    end: Commit


def of_history(session: Session, series_id: int, branch: str, *, first_row: int = 0) -> Sequence[ChangePoint]:
    """Return the change points of the history from a row on, and older suspicions, in their order and then by id."""
    which = {"series_id": series_id, "branch": branch, "first_row": first_row}
    return session.scalars(_OF_HISTORY, which).all()


_OF_HISTORY = (
    select(ChangePoint)
    .where(
        ChangePoint.series_id == bindparam("series_id"),
        ChangePoint.branch == bindparam("branch"),
        (ChangePoint.index >= bindparam("first_row")) | (ChangePoint.state == ChangeState.SUSPECTED),
    )
    .order_by(ChangePoint.index, ChangePoint.id)
)


def confirmed_at(session: Session, series_id: int, branch: str, commit_id: int) -> ChangePoint | None:
    """Return the history's confirmed change that begins with the commit; there is one at the most."""
    return session.scalars(
        select(ChangePoint).where(
            ChangePoint.series_id == series_id,
            ChangePoint.branch == branch,
            ChangePoint.commit_id == commit_id,
            ChangePoint.state == ChangeState.CONFIRMED,
        )
    ).one_or_none()


def family(
    session: Session, project_id: int, branch: str, commit_id: int, previous_commit_id: int, *, without: int
) -> tuple[list[float], int]:
    """Return the p-values of changes that stand and begin with the commit, and how many series have results of it.

    Args:
        session: the session.
        project_id: whose series.
        branch: of the histories.
        commit_id: the commit.
        previous_commit_id: the one before; no fewer series count than it has.
        without: the series whose own changes are left out of the p-values.
    """
    which = {
        "project_id": project_id,
        "branch": branch,
        "commit_id": commit_id,
        "previous_commit_id": previous_commit_id,
        "without": without,
    }
    row = session.execute(_FAMILY, which).one()
    return list(row[0]), max(row[1], row[2])


# A subquery with a limit is looked up in the index series by series; `exists` would read all results of all series.
_FAMILY = text(
    """
    with member as (
      select id,
        (select true from result
         where series_id = series.id and commit_id = :commit_id and branch = :branch limit 1) as has_commit,
        (select true from result
         where series_id = series.id and commit_id = :previous_commit_id and branch = :branch limit 1) as has_previous
      from series where project_id = :project_id)
    select
      array(
        select p_value from change_point
        where project_id = :project_id and branch = :branch and commit_id = :commit_id
          and state in ('suspected', 'confirmed') and p_value is not null and series_id <> :without),
      (select count(has_commit) from member),
      (select count(has_previous) from member)
    """
)


def find(
    session: Session,
    *,
    project_id: int | None = None,
    series_id: int | None = None,
    commit_id: int | None = None,
    states: Collection[str],
    since: datetime | None = None,
    before: int | None = None,
    limit: int,
) -> Sequence[ChangeContext]:
    """Return change points in these states with their contexts, the newest first.

    Args:
        session: the session.
        project_id: only this project's.
        series_id: only this series'.
        commit_id: only those that begin with this commit.
        states: the states to be in.
        since: only those that were first seen, confirmed, withdrawn or corrected then or later.
        before: only those with smaller ids.
        limit: how many at the most.
    """
    query = _contexts().where(ChangePoint.state.in_(states)).order_by(ChangePoint.id.desc()).limit(limit)
    if project_id is not None:
        query = query.where(ChangePoint.project_id == project_id)
    if series_id is not None:
        query = query.where(ChangePoint.series_id == series_id)
    if commit_id is not None:
        query = query.where(ChangePoint.commit_id == commit_id)
    if since is not None:
        query = query.where(_moved_since(since))
    if before is not None:
        query = query.where(ChangePoint.id < before)
    return [ChangeContext(*row) for row in session.execute(query)]


def code_got_worse(within: timedelta) -> tuple[ColumnElement[bool], ...]:
    """Return what holds of a change of code for the worse that was confirmed of late; its series is joined."""
    return (
        ChangePoint.state == ChangeState.CONFIRMED,
        ChangePoint.label.is_(None),
        ChangePoint.confirmed_at > func.clock_timestamp() - within,
        (ChangePoint.after > ChangePoint.before) == (Series.better == "lower"),
    )


def open_regressions(session: Session, project_id: int, branch: str) -> int:
    """Return of how many series the newest confirmed change on the branch is for the worse, and waits for somebody.

    The machine's, those that are accepted, and those of an alert that somebody has closed do not.
    """
    which = {"project_id": project_id, "branch": branch, "closed": [str(state) for state in CLOSED_STATES]}
    return session.scalar(_OPEN_REGRESSIONS, which) or 0


_OPEN_REGRESSIONS = text(
    """
    select count(*)
    from (
      select distinct on (series_id) id, series_id, before, after, label
      from change_point
      where project_id = :project_id and branch = :branch and state = 'confirmed'
        and before is not null and after is not null
      order by series_id, index desc) as newest
    join series on series.id = newest.series_id
    where (after > before) = (better = 'lower') and label is null
      and not exists (select from acceptance where change_point_id = newest.id)
      and not exists (
        select from alert_change join alert on alert.id = alert_change.alert_id
        where change_point_id = newest.id and not has_left and alert.state = any(:closed))
    """
)


def wanted(session: Session, project_id: int, *, before: int | None, limit: int) -> Sequence[ChangeContext]:
    """Return the project's suspicions that somebody else is to settle, the newest first, with ids below `before`.

    These are beyond chance among the series of their commit, not the machine's, and no job of ours is to settle them.
    """
    is_measured = exists().where(
        RequestJob.request_id == ChangePoint.request_id,
        Job.id == RequestJob.job_id,
        Job.state.not_in(_TERMINAL_JOBS),
    )
    query = (
        _contexts()
        .where(
            ChangePoint.project_id == project_id,
            ChangePoint.state == ChangeState.SUSPECTED,
            ChangePoint.reason.is_distinct_from(WITHIN_CHANCE),
            ChangePoint.label.is_(None),
            ~is_measured,
        )
        .order_by(ChangePoint.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(ChangePoint.id < before)
    return [ChangeContext(*row) for row in session.execute(query)]


def _contexts() -> Select[ChangePoint, Series, BenchmarkCase, Project, Commit, Commit, Commit]:
    previous, end = aliased(Commit), aliased(Commit)
    return (
        select(ChangePoint, Series, BenchmarkCase, Project, Commit, previous, end)
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Project, Project.id == ChangePoint.project_id)
        .join(Commit, Commit.id == ChangePoint.commit_id)
        .join(previous, previous.id == ChangePoint.previous_commit_id)
        .join(end, end.id == ChangePoint.end_commit_id)
    )


def _moved_since(since: datetime) -> ColumnElement[bool]:
    return or_(
        ChangePoint.first_seen_at >= since, ChangePoint.confirmed_at >= since, ChangePoint.closed_at >= since
    )


def jobs_of(session: Session, request_ids: Collection[int]) -> dict[int, Job]:
    """Return the newest job of each request."""
    rows = session.execute(
        select(RequestJob.request_id, Job)
        .join(Job, Job.id == RequestJob.job_id)
        .where(RequestJob.request_id.in_(request_ids))
        .order_by(Job.id)
    )
    return {row[0]: row[1] for row in rows}


def forgotten(session: Session, age: timedelta, limit: int) -> Sequence[int]:
    """Return suspicions that nothing settled for so long."""
    return session.scalars(
        _suspicions().where(ChangePoint.first_seen_at < func.clock_timestamp() - age).limit(limit)
    ).all()


def answered(session: Session, limit: int) -> Sequence[int]:
    """Return suspicions whose measurement has ended, and nobody has said yet with what."""
    query = (
        _suspicions()
        .join(RequestJob, RequestJob.request_id == ChangePoint.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .where(Job.state.in_(_TERMINAL_JOBS), ChangePoint.reason.is_(None))
    )
    return session.scalars(query.limit(limit)).all()


def unasked(session: Session, age: timedelta, limit: int) -> Sequence[int]:
    """Return suspicions that nobody was asked about, though it is time to look at them again.

    They are about points that our own agents measured; or they were not beyond chance among the series of their commit,
    which more series may have joined by now: those are looked at the less often, the older they are.
    """
    is_within_chance = ChangePoint.reason == WITHIN_CHANCE
    seen_for = ChangePoint.examined_at - ChangePoint.first_seen_at
    patience = case((is_within_chance, func.greatest(age, seen_for)), else_=age)
    query = (
        _suspicions()
        .join(Result, Result.id == ChangePoint.result_id)
        .where(
            Result.run_id.is_not(None) | is_within_chance,
            ChangePoint.request_id.is_(None),
            ChangePoint.label.is_(None),
            ChangePoint.examined_at < func.clock_timestamp() - patience,
        )
    )
    return session.scalars(query.limit(limit)).all()


def _suspicions() -> Select[int]:
    """Select suspicions in a random order: those that fail each time must not keep all others from being looked at."""
    return select(ChangePoint.id).where(ChangePoint.state == ChangeState.SUSPECTED).order_by(func.random())


def asked_before(session: Session, change: ChangePoint) -> int | None:
    """Return the request of another suspicion in the history whose job measures, or has measured, the same commits."""
    return session.scalars(
        select(ChangePoint.request_id)
        .join(RequestJob, RequestJob.request_id == ChangePoint.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .where(
            ChangePoint.series_id == change.series_id,
            ChangePoint.branch == change.branch,
            ChangePoint.id != change.id,
            Job.base_commit_id == change.previous_commit_id,
            Job.head_commit_id == change.commit_id,
            Job.state.not_in(_TERMINAL_JOBS) | (Job.state == JobState.SUCCEEDED),
        )
        .order_by(ChangePoint.id.desc())
        .limit(1)
    ).one_or_none()
