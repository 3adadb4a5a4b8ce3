"""Workers and devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select, true, tuple_, update
from sqlalchemy.orm import Session

from app.store.repositories import clock
from app.store.repositories.upsert import get_or_create
from app.store.tables import Attempt, Device, Job, LeaseDevice, Project, Run, Token, Worker

MEASURING = ("good",)
"""Health of devices that take jobs."""

TENDED = ("good", "quarantined")
"""Health of devices that take jobs, or will again once they have shown that they are what they were."""


LEAST_SANDBOX = 2
"""The level of isolation that strangers' code needs."""


def takes(*, untrusted: bool) -> ColumnElement[bool]:
    """Select the workers of the untrusted pool that can keep its code in, or those of the trusted pool."""
    if untrusted:
        return Worker.takes_untrusted & (Worker.sandbox >= LEAST_SANDBOX)
    return Worker.takes_trusted.is_(True)


def worker_named(session: Session, name: str, *, host: str, instance: str) -> Worker:
    """Return the worker of this name, made if it is new."""
    return get_or_create(session, Worker, {"name": name}, host=host, instance=instance)[0]


def worker(session: Session, worker_id: int) -> Worker | None:
    """Return the worker, or None."""
    return session.get(Worker, worker_id)


def worker_with_token(session: Session, token_name: str) -> Worker | None:
    """Return a worker that registered with the live token of this name, None if none did yet."""
    return session.scalars(
        select(Worker)
        .join(Token, Token.id == Worker.token_id)
        .where(Token.name == token_name, Token.revoked_at.is_(None))
        .limit(1)
    ).one_or_none()


def is_live(session: Session, worker_id: int, *, within: timedelta) -> bool:
    """Say whether the worker was heard of within the time given; its row is locked."""
    seen = session.scalar(select(Worker.last_seen_at).where(Worker.id == worker_id).with_for_update())
    now = clock.now(session)
    return seen is not None and seen > now - within


def retire_others(session: Session, worker_id: int, hardware_ids: Sequence[str]) -> None:
    """Retire the worker's devices that it no longer reports: nothing may wait for them."""
    session.execute(
        update(Device)
        .where(
            Device.worker_id == worker_id,
            Device.hardware_id.not_in(hardware_ids),
            Device.health.in_(["good", "suspect"]),
        )
        .values(health="retired")
    )


def touch(session: Session, worker_id: int) -> None:
    """Note that the worker was heard of just now."""
    session.execute(update(Worker).where(Worker.id == worker_id).values(last_seen_at=func.clock_timestamp()))


def live_owner(session: Session, hardware_id: str, *, within: timedelta) -> tuple[Device, Worker] | None:
    """Return the device and the worker that has it, if that worker was heard of within the time given."""
    row = session.execute(
        select(Device, Worker)
        .join(Worker, Worker.id == Device.worker_id)
        .where(
            Device.hardware_id == hardware_id,
            Worker.last_seen_at > func.clock_timestamp() - within,
        )
        .with_for_update(of=Device)
    ).one_or_none()
    return (row[0], row[1]) if row else None


def device(session: Session, hardware_id: str, *, worker_id: int, kind: str, device_class: str) -> Device:
    """Return the device of this hardware id, made if it is new."""
    return get_or_create(
        session,
        Device,
        {"hardware_id": hardware_id},
        worker_id=worker_id,
        kind=kind,
        device_class=device_class,
        fingerprint={},
    )[0]


def live_classes(
    session: Session,
    *,
    within: timedelta,
    healths: Sequence[str] = MEASURING,
    untrusted: bool | None = None,
) -> list[str]:
    """Return the device classes that a live worker has in one of these states of health, in order.

    `untrusted` says which pool the workers are of; None for any.
    """
    pool = true() if untrusted is None else takes(untrusted=untrusted)
    return sorted(
        session.scalars(
            select(Device.device_class)
            .join(Worker, Worker.id == Device.worker_id)
            .where(
                Worker.last_seen_at > func.clock_timestamp() - within,
                Device.health.in_(healths),
                Device.kind != "unknown",
                pool,
            )
            .distinct()
        )
    )


def most_devices_of_one_worker(
    session: Session,
    device_class: str,
    *,
    within: timedelta,
    healths: Sequence[str] = MEASURING,
    untrusted: bool = False,
) -> int:
    """Return the largest number of devices of this class that one live worker of the pool has."""
    counts = session.scalars(
        select(func.count())
        .select_from(Device)
        .join(Worker, Worker.id == Device.worker_id)
        .where(
            Device.device_class == device_class,
            Worker.last_seen_at > func.clock_timestamp() - within,
            Device.health.in_(healths),
            Device.kind != "unknown",
            takes(untrusted=untrusted),
        )
        .group_by(Worker.id)
    ).all()
    return max(counts, default=0)


def tended_devices(session: Session, *, within: timedelta) -> Sequence[Device]:
    """Return the devices of live workers that measure or are in quarantine, in id order."""
    return session.scalars(
        select(Device)
        .join(Worker, Worker.id == Device.worker_id)
        .where(
            Worker.last_seen_at > func.clock_timestamp() - within,
            Device.health.in_(TENDED),
            Device.kind != "unknown",
        )
        .order_by(Device.id)
    ).all()


def is_trusted(session: Session, device: Device) -> bool:
    """Tell whether the device's worker may measure trusted commits."""
    return session.get_one(Worker, device.worker_id).takes_trusted


def all_workers(session: Session) -> Sequence[Worker]:
    """Return all workers by name."""
    return session.scalars(select(Worker).order_by(Worker.name)).all()


@dataclass(frozen=True)
class Occupation:
    """What a leased device is used for just now."""

    device_id: int
    project_id: int
    project: str
    suite: str
    phase: str
    detail: str
    run_id: int | None
    since: datetime


def occupations(session: Session) -> Sequence[Occupation]:
    """Return what every leased device is used for."""
    rows = session.execute(
        select(
            LeaseDevice.device_id,
            Project.id,
            Project.name,
            Job.suite,
            Attempt.phase,
            Attempt.detail,
            Run.id,
            Attempt.started_at,
        )
        .join(Attempt, Attempt.lease_id == LeaseDevice.lease_id)
        .join(Job, Job.id == Attempt.job_id)
        .join(Project, Project.id == Job.project_id)
        .outerjoin(Run, Run.attempt_id == Attempt.id)
        .where(LeaseDevice.active)
    )
    return [Occupation(*row) for row in rows]


def all_devices(session: Session, *, after: int | None = None, limit: int | None = None) -> Sequence[Device]:
    """Return all devices by class and id; or the next `limit` after the device `after`."""
    order = Device.device_class, Device.id
    query = select(Device).order_by(*order).limit(limit)
    if after is not None:
        query = query.where(tuple_(*order) > select(*order).where(Device.id == after).scalar_subquery())
    return session.scalars(query).all()


def devices_of_lease(session: Session, lease_id: str) -> Sequence[Device]:
    """Return the devices that the lease holds or held."""
    return session.scalars(
        select(Device)
        .join(LeaseDevice, LeaseDevice.device_id == Device.id)
        .where(LeaseDevice.lease_id == lease_id)
        .order_by(Device.id)
    ).all()
