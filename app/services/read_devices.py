"""How a run's devices were while both arms ran, and how the control workload went: from what the agent told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from sqlalchemy.orm import Session

from app.domain.results import ControlProbe, DeviceReading, DeviceState, Range
from app.domain.units import format_quantity
from app.store.repositories import fleet, machines, runs
from app.store.tables import Control

SHOWN = {
    "sm_clock_hz": "Hz",
    "mem_clock_hz": "Hz",
    "power_w": "W",
    "power_limit_w": "W",
    "temp_c": "°C",
    "mem_temp_c": "°C",
    "util": "1",
    "mem_util": "1",
    "sm_active": "1",
    "tensor_active": "1",
    "dram_active": "1",
    "mem_used_b": "B",
    "host_cpu_foreign": "processors",
    "host_steal": "1",
}
"""Readings that people are shown, with their unit, in this order."""

Summary = dict[str, Any]


@dataclass(frozen=True)
class ReadingStrip:
    """One reading of a device over a run: for each invocation in time order its arm, and lowest, middle and highest."""

    device: str
    name: str
    unit: str
    points: tuple[tuple[str, Range], ...]


def device_states(session: Session, lease_id: str, run_id: int) -> tuple[DeviceState, ...]:
    """Return the state of each device of the run, over the invocations that are not void."""
    told: dict[str, list[list[Summary]]] = defaultdict(list)
    for arm, summaries in runs.telemetry_of(session, run_id):
        told[arm].append(summaries)
    devices = fleet.devices_of_lease(session, lease_id)
    n_told = max((len(summaries) for of_arm in told.values() for summaries in of_arm), default=0)
    names = [device.hardware_id for device in devices]
    return tuple(
        _state(names[index] if index < len(names) else f"device {index + 1}", _of_device(told, index))
        for index in range(n_told)
    )


def reading_strips(session: Session, lease_id: str, run_id: int) -> tuple[ReadingStrip, ...]:
    """Return each reading that moved of each device of the run, over the invocations that are not void."""
    told = runs.telemetry_of(session, run_id)
    names = [device.hardware_id for device in fleet.devices_of_lease(session, lease_id)]
    found = []
    for index in range(max((len(summaries) for _, summaries in told), default=0)):
        device = names[index] if index < len(names) else f"device {index + 1}"
        of_device = [(arm, summaries[index]["gauges"]) for arm, summaries in told if index < len(summaries)]
        for name, unit in SHOWN.items():
            points = tuple((arm, _as_range(gauges[name])) for arm, gauges in of_device if name in gauges)
            if len({end for _, its in points for end in its}) > 1:
                found.append(ReadingStrip(device, name, unit, points))
    return tuple(found)


def _as_range(told: Sequence[float]) -> Range:
    low, middle, high = told
    return low, middle, high


def _of_device(told: dict[str, list[list[Summary]]], index: int) -> dict[str, list[Summary]]:
    return {
        arm: [told[arm][i][index] for i in range(len(told[arm])) if index < len(told[arm][i])]
        for arm in ("base", "head")
    }


def _state(name: str, told: dict[str, list[Summary]]) -> DeviceState:
    readings = [
        DeviceReading(reading, unit, _range(told["base"], reading), _range(told["head"], reading))
        for reading, unit in SHOWN.items()
    ]
    reasons = sorted({reason for of_arm in told.values() for one in of_arm for reason in one["throttle"]})
    silent = [set(one["unavailable"]) for of_arm in told.values() for one in of_arm]
    return DeviceState(
        device=name,
        readings=tuple(one for one in readings if one.base or one.head),
        throttled=tuple(
            (reason, _share(told["base"], reason), _share(told["head"], reason)) for reason in reasons
        ),
        unavailable=tuple(sorted(set.intersection(*silent) & SHOWN.keys())) if silent else (),
    )


def _range(summaries: Iterable[Summary], reading: str) -> Range | None:
    told = [one["gauges"][reading] for one in summaries if reading in one["gauges"]]
    if not told:
        return None
    return (
        min(low for low, _, _ in told),
        median(middle for _, middle, _ in told),
        max(top for *_, top in told),
    )


def _share(summaries: Sequence[Summary], reason: str) -> float:
    return fmean(one["throttle"].get(reason, 0.0) for one in summaries) if summaries else 0.0


def control_probes(session: Session, run_id: int) -> tuple[ControlProbe, ...]:
    """Return what each probe of the control showed over the run, of its first device."""
    rows = machines.controls_of_run(session, run_id)
    of_device = [row for row in rows if row.device_id == rows[0].device_id]
    names = dict.fromkeys(name for row in of_device for name in row.probes)
    return tuple(_probe(name, of_device) for name in names)


def _probe(name: str, rows: Sequence[Control]) -> ControlProbe:
    def seconds(moment: str) -> list[float]:
        return [row.probes[name]["seconds"] for row in rows if row.moment == moment and name in row.probes]

    start, end = seconds("start"), seconds("end")
    shown: dict[str, Any] = next((row.probes[name] for row in rows if name in row.probes), {})
    rate = format_quantity(shown["rate"], shown.get("unit", "1")) if shown.get("rate") is not None else ""
    return ControlProbe(
        name, start[0] if start else None, tuple(seconds("block")), end[-1] if end else None, rate
    )
