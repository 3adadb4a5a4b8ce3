"""How right the detector was, by what people made of its alerts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Select, distinct, exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.alerts import AlertState
from app.store.tables import (
    Alert,
    AlertChange,
    BenchmarkCase,
    ChangePoint,
    Commit,
    MissedChange,
    Result,
    Series,
)

MOST_MISSED = 100
"""Missed changes of one history that are listed."""


def alerts_with_changes(
    session: Session, project_ids: Collection[int] | None, benchmark: str | None = None
) -> dict[AlertState, int]:
    """Return how many alerts that tell of changes are in each state; of one benchmark's changes if it is given."""
    query = (
        select(Alert.state, func.count(distinct(Alert.id)))
        .join(AlertChange, AlertChange.alert_id == Alert.id)
        .group_by(Alert.state)
    )
    if project_ids is not None:
        query = query.where(Alert.project_id.in_(project_ids))
    if benchmark is not None:
        query = query.join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        query = query.where(ChangePoint.series_id.in_(_series_of(benchmark)))
    return {AlertState(row[0]): row[1] for row in session.execute(query)}


def missed(session: Session, project_ids: Collection[int] | None, benchmark: str | None = None) -> int:
    """Return how many changes people told of that the detector did not find."""
    query = select(func.count()).select_from(MissedChange)
    if project_ids is not None:
        query = query.where(MissedChange.project_id.in_(project_ids))
    if benchmark is not None:
        query = query.where(MissedChange.series_id.in_(_series_of(benchmark)))
    return session.scalar(query) or 0


def missed_of(session: Session, series_id: int, branch: str) -> Sequence[tuple[MissedChange, Commit]]:
    """Return what people told of a series' history with its commits, the newest first, `MOST_MISSED` at the most."""
    rows = session.execute(
        select(MissedChange, Commit)
        .join(Commit, Commit.id == MissedChange.commit_id)
        .where(MissedChange.series_id == series_id, MissedChange.branch == branch)
        .order_by(MissedChange.id.desc())
        .limit(MOST_MISSED)
    )
    return [(row[0], row[1]) for row in rows]


def _series_of(benchmark: str) -> Select[int]:
    return (
        select(Series.id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(BenchmarkCase.benchmark == benchmark)
    )


def add_missed(
    session: Session, series: Series, branch: str, commit_id: int, *, told_by: str, note: str
) -> bool:
    """Store that a change was missed; return whether nobody had told of it before."""
    statement = insert(MissedChange).values(
        project_id=series.project_id,
        series_id=series.id,
        branch=branch,
        commit_id=commit_id,
        told_by=told_by,
        note=note,
    )
    added = session.execute(statement.on_conflict_do_nothing().returning(MissedChange.id))
    return added.one_or_none() is not None


def has_point(session: Session, series_id: int, branch: str, commit_id: int) -> bool:
    """Say whether a series has a result of the commit on the branch."""
    which = Result.series_id == series_id, Result.commit_id == commit_id, Result.branch == branch
    return session.scalar(select(exists().where(*which))) or False
