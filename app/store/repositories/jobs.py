"""Jobs and leases: the guarded statements that let exactly one agent hold a device.

Every change of a held job names its `lease_id` and its state in the WHERE, so that a heartbeat, a finish and the
sweeper can meet in any order and one of them wins. Lease arithmetic uses the database's clock alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.domain.jobs import HELD, TERMINAL, JobState
from app.store.repositories import clock
from app.store.tables import Attempt, Check, Device, Job, LeaseDevice, RequestJob, Result, Run, Worker

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
    now = clock.now(session)
    job.lease_until, job.attempt_until = now + ttl, now + longest
    attempt = Attempt(job_id=job.id, number=job.attempt, lease_id=lease_id, worker_id=worker.id)
    session.add(attempt)
    session.add_all(LeaseDevice(lease_id=lease_id, device_id=device.id) for device in devices)
    session.flush()
    return attempt


def unbeaten(
    session: Session, worker_id: int, hardware_ids: Sequence[str], pools: Pools
) -> tuple[Job, Attempt] | None:
    """Return a lease that the worker was given but never heard of, if it is of one of these devices.

    An agent that asks for work holds none: the answer to its last claim was lost, and it gets it again.
    """
    row = session.execute(
        select(Job, Attempt)
        .join(Attempt, Attempt.lease_id == Job.lease_id)
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
    return (row[0], row[1]) if row else None


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


def held_by(session: Session, lease_id: str) -> tuple[Job, Attempt] | None:
    """Lock and return the job and attempt of a lease that still stands; None if it has ended."""
    row = session.execute(
        select(Job, Attempt)
        .join(Attempt, Attempt.lease_id == Job.lease_id)
        .where(Job.lease_id == lease_id, Job.state.in_(_HELD))
        .with_for_update(of=Job)
    ).one_or_none()
    return (row[0], row[1]) if row else None


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


def past_deadline(session: Session, limit: int) -> Sequence[Job]:
    """Lock and return queued jobs whose deadline has passed."""
    return session.scalars(
        select(Job)
        .where(Job.state == JobState.QUEUED, Job.deadline_at < func.clock_timestamp())
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


def waiting(session: Session, older_than: timedelta) -> Sequence[tuple[int, str]]:
    """Return (job, device class) for each class with a claimable job whose last hint is older than that.

    One hint a class is enough: whoever is woken claims the first job, and goes on claiming.
    """
    rows = session.execute(
        select(func.min(Job.id), Job.device_class)
        .where(
            Job.state == JobState.QUEUED,
            Job.not_before <= func.clock_timestamp() - older_than,
            Job.attempt < Job.max_attempts,
        )
        .group_by(Job.device_class)
    ).all()
    return [(row[0], row[1]) for row in rows]


def needed_bundles(session: Session) -> set[str]:
    """Return the digests of the bundles that unfinished jobs take their commits from."""
    source = Job.spec["source"]
    return set(
        session.scalars(
            select(source["location"].astext).where(
                Job.state.not_in([str(state) for state in TERMINAL]), source["kind"].astext == "bundle"
            )
        )
    )


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


def queue_place(session: Session, job: Job) -> int:
    """Return how many jobs of the device class are claimed before this queued one."""
    ahead = session.scalar(
        select(func.count())
        .select_from(Job)
        .where(
            Job.state == JobState.QUEUED,
            Job.device_class == job.device_class,
            (Job.band < job.band) | ((Job.band == job.band) & (Job.id < job.id)),
        )
    )
    return int(ahead or 0)


def of_request(session: Session, request_id: int, *, lock: bool = False) -> Sequence[Job]:
    """Return the request's jobs in the order in which they were made, locked if they are to be changed."""
    query = (
        select(Job)
        .join(RequestJob, RequestJob.job_id == Job.id)
        .where(RequestJob.request_id == request_id)
        .order_by(Job.id)
    )
    if lock:
        query = query.with_for_update(of=Job).execution_options(populate_existing=True)
    return session.scalars(query).all()


def newest_landed(session: Session, series_id: int, branch: str) -> Job | None:
    """Return the newest job that measured a commit of the history and whose head is one, too, by now; None without any.

    Its settings and source, which are those of its head, have been agreed to: another job of ours has measured that
    head as a point of the history. The head of a pull request that nobody merged is none, nor is one that only somebody
    who posts results says to be on the branch. Jobs that confirm copy the settings of others, and are left out.
    """
    point, its_run = aliased(Result), aliased(Run)
    has_landed = (
        exists()
        .where(point.series_id == series_id, point.branch == branch, point.commit_id == Job.head_commit_id)
        .where(its_run.id == point.run_id, its_run.job_id != Job.id)
    )
    return session.scalars(
        select(Job)
        .join(Run, Run.job_id == Job.id)
        .join(Result, Result.run_id == Run.id)
        .where(
            Result.series_id == series_id,
            Result.branch == branch,
            ~Job.is_untrusted,
            ~Job.policy.has_key("history"),
            has_landed,
        )
        .order_by(Result.id.desc())
        .limit(1)
    ).one_or_none()


def calibration_of(session: Session, device_ids: Sequence[int]) -> Job | None:
    """Lock and return a calibration that waits for one of these devices; None if there is none."""
    return session.scalars(
        select(Job)
        .where(
            Job.state == JobState.QUEUED,
            Job.device_id.in_(device_ids),
            Job.policy["purpose"].astext == "calibrate",
            Job.not_before <= func.clock_timestamp(),
            Job.attempt < Job.max_attempts,
        )
        .order_by(Job.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()


def newest_on(session: Session, device_class: str) -> Job | None:
    """Return the newest job of anybody's commits on a class of devices."""
    return session.scalars(
        select(Job)
        .where(Job.device_class == device_class, Job.device_id.is_(None))
        .order_by(Job.id.desc())
        .limit(1)
    ).one_or_none()


def landed_on(session: Session, device_class: str) -> Sequence[Job]:
    """Return of each project's suites on a class of devices the newest job whose head has landed, the newest first.

    Landed means that another job had it for its base, and so measured it as a point of a history. As with
    `newest_landed`, only so the job's settings have been agreed to.
    """
    later = aliased(Job)
    has_landed = exists().where(
        later.project_id == Job.project_id,
        later.base_commit_id == Job.head_commit_id,
        later.state == JobState.SUCCEEDED,
        ~later.is_untrusted,
        later.policy["base_branch"].astext.is_distinct_from(""),
        later.device_id.is_(None),
        later.id != Job.id,
    )
    newest = (
        select(func.max(Job.id))
        .where(
            Job.device_class == device_class,
            Job.devices_needed == 1,
            Job.device_id.is_(None),
            Job.state == JobState.SUCCEEDED,
            ~Job.is_untrusted,
            ~Job.policy.has_key("history"),
            has_landed,
        )
        .group_by(Job.project_id, Job.suite)
    )
    return session.scalars(select(Job).where(Job.id.in_(newest)).order_by(Job.id.desc())).all()


def is_made(session: Session, key: str) -> bool:
    """Tell whether there is a job of this key, in any state."""
    return session.scalar(select(Job.id).where(Job.key == key)) is not None


def bundles_with(session: Session, project_id: int, commit_ids: Sequence[int]) -> Sequence[str]:
    """Return the digests of bundles that were uploaded with no other commits than these two, the newest first.

    Of one commit, those that were uploaded with it.
    """
    source = Job.spec["source"]
    return session.scalars(
        select(source["location"].astext)
        .where(
            Job.project_id == project_id,
            ~Job.is_untrusted,
            source["kind"].astext == "bundle",
            _are_in(commit_ids),
        )
        .order_by(Job.id.desc())
        .limit(5)
    ).all()


def _are_in(commit_ids: Sequence[int]) -> ColumnElement[bool]:
    base, head = Job.base_commit_id.in_(commit_ids), Job.head_commit_id.in_(commit_ids)
    return base & head if len(set(commit_ids)) > 1 else base | head


def unfinished(session: Session, project_id: int, band: int) -> int:
    """Return how many jobs of the project in this band wait or are being measured."""
    query = select(func.count()).where(
        Job.project_id == project_id, Job.band == band, Job.state.not_in([str(state) for state in TERMINAL])
    )
    return session.scalar(query) or 0


def is_needed(session: Session, job_id: int) -> bool:
    """Tell whether somebody still needs this job: a check that nobody let go, or a request without one."""
    query = (
        select(RequestJob.request_id)
        .outerjoin(Check, Check.request_id == RequestJob.request_id)
        .where(RequestJob.job_id == job_id, Check.cancelled_at.is_(None))
    )
    return session.scalar(query.limit(1)) is not None
