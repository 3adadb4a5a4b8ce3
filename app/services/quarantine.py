"""A device goes into quarantine, and comes out of it: here alone, with the log's entry and the incident."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.incidents import IncidentEnd, IncidentKind
from app.store.repositories import access, incidents, machines
from app.store.tables import Device

QUARANTINED = "quarantined"
"""Health of a device that takes no jobs but calibrations."""


def quarantine(session: Session, device: Device, **seen: Any) -> None:
    """Have a device that takes jobs take none, because of what was seen; nothing happens to any other."""
    if device.health != "good":
        return
    device.health = QUARANTINED
    access.audit(session, "service", "device.quarantined", object_of(device), **seen)
    begin_incident(session, IncidentKind.QUARANTINED, device, seen)


def release(session: Session, device: Device, by: IncidentEnd, who: str = "service") -> None:
    """Have a device in quarantine take jobs again; nothing happens to one that is in none."""
    if device.health != QUARANTINED:
        return
    device.health = "good"
    access.audit(session, who, "device.released", object_of(device), by=str(by))
    incidents.end(session, IncidentKind.QUARANTINED, object_of(device), by)


def note_earlier(session: Session) -> None:
    """Open an incident, as of when it began, for each device that went into quarantine before these were noted."""
    devices = incidents.devices_without(session, IncidentKind.QUARANTINED, QUARANTINED)
    entries = machines.quarantines_of(session, [device.id for device in devices]) if devices else {}
    for device in devices:
        if (entry := entries.get(device.id)) is not None:
            begin_incident(session, IncidentKind.QUARANTINED, device, entry.detail, since=entry.created_at)


def note_ended(session: Session) -> None:
    """Close the incidents of quarantines that were ended by a service of the release before, which knows of none."""
    devices = incidents.devices_over(session, IncidentKind.QUARANTINED, QUARANTINED)
    for device in devices:
        by = machines.released_by(session, device.id)
        incidents.end(session, IncidentKind.QUARANTINED, object_of(device), by or IncidentEnd.CALIBRATION)


def begin_incident(
    session: Session,
    kind: IncidentKind,
    device: Device,
    seen: dict[str, Any],
    *,
    since: datetime | None = None,
) -> None:
    """Note that something is wrong with a device: since then, or from now on."""
    classes = [device.device_class]
    incidents.begin(
        session, kind, object_of(device), name=device.hardware_id, classes=classes, detail=seen, since=since
    )


def object_of(device: Device) -> str:
    """Return what the audit log and incidents call a device."""
    return f"device/{device.id}"
