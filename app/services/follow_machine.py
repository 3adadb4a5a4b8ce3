"""A run tells of its devices: what machine they are, and how their frozen control workload went.

Another fingerprint of the machine begins an epoch of the device; a control that is off what the device showed over
the last thirty days of this epoch, or an uncorrected memory error, puts it into quarantine; a processor, which is never
put there, has an incident where its control keeps off. None of it looks at what was measured of anybody's code.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from sqlalchemy.orm import Session

from app.analysis.health import Health, HealthState, health_of, keeps_off
from app.analysis.machine import has_drifted
from app.domain.incidents import MEMORY_ERRORS, IncidentEnd, IncidentKind
from app.services.quarantine import begin_incident, object_of, quarantine
from app.store.repositories import access, clock, incidents, machines
from app.store.tables import Device, Epoch, Run
from workers.protocol import ControlResult, Prepared

NEVER_ALONE = ("cpu",)
"""Kinds whose devices have other work, too."""

HISTORY = timedelta(days=30)

SHORTEST_S, LONGEST_S = 1e-12, 1e6
"""Between them is every time that an iteration of a probe can take."""

Machine = dict[str, Any]


def note_machine(session: Session, devices: Sequence[Device], run: Run, message: Prepared) -> None:
    """Begin an epoch of each device of the run whose machine is another than before."""
    if not message.machine_hash:
        return
    for device, (machine, its_hash) in zip(devices, _machines(message, len(devices)), strict=True):
        last = machines.last_epoch(session, device.id)
        if last is None:
            _begin(session, device, run, its_hash, machine, {})
        elif last.machine_hash != its_hash:
            _go_on_or_begin(session, device, run, its_hash, machine, last)


def _machines(message: Prepared, n_devices: int) -> list[tuple[Machine, str]]:
    """Return each device's machine and its hash; of devices that are not told apart, that of all together."""
    if n_devices > 1 and len(message.machines) == n_devices:
        return [(machine, _hash(machine)) for machine in message.machines]
    return [(message.fingerprint.get("machine") or {}, message.machine_hash)] * n_devices


def _hash(machine: Machine) -> str:
    """Return a machine's hash as an agent makes it of a single device."""
    text = json.dumps(machine, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _go_on_or_begin(
    session: Session, device: Device, run: Run, its_hash: str, machine: Machine, last: Epoch
) -> None:
    """Begin an epoch, unless nothing differs but what a machine does not tell this time, or did not before."""
    changes = differences(last.machine, machine) or {"machine_hash": [last.machine_hash, its_hash]}
    untold = {name for side in (last.machine, machine) for name, value in side.items() if value is None}
    if not changes.keys() <= untold:
        _begin(session, device, run, its_hash, machine, changes)
    elif learned := {name: after for name, (before, after) in changes.items() if before is None}:
        last.machine = {**last.machine, **learned}
        last.machine_hash = _hash(last.machine)


def _begin(
    session: Session, device: Device, run: Run, its_hash: str, machine: Machine, changes: Machine
) -> None:
    session.add(
        Epoch(device_id=device.id, run_id=run.id, machine_hash=its_hash, machine=machine, changes=changes)
    )
    session.flush()
    if changes:
        access.audit(session, "service", "device.epoch", f"device/{device.id}", changes=changes)


def differences(before: Machine, after: Machine) -> dict[str, list[Any]]:
    """Return what differs between two machines: name → before and after."""
    names = sorted(before.keys() | after.keys())
    return {
        name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)
    }


def note_control(
    session: Session, devices: Sequence[Device], run: Run, moment: str, result: ControlResult | None
) -> None:
    """Store a result of the control for each device of the run; one from its start is held against its past.

    One that something else disturbed is stored with what it was, and says nothing of the devices.
    """
    if result is None or not (result.probes or result.unavailable):
        return
    for index, device in enumerate(devices):
        of_device = result_of_device(result, index, len(devices))
        if moment == "start" and not result.disturbed:
            _weigh(session, device, of_device)
        machines.add_control(session, run.id, device.id, moment, of_device.model_dump())


def result_of_device(result: ControlResult, index: int, n_devices: int) -> ControlResult:
    """Return what one device of a group showed; a probe without a time is one that could not run.

    An agent's word is not believed here: a time of 0 would spoil the device's past for a month.
    """
    probes: dict[str, dict[str, Any]] = {}
    unavailable = dict(result.unavailable)
    for name, shown in result.probes.items():
        own = _of_device(shown, index, n_devices)
        if _is_number(own.get("seconds")) and SHORTEST_S < own["seconds"] < LONGEST_S:
            probes[name] = {key: value for key, value in own.items() if _is_number(value)}
            probes[name] |= {"seconds": float(own["seconds"]), "unit": str(own.get("unit", ""))}
        else:
            unavailable[name] = f"no time: {str(own.get('seconds'))[:40]}"
    return result.model_copy(update={"probes": probes, "unavailable": unavailable})


def _of_device(shown: dict[str, Any], index: int, n_devices: int) -> dict[str, Any]:
    """Return the numbers of a device: the probe's own, which of several devices are the slowest one's."""
    times = shown.get("of_devices")
    if n_devices == 1 or not isinstance(times, list) or len(times) != n_devices:
        return shown
    return shown if times[index] == shown.get("seconds") else {"seconds": times[index]}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def health_of_device(session: Session, device: Device, result: ControlResult) -> dict[str, Health]:
    """Return how each probe of a device's result stands against its last thirty days, by the probe's name."""
    return {
        probe: health_of(past, result.probes[probe]["seconds"])
        for probe, past in _pasts(session, device, result).items()
    }


def _pasts(session: Session, device: Device, result: ControlResult) -> dict[str, list[float]]:
    """Return what each probe of the result took before on the device, as it is now [s], oldest first."""
    since = _since(session, device)
    key = (result.version, result.backend)
    return {
        probe: machines.control_history(session, device.id, *key, probe, since=since)
        for probe in result.probes
    }


def _since(session: Session, device: Device) -> datetime:
    """Return from when on a device is what it is now: thirty days at the most.

    In a new epoch it may well be faster or slower, and after an administrator ended a quarantine, it is what it is.
    """
    epoch = machines.last_epoch(session, device.id)
    begins = [epoch.began_at if epoch else None, machines.given_back_at(session, device.id)]
    return max([clock.now(session) - HISTORY, *(begin for begin in begins if begin is not None)])


def _weigh(session: Session, device: Device, result: ControlResult) -> None:
    """Put a device into quarantine that is not what it was.

    Not a processor: how fast it is follows its power source, its governor and the weather, which no epoch tells of, and
    nobody else measures on a laptop. The run's flags and grade say so.
    """
    if device.kind in NEVER_ALONE:
        _follow_processor(session, device, result)
        return
    for probe, health in health_of_device(session, device, result).items():
        if health.state is HealthState.QUARANTINED:
            quarantine(session, device, **_seen(probe, result, health))


def _follow_processor(session: Session, device: Device, result: ControlResult) -> None:
    """Note that a processor's control keeps off its past, and that it is usual again or has become the usual."""
    states = []
    for probe, past in _pasts(session, device, result).items():
        seconds = result.probes[probe]["seconds"]
        state = health_of(past, seconds).state
        states.append(state)
        off = keeps_off(past, seconds)
        # Once its level has become the usual one, what came before no longer says so.
        if off is not None and state is HealthState.QUARANTINED:
            begin_incident(session, IncidentKind.MOVED, device, _seen(probe, result, off))
    if states and HealthState.QUARANTINED not in states:
        incidents.end(session, IncidentKind.MOVED, object_of(device), IncidentEnd.USUAL)


def _seen(probe: str, result: ControlResult, health: Health) -> dict[str, Any]:
    seconds = result.probes[probe]["seconds"]
    return {"probe": probe, "seconds": seconds, "usual_s": health.median, "deviation": health.deviation}


def note_errors(session: Session, devices: Sequence[Device], telemetry: Sequence[Any]) -> None:
    """Put into quarantine the devices of a run that had an uncorrected memory error; summaries are in their order."""
    for device, summary in zip(devices, telemetry, strict=False):
        counters = summary.get("counters") if isinstance(summary, dict) else None
        errors = counters.get(MEMORY_ERRORS) if isinstance(counters, dict) else None
        if _is_number(errors) and errors >= 1:
            quarantine(session, device, **{MEMORY_ERRORS: errors})


def may_get_well(session: Session, device: Device) -> bool:
    """Tell whether a device in quarantine may leave it by itself.

    Not after an uncorrected memory error: until somebody has reset or replaced it the next one is only a question of
    time, and the control workload does not feel it.
    """
    entry = machines.quarantine_of(session, device.id)
    return entry is None or MEMORY_ERRORS not in entry.detail


def drifted(session: Session, run_id: int) -> bool:
    """Tell whether a device of the run was measurably different at its end, by the control."""
    of_device: dict[tuple[int, str, str], dict[str, dict[str, float]]] = {}
    for row in machines.controls_of_run(session, run_id, undisturbed=True):
        moments = of_device.setdefault((row.device_id, row.version, row.backend), {})
        moments.setdefault(row.moment, {name: shown["seconds"] for name, shown in row.probes.items()})
    return any(has_drifted(at.get("start", {}), at.get("end", {})) for at in of_device.values())
