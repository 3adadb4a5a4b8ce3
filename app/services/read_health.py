"""The service's own health for people: each part, whether it is well, and what to do where it is not.

Machines ask `/readyz` and `/metrics`. What is written down nowhere is inferred from what it leaves undone: a
relay that is away leaves messages in the outbox, a sweep that does nothing leaves leases that have run out.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.domain.jobs import JobState
from app.domain.units import format_quantity
from app.reports.quantities import duration
from app.reports.words import count, listing
from app.services.quarantine import QUARANTINED
from app.store.migrate import require_current
from app.store.repositories import clock, fleet, health, metrics, outbox, restorations, retention

OUTBOX_LATE_S = 60.0
"""Age at which a waiting message says that nobody relays [s]."""

SWEEP_LATE = 6
"""Sweep intervals after which a lease that has run out says that nobody sweeps."""

EXAMINED_LATE_S = 300.0
"""Age at which a result without a place in its history says that something keeps it from being examined [s]."""

PRUNED_LATE_S = 86_400.0
"""Age of the last whole look at what is old that says that something keeps it from being deleted [s]."""

BACKUP_LATE_S = 26 * 3600.0
"""Age of the newest backup that says that the day's was not made [s]."""

LOW_DISK_SHARE = 0.10
LOW_DISK_B = 2 * 2**30


class Level(StrEnum):
    """How well a part is."""

    GOOD = "good"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True)
class Part:
    """One part of the service: how it is, and the sentence that says what to do about it."""

    name: str
    level: Level
    says: str
    advice: str = ""


@dataclass(frozen=True)
class ClassQueue:
    """What waits for one device class."""

    device_class: str
    queued: int
    oldest_s: float
    is_served: bool


@dataclass(frozen=True)
class HealthReport:
    """All parts, and the counts behind them.

    `jobs` are states and numbers in the order of a job's life; `last_sent_at` is when the relay last sent anything.
    """

    parts: tuple[Part, ...]
    jobs: tuple[tuple[JobState, int], ...]
    queues: tuple[ClassQueue, ...]
    last_sent_at: datetime | None

    @property
    def worst(self) -> Level:
        """The level of the part that is worst."""
        return max((part.level for part in self.parts), key=list(Level).index)


class Broker(Protocol):
    """The broker, as far as its health goes."""

    def describe(self) -> str:
        """Return what answers, in a few words. Raises UnavailableError when nothing does."""


def read_health(session: Session, engine: Engine, settings: ServiceSettings, broker: Broker) -> HealthReport:
    """Return how the service is just now. The caller has a session, so the database answers."""
    queues = tuple(_queues(session, settings))
    return HealthReport(
        parts=(
            _database(session),
            _schema(session, engine),
            _broker(broker),
            _outbox(session),
            _sweeper(session, settings),
            _examinations(session),
            _workers(session, settings),
            *_unserved(queues),
            *_quarantine(session, settings),
            _disk(settings.data_dir),
            _retention(session),
            _backup(session, settings),
            *_observing(session),
        ),
        jobs=tuple(_jobs(session)),
        queues=queues,
        last_sent_at=health.last_sent_at(session),
    )


def fleet_troubles(session: Session, settings: ServiceSettings) -> tuple[Part, ...]:
    """Return what is not well of the machines that measure: workers, classes that nobody serves, quarantines."""
    queues = tuple(_queues(session, settings))
    parts = (_workers(session, settings), *_unserved(queues), *_quarantine(session, settings))
    return tuple(part for part in parts if part.level is not Level.GOOD)


def _database(session: Session) -> Part:
    size = format_quantity(health.database_size_b(session), "B")
    return Part("Database", Level.GOOD, f"PostgreSQL {health.server_version(session)}, {size}")


def _schema(session: Session, engine: Engine) -> Part:
    try:
        require_current(engine)
    except UnavailableError as error:
        return Part("Schema", Level.FAULT, str(error))
    return Part("Schema", Level.GOOD, f"revision {health.schema_revision(session)}, as this release needs it")


def _broker(broker: Broker) -> Part:
    try:
        return Part("Redis", Level.GOOD, broker.describe())
    except UnavailableError as error:
        advice = (
            "Nothing is lost: agents go on claiming and measuring over HTTP, but checks are concluded and "
            "reports rendered only once it is back. Start it, or correct RATCHET_REDIS_URL."
        )
        return Part("Redis", Level.FAULT, str(error), advice)


def _outbox(session: Session) -> Part:
    waiting, oldest_s = outbox.depth(session)
    if not waiting:
        return Part("Outbox", Level.GOOD, "empty: everything that was decided has been sent")
    says = f"{count(waiting, 'message')} waiting, the oldest for {duration(oldest_s)}"
    if oldest_s < OUTBOX_LATE_S:
        return Part("Outbox", Level.GOOD, says)
    error = health.last_send_error(session)
    because = f" The last refusal was: {error}" if error else ""
    return Part("Outbox", Level.WARNING, says, f"Are `ratchet tasks` and `ratchet beat` running?{because}")


def _sweeper(session: Session, settings: ServiceSettings) -> Part:
    patience_s, advice = (
        SWEEP_LATE * settings.sweep_interval_s,
        "Are `ratchet tasks` and `ratchet beat` running?",
    )
    overdue, oldest_s = health.overdue_leases(session)
    if oldest_s > patience_s:
        says = f"{count(overdue, 'lease')} ran out and still held, the oldest for {duration(oldest_s)}"
        return Part("Sweeper", Level.WARNING, says, advice)
    silent_s = metrics.last_swept_s(session)
    if silent_s is not None and silent_s > patience_s:
        return Part("Sweeper", Level.WARNING, f"last came to its end {duration(silent_s)} ago", advice)
    return Part("Sweeper", Level.GOOD, "no lease is past its end")


def _examinations(session: Session) -> Part:
    results, series, oldest_s = health.unexamined(session, older_than=timedelta(seconds=EXAMINED_LATE_S))
    if not results:
        return Part("Examinations", Level.GOOD, "every result is looked at for changes soon after it comes")
    says = f"{count(results, 'result')} of {series} series not looked at, the oldest for {duration(oldest_s)}"
    advice = "After an upgrade that passes; else the log of `ratchet tasks` says which series fails, and why."
    return Part("Examinations", Level.WARNING, says, advice)


def _workers(session: Session, settings: ServiceSettings) -> Part:
    live, known = (
        health.live_workers(session, within=settings.worker_live_for),
        len(fleet.all_workers(session)),
    )
    if live:
        classes = fleet.live_classes(session, within=settings.worker_live_for)
        return Part(
            "Workers", Level.GOOD, f"{live} of {known} live, with {listing(classes) or 'no usable device'}"
        )
    says = f"none of {known} is live" if known else "none has ever registered"
    advice = f"Start `ratchet-worker` with RATCHET_URL={settings.address} and a worker's token."
    return Part("Workers", Level.WARNING, says, advice)


def _queues(session: Session, settings: ServiceSettings) -> Iterable[ClassQueue]:
    live = set(fleet.live_classes(session, within=settings.worker_live_for))
    for device_class, queued, oldest_s in sorted(health.queue_by_class(session)):
        yield ClassQueue(device_class, queued, oldest_s, is_served=device_class in live)


def _jobs(session: Session) -> Iterable[tuple[JobState, int]]:
    by_state = health.jobs_by_state(session)
    return ((state, by_state[state]) for state in JobState if state in by_state)


def _unserved(queues: Iterable[ClassQueue]) -> Iterable[Part]:
    unserved = [queue for queue in queues if not queue.is_served]
    if unserved:
        jobs = sum(queue.queued for queue in unserved)
        classes = listing([queue.device_class for queue in unserved])
        says = f"{count(jobs, 'job')} waiting for {classes}, which no live worker has"
        yield Part(
            "Capacity", Level.WARNING, says, "Start a worker with such a device, or let the jobs expire."
        )


def _quarantine(session: Session, settings: ServiceSettings) -> Iterable[Part]:
    devices = fleet.tended_devices(session, within=settings.worker_live_for)
    suspended = [device.hardware_id for device in devices if device.health == QUARANTINED]
    if suspended:
        says = f"{listing(suspended)} in quarantine, of {count(len(devices), 'live device')}"
        advice = "The page of workers says why, and when it is looked at again."
        yield Part("Devices", Level.WARNING, says, advice)


def _retention(session: Session) -> Part:
    since_s = retention.done_s_ago(session)
    if since_s is None:
        return Part("Retention", Level.GOOD, "nothing was looked at yet for what is older than it is kept")
    says = f"all that is older than it is kept was last deleted {duration(since_s)} ago"
    if since_s < PRUNED_LATE_S:
        return Part("Retention", Level.GOOD, says)
    advice = (
        "There may be much to delete, and it goes on every ten minutes: `ratchet prune --dry-run` says how much, "
        "`ratchet prune` deletes it at once. Else the log of `ratchet tasks` says what keeps it from that."
    )
    return Part("Retention", Level.WARNING, says, advice)


def _backup(session: Session, settings: ServiceSettings) -> Part:
    since_s = restorations.last_backup_s_ago(session)
    says = "none was ever made" if since_s is None else f"the newest is {duration(since_s)} old"
    is_late = since_s is None or since_s > BACKUP_LATE_S
    if not settings.backup_dir or not is_late:
        return Part("Backups", Level.GOOD, says)
    advice = (
        "The log of `ratchet tasks` says what keeps it from making one; `ratchet backup` makes one at once."
    )
    return Part("Backups", Level.WARNING, says, advice)


def _observing(session: Session) -> Iterable[Part]:
    restoration = restorations.in_force(session)
    if restoration is not None:
        says = f"restored {duration((clock.now(session) - restoration.restored_at).total_seconds())} ago, and observing"
        advice = "Nothing is measured and GitHub is told nothing until somebody runs `ratchet resume`."
        yield Part("Restored", Level.WARNING, says, advice)


def _disk(data_dir: Path) -> Part:
    folder = next((path for path in (data_dir, *data_dir.parents) if path.exists()), Path("/"))
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return Part("Disk", Level.FAULT, f"the data folder {data_dir} cannot be read: {error.strerror}")
    free = f"{format_quantity(usage.free, 'B')} free of {format_quantity(usage.total, 'B')} at {data_dir}"
    if usage.free < LOW_DISK_B or usage.free < LOW_DISK_SHARE * usage.total:
        return Part("Disk", Level.WARNING, free, "Make room: uploads are refused when it is full.")
    return Part("Disk", Level.GOOD, free)
