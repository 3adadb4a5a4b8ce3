"""What runs and posts tell of the devices that their results were made on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.tables import Attempt, Device, Environment, Job, LeaseDevice, Run, Upload


class MadeOn(NamedTuple):
    """How many devices worked on it, None where nobody told; their readings at rest; whether they are simulated."""

    devices: int | None
    idle: list[Any]
    is_simulated: bool


def of_runs(session: Session, run_ids: Collection[int]) -> dict[int, MadeOn]:
    """Return it of each run."""
    query = (
        select(Run.id, Job.devices_needed, Run.idle, func.bool_or(Device.kind == "simulated"))
        .join(Job, Job.id == Run.job_id)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .outerjoin(LeaseDevice, LeaseDevice.lease_id == Attempt.lease_id)
        .outerjoin(Device, Device.id == LeaseDevice.device_id)
        .where(Run.id.in_(run_ids))
        .group_by(Run.id, Job.id)
    )
    return {row[0]: MadeOn(row[1], row[2], bool(row[3])) for row in session.execute(query)}


def of_uploads(session: Session, upload_ids: Collection[int]) -> dict[int, MadeOn]:
    """Return it of each upload: its environment may tell `devices`, a whole number."""
    query = (
        select(Upload.id, Environment.machine["devices"])
        .outerjoin(Environment, Environment.id == Upload.environment_id)
        .where(Upload.id.in_(upload_ids))
    )
    return {row[0]: MadeOn(_whole(row[1]), [], False) for row in session.execute(query)}


def _whole(told: Any) -> int | None:
    is_count = isinstance(told, int) and not isinstance(told, bool) and 0 < told < 1_000_000
    return told if is_count else None
