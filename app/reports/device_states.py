"""How devices were while both arms ran, as rows that people read: base beside head, what differs marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from app.domain.results import ControlProbe, DeviceReading, DeviceState, Range
from app.domain.units import format_quantity
from app.reports.quantities import ABSENT, before_after, change, percent
from app.reports.text import Name, name, plain

TITLES = {
    "sm_clock_hz": "Clock",
    "mem_clock_hz": "Memory clock",
    "power_w": "Power",
    "power_limit_w": "Power limit",
    "temp_c": "Temperature",
    "mem_temp_c": "Memory temperature",
    "util": "Utilisation",
    "mem_util": "Memory utilisation",
    "sm_active": "Multiprocessors active",
    "tensor_active": "Matrix units active",
    "dram_active": "Memory active",
    "mem_used_b": "Memory in use",
    "host_cpu_foreign": "Other programs on the host",
    "host_steal": "Taken by the hypervisor",
}
MOST_APART = 2
"""More devices are shown together, with each of them behind that."""

DIFFERS = 0.05
"""Middles further apart than this share of the larger are marked; of shares, this much."""


@dataclass(frozen=True)
class Row:
    """One reading: the middle of each arm, and its lowest and highest where they are apart."""

    name: str
    base: str
    base_range: str
    head: str
    head_range: str
    differs: bool


@dataclass(frozen=True)
class DeviceStateView:
    """One device, or several together with each by itself behind them: its rows, and what it does not tell."""

    name: Name
    rows: tuple[Row, ...]
    missing: str
    each: tuple[DeviceStateView, ...] = ()


@dataclass(frozen=True)
class ControlView:
    """One probe of the control workload, and how far it moved since the start."""

    name: str
    start: str
    blocks: str
    end: str
    rate: str


def state_views(states: Iterable[DeviceState]) -> tuple[DeviceStateView, ...]:
    """Return the views of a run's devices: each its own, more than `MOST_APART` as one that has them behind it."""
    known = [state for state in states if state.readings or state.throttled]
    each = tuple(_view(state.device, _rows([state]), state.unavailable) for state in known)
    if len(known) <= MOST_APART:
        return each
    untold = {one: None for state in known for one in state.unavailable}
    return (replace(_view(f"{len(known)} devices together", _rows(known), untold), each=each),)


def _view(device: str, rows: tuple[Row, ...], untold: Iterable[str]) -> DeviceStateView:
    missing = ", ".join(TITLES.get(one, one).lower() for one in untold)
    return DeviceStateView(name(device, 80), rows, missing)


def _rows(states: Sequence[DeviceState]) -> tuple[Row, ...]:
    """Return the rows of devices together, in the order in which the first that tells of something does."""
    readings: dict[str, list[DeviceReading]] = {}
    shares: dict[str, list[tuple[float, float]]] = {}
    for state in states:
        for reading in state.readings:
            readings.setdefault(reading.name, []).append(reading)
        for reason, base, head in state.throttled:
            shares.setdefault(reason, []).append((base, head))
    return (*map(_row, readings.values()), *(_throttled(*one) for one in shares.items()))


def _row(readings: Sequence[DeviceReading]) -> Row:
    base, base_range = _shown(_together(one.base for one in readings), readings[0].unit)
    head, head_range = _shown(_together(one.head for one in readings), readings[0].unit)
    title = TITLES.get(readings[0].name, readings[0].name)
    return Row(title, base, base_range, head, head_range, any(map(_differ, readings)))


def _together(told: Iterable[Range | None]) -> Range | None:
    """Return the lowest, the middle of the middles, and the highest of several devices."""
    known = [one for one in told if one is not None]
    if not known:
        return None
    lows, middles, highs = zip(*known, strict=True)
    return min(lows), median(middles), max(highs)


def _throttled(reason: str, shares: Sequence[tuple[float, float]]) -> Row:
    title = f"Held back: {plain(reason.replace('_', ' '))}"
    arms = [_shown(_together((one, one, one) for one in arm), "1") for arm in zip(*shares, strict=True)]
    differs = any(abs(base - head) > DIFFERS for base, head in shares)
    return Row(title, *arms[0], *arms[1], differs)


def _shown(told: Range | None, unit: str) -> tuple[str, str]:
    if told is None:
        return ABSENT, ""
    low, middle, high = (_quantity(value, unit) for value in told)
    return middle, "" if low == high else _span(told[0], told[2], unit)


def _span(low: float, high: float, unit: str) -> str:
    """Return two ends with their unit once."""
    if unit == "1":
        return f"{percent(low).removesuffix(' %')} … {percent(high)}"
    if unit in ("°C", "processors"):
        return f"{_quantity(low, unit).removesuffix(' °C')} … {_quantity(high, unit)}"
    return " … ".join(before_after(low, high, unit))


def _quantity(value: float, unit: str) -> str:
    if unit == "1":
        return percent(value)
    if unit in ("°C", "processors"):
        return f"{value:.3g} °C" if unit == "°C" else f"{value:.2g}"
    return format_quantity(value, unit)


def _differ(reading: DeviceReading) -> bool:
    if reading.base is None or reading.head is None:
        return False
    base, head = reading.base[1], reading.head[1]
    scale = 1.0 if reading.unit in ("1", "processors") else max(abs(base), abs(head))
    return abs(base - head) > DIFFERS * scale


def control_views(probes: Iterable[ControlProbe]) -> tuple[ControlView, ...]:
    """Return the views of the control's probes."""
    return tuple(map(_control, probes))


def _control(probe: ControlProbe) -> ControlView:
    return ControlView(
        name=plain(probe.name.replace("_", " ")),
        start=ABSENT if probe.start is None else format_quantity(probe.start, "s"),
        blocks=_since(probe.start, median(probe.blocks)) if probe.blocks else ABSENT,
        end=_since(probe.start, probe.end),
        rate=probe.rate or ABSENT,
    )


def _since(start: float | None, now: float | None) -> str:
    if now is None:
        return ABSENT
    return format_quantity(now, "s") if not start else change(now / start - 1)
