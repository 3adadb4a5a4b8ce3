"""Why a device takes no jobs: since when it is in quarantine, what was seen, and who can end it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.domain.units import format_quantity
from app.reports.quantities import change
from app.reports.words import count
from app.services.follow_machine import MEMORY_ERRORS, QUARANTINED
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
        device_id: Quarantine(entry.created_at, *_seen(entry.detail)) for device_id, entry in entries.items()
    }


def _seen(detail: dict[str, Any]) -> tuple[str, str]:
    if MEMORY_ERRORS in detail:
        return count(int(detail[MEMORY_ERRORS]), "uncorrected memory error"), BY_ADMINISTRATOR
    took, usual = (format_quantity(detail[name], "s") for name in ("seconds", "usual_s"))
    deviation = change(detail["deviation"])
    return f"{detail['probe']} of its control took {took}, {usual} is usual ({deviation})", BY_CALIBRATION
