"""Why a device takes no jobs: since when it is in quarantine, what was seen, and who can end it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.domain.incidents import MEMORY_ERRORS
from app.reports.machine_words import seen_words
from app.services.quarantine import QUARANTINED
from app.store.repositories import machines
from app.store.tables import Device

BY_CALIBRATION = "calibration"
BY_ADMINISTRATOR = "administrator"


class Quarantine(NamedTuple):
    """A device's quarantine."""

    since: datetime
    why: str
    """A sentence without its full stop."""
    ends_by: str
    """`calibration`, or `administrator` where the control workload cannot show that it is over."""


def read_quarantines(session: Session, devices: Sequence[Device]) -> dict[int, Quarantine]:
    """Return the quarantines of those of these devices that are in one, by their ids, as far as they are told of."""
    suspended = [device.id for device in devices if device.health == QUARANTINED]
    entries = machines.quarantines_of(session, suspended) if suspended else {}
    return {
        device_id: Quarantine(entry.created_at, seen_words(entry.detail), _ends_by(entry.detail))
        for device_id, entry in entries.items()
    }


def _ends_by(detail: dict[str, Any]) -> str:
    return BY_ADMINISTRATOR if MEMORY_ERRORS in detail else BY_CALIBRATION
