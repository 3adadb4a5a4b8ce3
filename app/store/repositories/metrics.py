"""What a scrape is told of the database, in one trip.

Each statement reads an index from end to end, or rows whose number follows what goes on and not what has been: the
queue, open checks, the fleet, messages that wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.domain.alerts import OPEN_STATES
from app.domain.jobs import HELD, TERMINAL
from app.store.pipeline import in_one_trip
from app.store.repositories.fleet import MEASURING
from app.store.wire import Statement

SWEEP, BACKUP, RETENTION = "sweep", "backup", "retention"
"""Names of the watermarks that say when something was last done."""

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Stored:
    """Rows as the statements give them; ages in seconds."""

    now: float
    """The database's clock [s since 1970]."""
    revision: str
    is_observing: bool
    """Whether the database was restored, and nobody has had the service go on."""
    jobs: Rows
    """(state, number)"""
    attempts: Rows
    """(outcome or `open`, number)"""
    queue: Rows
    """(band, device class, number, age of the oldest); the class is null where no device has ever been of it."""
    devices: Rows
    """(state of health, number)"""
    live: Rows
    """(device class, number of devices that take jobs)"""
    workers: Rows
    """One row: (live workers, age of the word that is oldest of those that are live or have a lease)."""
    incidents: Rows
    """(kind, number), of those that are not over"""
    outbox: Rows
    """(topic, messages that are due, age of the oldest, those that failed)"""
    done: dict[str, float]
    """Name of a watermark → its age."""
    overdue: int
    alerts: Rows
    notifications: Rows
    """(state, number)"""
    lag: float
    tallies: Rows
    """(name, label, value, sum), of those that hold."""


def stored(session: Session, *, live_within: timedelta, grace: timedelta) -> Stored:
    """Return what is told. `grace` is how long after its time a check counts as overdue."""
    (
        now,
        jobs,
        attempts,
        queue,
        devices,
        live,
        workers,
        incidents,
        messages,
        done,
        overdue,
        alerts,
        notifications,
        lag,
        tallies,
    ) = in_one_trip(session, *_statements(live_within, grace))
    return Stored(
        now=float(now[0][0]),
        revision=str(now[0][1]),
        is_observing=now[0][2],
        jobs=jobs,
        attempts=attempts,
        queue=queue,
        devices=devices,
        live=live,
        workers=workers,
        incidents=incidents,
        outbox=messages,
        done={name: float(age) for name, age in done},
        overdue=int(overdue[0][0]),
        alerts=alerts,
        notifications=notifications,
        lag=float(lag[0][0] or 0),
        tallies=tallies,
    )


def _statements(live_within: timedelta, grace: timedelta) -> tuple[Statement, ...]:
    within, late = {"within": live_within}, {"grace": grace}
    return (
        (_NOW, {}),
        (_JOBS, {}),
        (_ATTEMPTS, {}),
        (_QUEUE, {}),
        (_DEVICES, {}),
        (_LIVE, within | {"measuring": list(MEASURING)}),
        (_WORKERS, within),
        (_INCIDENTS, {}),
        (_OUTBOX, {}),
        (_DONE, {"names": [SWEEP, BACKUP, RETENTION]}),
        (_OVERDUE, late | {"held": _words(HELD), "terminal": _words(TERMINAL)}),
        (_ALERTS, {"open": _words(OPEN_STATES)}),
        (_NOTIFICATIONS, {}),
        (_LAG, {}),
        (_TALLIES, {}),
    )


def _words(states: Iterable[str]) -> list[str]:
    return [str(state) for state in states]


def swept(session: Session) -> None:
    """Note that the sweep has come to its end just now."""
    in_one_trip(session, (_NOTE, {"name": SWEEP}))


def last_swept_s(session: Session) -> float | None:
    """Return how long ago the sweep came to its end [s]; None where it never has."""
    (rows,) = in_one_trip(session, (_DONE, {"names": [SWEEP]}))
    return float(rows[0][1]) if rows else None


_NOW = """
    select extract(epoch from clock_timestamp())::float8, (select version_num from alembic_version),
      exists (select from restoration where resumed_at is null)
"""

_JOBS = "select state, count(*) from job group by state"

_ATTEMPTS = "select coalesce(outcome, 'open'), count(*) from attempt group by outcome"

_QUEUE = """
    select band, case when device_class in (select device_class from device) then device_class end, count(*),
      extract(epoch from clock_timestamp() - min(created_at))::float8
    from job where state = 'queued' group by 1, 2
"""

_DEVICES = "select health, count(*) from device group by health"

_LIVE = """
    select device_class, count(*) filter (
      where worker.last_seen_at > clock_timestamp() - %(within)s and health = any(%(measuring)s))
    from device join worker on worker.id = device.worker_id
    where health <> 'retired' and kind <> 'unknown' group by device_class
"""

_WORKERS = """
    select count(*) filter (where its.is_live), extract(epoch from clock_timestamp() - min(its.last_seen_at))::float8
    from (
      select last_seen_at, last_seen_at > clock_timestamp() - %(within)s as is_live, exists (
        select from lease_device join device on device.id = lease_device.device_id
        where active and device.worker_id = worker.id) as is_busy
      from worker) as its
    where its.is_live or its.is_busy
"""

_INCIDENTS = "select kind, count(*) from incident where closed_at is null group by kind"

_OUTBOX = """
    select topic, count(*) filter (where available_at <= clock_timestamp()),
      greatest(0, extract(epoch from clock_timestamp() - min(available_at)))::float8,
      count(*) filter (where error is not null)
    from outbox where sent_at is null group by topic
"""

_DONE = """
    select name, extract(epoch from clock_timestamp() - at)::float8 from watermark where name = any(%(names)s)
"""

_NOTE = """
    insert into watermark (name, at) values (%(name)s, clock_timestamp())
    on conflict (name) do update set at = excluded.at
"""

# A check is overdue where one of its jobs is, which the sweep should have ended, and where all of them have ended and
# nobody has concluded it.
_OVERDUE = """
    select count(*) from "check" its
    where its.state <> 'complete' and (
      exists (
        select from request_job join job on job.id = request_job.job_id
        where request_job.request_id = its.request_id and (
          job.state = 'queued' and job.deadline_at < clock_timestamp() - %(grace)s
          or job.state = any(%(held)s) and job.attempt_until < clock_timestamp() - %(grace)s))
      or not exists (
        select from request_job join job on job.id = request_job.job_id
        where request_job.request_id = its.request_id and (
          job.state <> all(%(terminal)s) or job.finished_at > clock_timestamp() - %(grace)s))
        and its.created_at < clock_timestamp() - %(grace)s)
"""

_ALERTS = "select state, count(*) from alert where state = any(%(open)s) group by state"

_NOTIFICATIONS = """
    select notifier.kind, state, count(*)
    from notification join notifier on notifier.id = notifier_id
    where state = 'waiting' or notification.created_at > clock_timestamp() - interval '1 day'
    group by 1, 2
"""

# What the forge refused waits for a person, and what of a repository that it took from us for good.
_LAG = """
    select extract(epoch from clock_timestamp() - min(untold_since))::float8
    from target join repository on repository.id = target.repository_id
    where wanted_digest is distinct from told_digest and error is null and is_connected
"""

_TALLIES = "select name, label, value, total from tally where until is null or until > clock_timestamp()"
