"""A run tells of its devices: what machine they are, and how their frozen control workload went.

Another fingerprint of the machine begins an epoch of the device; a control that is off what the device showed over
the last thirty days puts it into quarantine. Neither looks at what was measured of anybody's code.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from app.analysis.health import Health, HealthState, health_of
from app.store.repositories import access, fleet, machines
from app.store.tables import Attempt, Device, Epoch, Run
from workers.protocol import ControlResult

HISTORY_DAYS = 30


def note_machine(
    session: Session, attempt: Attempt, run: Run, machine_hash: str, fingerprint: dict[str, Any]
) -> None:
    """Begin an epoch of each device of the run whose machine is another than before."""
    if not machine_hash:
        return
    machine = fingerprint.get("machine", {})
    for device in fleet.devices_of_lease(session, attempt.lease_id):
        last = machines.last_epoch(session, device.id)
        if last is not None and last.machine_hash == machine_hash:
            continue
        changes = {} if last is None else differences(last.machine, machine)
        session.add(
            Epoch(
                device_id=device.id,
                run_id=run.id,
                machine_hash=machine_hash,
                machine=machine,
                changes=changes,
            )
        )
        if last is not None:
            access.audit(session, "service", "device.epoch", f"device/{device.id}", changes=changes)


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what differs between two machines: name → before and after."""
    names = sorted(before.keys() | after.keys())
    return {
        name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)
    }


def note_control(
    session: Session, attempt: Attempt, run: Run, moment: str, result: ControlResult | None
) -> None:
    """Store a result of the control for each device of the run; one from its start is held against its past."""
    if result is None or not (result.probes or result.unavailable):
        return
    for device in fleet.devices_of_lease(session, attempt.lease_id):
        if moment == "start":
            _weigh(session, device, result)
        machines.add_control(session, run.id, device.id, moment, result.model_dump())


def health_of_device(session: Session, device: Device, result: ControlResult) -> list[tuple[str, Health]]:
    """Return how each probe of a result stands against what the device showed in the last thirty days."""
    return [
        (
            probe,
            health_of(
                machines.control_history(
                    session, device.id, result.version, result.backend, probe, days=HISTORY_DAYS
                ),
                shown["seconds"],
            ),
        )
        for probe, shown in result.probes.items()
    ]


def _weigh(session: Session, device: Device, result: ControlResult) -> None:
    for probe, health in health_of_device(session, device, result):
        shown = result.probes[probe]
        if health.state is HealthState.QUARANTINED and device.health == "good":
            device.health = "quarantined"
            access.audit(
                session,
                "service",
                "device.quarantined",
                f"device/{device.id}",
                probe=probe,
                seconds=shown["seconds"],
                usual_s=health.median,
                deviation=health.deviation,
            )
