"""Schedules of connected repositories, and the times that they were due at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session, aliased

from app.store.tables import Repository, Schedule, ScheduleTick


def of_repository(session: Session, repository_id: int) -> Sequence[Schedule]:
    """Return a repository's schedules by name, those among them that its settings have no more."""
    query = select(Schedule).where(Schedule.repository_id == repository_id)
    return session.scalars(query.order_by(Schedule.name)).all()


def of_project(session: Session, project_id: int) -> Sequence[tuple[Schedule, ScheduleTick | None]]:
    """Return the schedules of the project's repositories that are due some time, each with its newest tick, by name."""
    ticks = select(ScheduleTick).ext(distinct_on(ScheduleTick.schedule_id))
    newest = aliased(
        ScheduleTick, ticks.order_by(ScheduleTick.schedule_id, ScheduleTick.planned_at.desc()).subquery()
    )
    rows = session.execute(
        select(Schedule, newest)
        .join(Repository, Repository.id == Schedule.repository_id)
        .outerjoin(newest, newest.schedule_id == Schedule.id)
        .where(Repository.project_id == project_id, Schedule.due_at.is_not(None))
        .order_by(Schedule.name)
    ).all()
    return [(row[0], row[1]) for row in rows]


def take_due(session: Session, now: datetime) -> Sequence[Schedule]:
    """Lock and return the schedules that are due, of repositories that can be reached; others skip them."""
    return session.scalars(
        select(Schedule)
        .join(Repository, Repository.id == Schedule.repository_id)
        .where(Schedule.due_at <= now, Repository.is_connected)
        .order_by(Schedule.id)
        .with_for_update(of=Schedule, skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()


def add_tick(session: Session, schedule_id: int, planned_at: datetime) -> int | None:
    """Note that a schedule was due at this time; return the tick's id, None where that was noted before."""
    statement = insert(ScheduleTick).values(schedule_id=schedule_id, planned_at=planned_at)
    constraint = ["schedule_id", "planned_at"]
    return session.scalar(
        statement.on_conflict_do_nothing(index_elements=constraint).returning(ScheduleTick.id)
    )


def waiting_tick(session: Session, tick_id: int) -> tuple[ScheduleTick, Schedule] | None:
    """Lock and return a tick that nobody looked at yet, and its schedule; None where somebody did."""
    row = session.execute(
        select(ScheduleTick, Schedule)
        .join(Schedule, Schedule.id == ScheduleTick.schedule_id)
        .where(ScheduleTick.id == tick_id, ScheduleTick.outcome.is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def waiting_ticks(session: Session, *, older_than: timedelta) -> Sequence[int]:
    """Return the ticks that nobody has looked at for so long."""
    return session.scalars(
        select(ScheduleTick.id)
        .where(ScheduleTick.outcome.is_(None), ScheduleTick.created_at < func.clock_timestamp() - older_than)
        .order_by(ScheduleTick.id)
    ).all()


def newest_tick(session: Session, schedule_id: int) -> ScheduleTick | None:
    """Return the last time that a schedule was due at, None before the first."""
    query = select(ScheduleTick).where(ScheduleTick.schedule_id == schedule_id)
    return session.scalars(query.order_by(ScheduleTick.planned_at.desc()).limit(1)).one_or_none()
