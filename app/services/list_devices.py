"""Devices as machines: how good a place to measure each is, since when it is that machine, and in what health."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.incidents import IncidentEnd
from app.services.paging import page_end
from app.services.quarantine import release
from app.services.read_moved import Moved, read_moved
from app.services.read_quarantine import Quarantine, read_quarantines
from app.store.repositories import fleet, machines
from app.store.tables import Device, Epoch, SelfCheck

OF_ITS_PROJECT = ("run", "verdicts", "false_alarms")
"""What of an A/A only those are told who may see the project whose commit was measured."""


def list_devices(
    session: Session, *, for_one_project: bool = False, after: int | None = None, limit: int
) -> dict[str, Any]:
    """Return `{devices, more, next}`: devices with their grade, last A/A, epoch and health, by class.

    Of one in quarantine there is why, and of a processor that is not what it was (`moved`).

    `for_one_project` leaves out what is of the projects that an A/A was measured for: the reader is bound to one.
    `after` is the device that the page before ended with.
    """
    checks, epochs = machines.last_self_checks(session), machines.last_epochs(session)
    found = fleet.all_devices(session, after=after, limit=limit + 1)
    devices, is_cut = found[:limit], len(found) > limit
    quarantines, moved = read_quarantines(session, devices), read_moved(session, devices)
    return {
        "devices": [
            _document(device, checks.get(device.id), epochs.get(device.id), for_one_project)
            | {"quarantine": _told(quarantines.get(device.id)), "moved": _told(moved.get(device.id))}
            for device in devices
        ]
    } | page_end(is_cut, [device.id for device in devices])


def _document(
    device: Device, check: SelfCheck | None, epoch: Epoch | None, for_one_project: bool
) -> dict[str, Any]:
    return {
        "id": device.id,
        "hardware_id": device.hardware_id,
        "device_class": device.device_class,
        "kind": device.kind,
        "model": device.model,
        "health": device.health,
        "grade": check.grade if check else None,
        "self_check": _self_check(check, for_one_project) if check else None,
        "epoch": _epoch(epoch) if epoch else None,
    }


def _told(its: Quarantine | Moved | None) -> dict[str, Any] | None:
    return None if its is None else its._asdict()


def _self_check(check: SelfCheck, for_one_project: bool) -> dict[str, Any]:
    told = {
        "run": check.run_id,
        "sigma_pair": check.sigma_pair,
        "mde": check.mde,
        "verdicts": check.n_verdicts,
        "false_alarms": check.false_alarms,
        "clocks_locked": check.clocks_locked,
        "exclusive": check.is_exclusive,
        "measured_at": check.measured_at,
    }
    return {name: value for name, value in told.items() if not (for_one_project and name in OF_ITS_PROJECT)}


def _epoch(epoch: Epoch) -> dict[str, Any]:
    return {
        "id": epoch.id,
        "began_at": epoch.began_at,
        "machine_hash": epoch.machine_hash,
        "changes": epoch.changes,
    }


def release_device(session: Session, device_id: int, who: str) -> dict[str, Any]:
    """End a device's quarantine by an administrator's word; nothing happens to one that is in none.

    Raises NotFoundError for an unknown device.
    """
    device = session.get(Device, device_id)
    if device is None:
        raise NotFoundError(f"there is no device {device_id}")
    release(session, device, IncidentEnd.ADMINISTRATOR, who)
    session.flush()
    return {"id": device.id, "hardware_id": device.hardware_id, "health": device.health}
