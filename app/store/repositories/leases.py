"""Jobs and leases: the guarded statements that let exactly one agent hold a device.

Every change of a held job names its `lease_id` and its state in the WHERE, so that a heartbeat, a finish and the
sweeper can meet in any order and one of them wins. Lease arithmetic uses the database's clock alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.domain.jobs import HELD, JobState
from app.store.repositories import clock
from app.store.tables import Attempt, Device, Job, LeaseDevice, Run, Worker

OF_ANY_POOL = ("calibrate", "self_check")
"""Purposes of jobs that either pool may do for its own devices."""

_HELD = [str(state) for state in HELD]


def free_devices(
    session: Session, worker_id: int, hardware_ids: Sequence[str], *, health: str = "good"
) -> list[Device]:
    """Lock and return the worker's named devices that are of this health, rested and not leased, in id order."""
    held = select(LeaseDevice.device_id).where(LeaseDevice.active)
    rows = session.scalars(
        select(Device)
        .where(
            Device.worker_id == worker_id,
            Device.hardware_id.in_(hardware_ids),
            Device.health == health,
            Device.kind != "unknown",
            Device.id.not_in(held),
            (Device.available_at.is_(None)) | (Device.available_at <= func.clock_timestamp()),
        )
        .order_by(Device.id)
        .with_for_update()
    ).all()
    still_held = set(session.scalars(select(LeaseDevice.device_id).where(LeaseDevice.active)))
    return [device for device in rows if device.id not in still_held]


class Held(NamedTuple):
    """What a lease that stands is of."""

    job: Job
    attempt: Attempt
    run: Run


@dataclass(frozen=True)
class Pools:
    """Whose code a worker may be given just now."""

    trusted: bool
    untrusted: bool

    def has(self, job: type[Job]) -> ColumnElement[bool]:
        """Select the jobs that are for these pools.

        A device's calibration runs our own code alone, and its self check a commit that has landed; neither is about
        anybody's change, so that a device of either pool gets them.
        """
        own = job.policy["purpose"].astext.in_(OF_ANY_POOL)
        return or_(
            job.is_untrusted.in_([*([False] if self.trusted else []), *([True] if self.untrusted else [])]),
            own,
        )


def next_claimable(
    session: Session, device_class: str, device_ids: Sequence[int], pools: Pools
) -> Job | None:
    """Lock and return the job to do next on these free devices of one class; None if there is none.

    A device's own job does not take it from one that comes before it and waits for more devices. Calibrations are for
    devices in quarantine alone.
    """
    waiting = aliased(Job)
    is_in_the_way = Job.device_id.is_not(None) & exists().where(
        waiting.state == JobState.QUEUED,
        waiting.device_class == device_class,
        waiting.device_id.is_(None),
        waiting.band < Job.band,
        waiting.devices_needed > len(device_ids),
        waiting.not_before <= func.clock_timestamp(),
        waiting.attempt < waiting.max_attempts,
        pools.has(waiting),
    )
    return session.scalars(
        select(Job)
        .where(
            Job.state == JobState.QUEUED,
            Job.device_class == device_class,
            Job.devices_needed <= len(device_ids),
            Job.device_id.is_(None) | Job.device_id.in_(device_ids),
            Job.not_before <= func.clock_timestamp(),
            Job.attempt < Job.max_attempts,
            Job.policy["purpose"].astext.is_distinct_from("calibrate"),
            pools.has(Job),
            ~is_in_the_way,
        )
        .order_by(Job.band, Job.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()


def lease(
    session: Session, job: Job, worker: Worker, devices: Sequence[Device], ttl: timedelta, longest: timedelta
) -> Attempt:
    """Give the job and the devices to the worker; return the attempt.

    The lease stands for `ttl`, and longer with each heartbeat, but no attempt takes longer than `longest`.
    """
    lease_id = str(uuid.uuid4())
    job.state = JobState.LEASED
    job.lease_id = lease_id
    job.attempt += 1
    job.lease_until, job.attempt_until = clock.in_time(ttl), clock.in_time(longest)
    attempt = Attempt(job_id=job.id, number=job.attempt, lease_id=lease_id, worker_id=worker.id)
    session.add(attempt)
    session.add_all(LeaseDevice(lease_id=lease_id, device_id=device.id) for device in devices)
    session.flush()
    return attempt


def unbeaten(session: Session, worker_id: int, hardware_ids: Sequence[str], pools: Pools) -> Held | None:
    """Return a lease that the worker was given but never heard of, if it is of one of these devices.

    An agent that asks for work holds none: the answer to its last claim was lost, and it gets it again.
    """
    row = session.execute(
        select(Job, Attempt, Run)
        .join(Attempt, Attempt.lease_id == Job.lease_id)
        .join(Run, Run.attempt_id == Attempt.id)
        .join(LeaseDevice, LeaseDevice.lease_id == Attempt.lease_id)
        .join(Device, Device.id == LeaseDevice.device_id)
        .where(
            Job.state == JobState.LEASED,
            Attempt.worker_id == worker_id,
            LeaseDevice.active,
            Device.hardware_id.in_(hardware_ids),
            pools.has(Job),
        )
        .order_by(Job.id)
        .limit(1)
        .with_for_update(of=Job)
    ).first()
    return Held(*row) if row else None


def hardware_of_lease(session: Session, lease_id: str) -> list[str]:
    """Return the hardware ids of the lease's devices, in id order."""
    return list(
        session.scalars(
            select(Device.hardware_id)
            .join(LeaseDevice, LeaseDevice.device_id == Device.id)
            .where(LeaseDevice.lease_id == lease_id)
            .order_by(Device.id)
        )
    )


def extend(session: Session, lease_id: str, ttl: timedelta) -> Job | None:
    """Extend a lease that still stands and mark its job running; None if it has ended."""
    return session.scalars(
        update(Job)
        .where(Job.lease_id == lease_id, Job.state.in_(_HELD))
        .values(state=JobState.RUNNING, lease_until=func.clock_timestamp() + ttl)
        .returning(Job)
        .execution_options(populate_existing=True)
    ).one_or_none()


def held_by(session: Session, lease_id: str) -> Held | None:
    """Lock what a lease that still stands is of and return it; None if it has ended.

    Whoever waits here has all of it as it is when the wait is over: of what is not locked PostgreSQL would tell how it
    was before. Rows of others that point to it are not waited for.
    """
    row = session.execute(
        select(Job, Attempt, Run)
        .join(Attempt, Attempt.lease_id == Job.lease_id)
        .join(Run, Run.attempt_id == Attempt.id)
        .where(Job.lease_id == lease_id, Job.state.in_(_HELD))
        .with_for_update(key_share=True)
    ).one_or_none()
    return Held(*row) if row else None


def attempt_of_lease(session: Session, lease_id: str) -> Attempt | None:
    """Return the attempt of the lease, ended or not; None if there never was such a lease."""
    query = select(Attempt).where(Attempt.lease_id == lease_id).execution_options(populate_existing=True)
    return session.scalars(query).one_or_none()


def expired(session: Session, limit: int) -> Sequence[Job]:
    """Lock and return held jobs whose lease has run out."""
    return session.scalars(
        select(Job)
        .where(Job.state.in_(_HELD), Job.lease_until < func.clock_timestamp())
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def overdue(session: Session, limit: int, patience: timedelta) -> Sequence[Job]:
    """Lock and return held jobs past the time of an attempt, or cancelled for `patience` without effect."""
    return session.scalars(
        select(Job)
        .where(
            Job.state.in_(_HELD),
            or_(
                Job.attempt_until < func.clock_timestamp(),
                Job.cancel_requested_at < func.clock_timestamp() - patience,
            ),
        )
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def release_devices(session: Session, lease_id: str, *, rest_until: datetime | None = None) -> None:
    """End the lease's hold on its devices; they rest until `rest_until` where it is given."""
    ids = session.scalars(
        update(LeaseDevice)
        .where(LeaseDevice.lease_id == lease_id, LeaseDevice.active)
        .values(active=False)
        .returning(LeaseDevice.device_id)
    ).all()
    if rest_until is not None:
        session.execute(update(Device).where(Device.id.in_(ids)).values(available_at=rest_until))


def release_all(session: Session) -> None:
    """End the hold of every lease on its devices."""
    session.execute(update(LeaseDevice).where(LeaseDevice.active).values(active=False))
