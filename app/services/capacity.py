"""Which device classes there are for a check, and why a job can, or cannot, be measured just now."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.jobs import JobState
from app.services.plan_check import Planned
from app.store.repositories import fleet
from app.store.tables import Job


def live_classes(session: Session, service: ServiceSettings, *, untrusted: bool) -> list[str]:
    """Return the device classes of the workers of a pool, those in quarantine too: they may be well soon."""
    return fleet.live_classes(
        session, within=service.worker_live_for, healths=fleet.TENDED, untrusted=untrusted
    )


def say_if_quarantined(session: Session, service: ServiceSettings, job: Job) -> None:
    """Have a job that waits say so where the devices that it needs are in quarantine: they may be well soon."""
    most = fleet.most_devices_of_one_worker(
        session, job.device_class, within=service.worker_live_for, untrusted=job.is_untrusted
    )
    if job.state == JobState.QUEUED and most < job.devices_needed:
        job.reason = "device_quarantined"
        job.message = f"it waits until a device of class {job.device_class} leaves its quarantine"


def why_no_capacity(
    session: Session, service: ServiceSettings, planned: Planned, *, untrusted: bool
) -> str | None:
    """Return why no worker of the pool can take a suite on a device class, None where one can."""
    suite, device_class = planned.suite, planned.device_class
    pool = "worker of the untrusted pool" if untrusted else "live worker"
    if not planned.is_live:
        live = live_classes(session, service, untrusted=untrusted)
        have = ", ".join(live) if live else f"no {pool.removeprefix('live ')} is connected"
        return f"no {pool} has a device of class {device_class}; connected now: {have}"
    most = fleet.most_devices_of_one_worker(
        session,
        device_class,
        within=service.worker_live_for,
        healths=fleet.TENDED,
        untrusted=untrusted,
    )
    if most < suite.devices_needed:
        needs = f"{suite.devices_needed} devices of class {device_class} on one {pool.removeprefix('live ')}"
        return f"the suite needs {needs}; the most that one has is {most}"
    return None
