"""The amdgpu driver's `gpu_metrics`: a table of the firmware's in binary, which names its layout at its beginning.

Layouts are the kernel's `gpu_metrics_v1_0` to `v1_8` (`kgd_pp_interface.h`); a field with all bits set is not told. One
of another version is left alone, 1.9 among them, which describes itself. What is not obvious:

- Energy counts 2^-16 J, documented from 1.4 on. Before, only accelerators with HBM are known to count so.
- From 1.4 on `throttle_status` is always 0, and so tells nothing; since 1.6 cycles are counted in which the firmware
  held the clock down, beside all its cycles. The length of a cycle is not told.
- The clock of each compute die is told from 1.4 on; their median is the device's. A clock of 0 is none. Before, there
  is one, which the driver's other files tell as well.
"""

from __future__ import annotations

import struct
from statistics import median
from typing import NamedTuple

from workers.readings.amd.products import VIOLATIONS, throttlers

JOULE = 2**16
DIES = 8
BACKWARDS = 2**31
"""A counter of 32 bits that seems to have gone this far has gone back instead."""


class Cycles(NamedTuple):
    """Counts of the firmware's cycles: all of them, and those under each violation as far as it is counted."""

    total: int
    violations: dict[str, int]


class Metrics(NamedTuple):
    """What a table tells: clock of the compute dies [Hz], energy [J], what slows it down, and what did so far."""

    sm_clock_hz: float | None
    energy_j: float | None
    throttle_reasons: list[str] | None
    cycles: Cycles | None


class Layout(NamedTuple):
    """Where fields begin [B]; None is a version that has none."""

    clocks: int | None = None
    energy: int | None = None
    hbm: int | None = None
    status: int | None = None
    causes: int | None = None
    cycles: int | None = None


LAYOUTS = {
    (1, 0, 80): Layout(status=68),
    (1, 1, 96): Layout(energy=24, hbm=88, status=68),
    (1, 2, 104): Layout(energy=24, hbm=88, status=68),
    (1, 3, 120): Layout(energy=24, hbm=88, status=68, causes=112),
    (1, 4, 288): Layout(energy=24, clocks=240),
    (1, 5, 360): Layout(energy=88, clocks=312),
    (1, 6, 384): Layout(energy=88, cycles=104, clocks=336),
    (1, 6, 1664): Layout(energy=16, cycles=32, clocks=264),
    (1, 7, 2208): Layout(energy=24, cycles=40, clocks=296),
    (1, 8, 3872): Layout(energy=24, cycles=40, clocks=296),
}
"""Layouts by format, content and size; 1.6 has two, as it grew in later drivers."""


def version(table: bytes) -> str | None:
    """Return the version that a table says it has."""
    return f"{table[2]}.{table[3]}" if len(table) >= 4 else None


def read_metrics(table: bytes) -> Metrics | None:
    """Return what a table tells; None where its layout is not known, or it is not whole."""
    if len(table) < 4:
        return None
    size, form, content = struct.unpack_from("<HBB", table)
    layout = LAYOUTS.get((form, content, size))
    if layout is None or len(table) < size:
        return None
    return Metrics(
        sm_clock_hz=_clock_hz(table, layout.clocks),
        energy_j=_energy_j(table, layout),
        throttle_reasons=_reasons(table, layout),
        cycles=_cycles(table, layout.cycles),
    )


def _told(table: bytes, form: str, place: int | None) -> int | None:
    if place is None:
        return None
    (value,) = struct.unpack_from(f"<{form}", table, place)
    return None if value == (1 << 8 * struct.calcsize(f"<{form}")) - 1 else int(value)


def _clock_hz(table: bytes, place: int | None) -> float | None:
    places = [] if place is None else range(place, place + 2 * DIES, 2)
    clocks = [clock for place in places if (clock := _told(table, "H", place))]
    return median(clocks) * 1e6 if clocks else None


def _energy_j(table: bytes, layout: Layout) -> float | None:
    if layout.hbm is not None and _told(table, "H", layout.hbm) is None:
        return None
    count = _told(table, "Q", layout.energy)
    return None if count is None else count / JOULE


def _reasons(table: bytes, layout: Layout) -> list[str] | None:
    """Return what holds the clock down; only that something does where the causes are those of one generation."""
    causes = _told(table, "Q", layout.causes)
    if causes is not None:
        return throttlers(causes)
    status = _told(table, "I", layout.status)
    return None if status is None else ["throttled"] if status else []


def _cycles(table: bytes, place: int | None) -> Cycles | None:
    total = _told(table, "I", place)
    if place is None or total is None:
        return None
    counts = {name: _told(table, "I", place + 4 * n) for n, name in enumerate(VIOLATIONS, start=1)}
    return Cycles(total, {name: count for name, count in counts.items() if count is not None})


class Residencies:
    """The time that was spent under each violation since the first look [ns]: its share of the cycles since."""

    def __init__(self) -> None:
        self._last: tuple[int, Cycles] | None = None
        self._spent_ns: dict[str, float] = {}
        self.reasons: list[str] | None = None
        """What held the clock down between the last two looks; None before there are two."""

    def look(self, now_ns: int, cycles: Cycles) -> dict[str, int]:
        """Take the counts of this moment and return the times until now."""
        for name in cycles.violations:
            self._spent_ns.setdefault(name, 0.0)
        if self._last is None:
            self._last = now_ns, cycles
        elif passed := _rise(self._last[1].total, cycles.total):
            self._add(now_ns, cycles, passed)
        return {name: round(spent) for name, spent in self._spent_ns.items()}

    def _add(self, now_ns: int, cycles: Cycles, passed: int) -> None:
        """Add the time since the last look, unless the firmware began to count anew in between."""
        assert self._last is not None
        began_ns, before = self._last
        self._last, self.reasons = (now_ns, cycles), []
        for name, count in cycles.violations.items():
            held = _rise(before.violations.get(name, count), count)
            if 0 < held <= passed < BACKWARDS:
                self._spent_ns[name] += (now_ns - began_ns) * held / passed
                self.reasons.append(name)


def _rise(before: int, now: int) -> int:
    """Return how far a counter of 32 bits went, which begins at 0 again after its last number."""
    return (now - before) % 2**32
