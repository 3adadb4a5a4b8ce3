"""Counts over the whole service, for its health page and its metrics."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.domain.jobs import JobState
from app.store.repositories.history import ARRIVED_AT, UNPLACED
from app.store.tables import Job, Outbox, Result, Worker


def jobs_by_state(session: Session) -> dict[str, int]:
    """Return how many jobs are in each state."""
    rows = session.execute(select(Job.state, func.count()).group_by(Job.state)).all()
    return {state: int(count) for state, count in rows}


def queue_by_class(session: Session) -> list[tuple[str, int, float]]:
    """Return (device class, queued jobs, age of the oldest [s])."""
    age = func.extract("epoch", func.clock_timestamp() - func.min(Job.created_at))
    rows = session.execute(
        select(Job.device_class, func.count(), age)
        .where(Job.state == JobState.QUEUED)
        .group_by(Job.device_class)
    ).all()
    return [(device_class, int(count), float(seconds)) for device_class, count, seconds in rows]


def live_workers(session: Session, *, within: timedelta) -> int:
    """Return how many workers were heard of within the time given."""
    query = (
        select(func.count()).select_from(Worker).where(Worker.last_seen_at > func.clock_timestamp() - within)
    )
    return int(session.scalar(query) or 0)


def schema_revision(session: Session) -> str | None:
    """Return the database's schema revision."""
    found = session.scalar(text("select version_num from alembic_version"))
    return None if found is None else str(found)


def server_version(session: Session) -> str:
    """Return PostgreSQL's version."""
    return str(session.scalars(text("show server_version")).one())


def database_size_b(session: Session) -> int:
    """Return how much the database takes on disk [B]."""
    return int(session.scalars(text("select pg_database_size(current_database())")).one())


def overdue_leases(session: Session) -> tuple[int, float]:
    """Return how many held leases have run out without being swept, and for how long the oldest has [s]."""
    late = func.extract("epoch", func.clock_timestamp() - func.min(Job.lease_until))
    held = Job.state.in_([JobState.LEASED, JobState.RUNNING]), Job.lease_until < func.clock_timestamp()
    count, seconds = session.execute(select(func.count(), late).where(*held)).one()
    return int(count), float(seconds or 0)


def unexamined(session: Session, *, older_than: timedelta) -> tuple[int, int, float]:
    """Return how many older results nobody examined yet, of how many series, and the age of the oldest [s]."""
    age = func.extract("epoch", func.clock_timestamp() - func.min(ARRIVED_AT))
    query = select(func.count(), func.count(func.distinct(Result.series_id)), age).where(
        *UNPLACED, func.clock_timestamp() - older_than > ARRIVED_AT
    )
    results, series, seconds = session.execute(query).one()
    return int(results), int(series), float(seconds or 0)


def last_sent_at(session: Session) -> datetime | None:
    """Return when the relay last sent a message."""
    return session.scalar(select(func.max(Outbox.sent_at)))


def last_send_error(session: Session) -> str | None:
    """Return why the message that was last refused is still waiting; None where none was."""
    return session.scalars(
        select(Outbox.error)
        .where(Outbox.sent_at.is_(None), Outbox.error.is_not(None))
        .order_by(Outbox.available_at.desc())
        .limit(1)
    ).one_or_none()
