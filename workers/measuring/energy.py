"""Energy of a stretch of time, from a device's readings: its counter where it has one, else its power over time.

Pure. Readings are ten a second and a case is timed for seconds, so a counter is interpolated between two readings;
outside the readings nothing is told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from workers.measuring.telemetry_summary import values
from workers.readings.record import Tick

LONGEST_GAP_NS = 2e9
"""Over a longer silence nobody knows what was drawn."""

Point = tuple[float, float]
"""A moment [ns] and a value."""


def energy_j(ticks: Sequence[Sequence[Tick]], window_ns: tuple[int, int]) -> float | None:
    """Return what all devices drew from one moment to another [J]; None where one of them does not tell.

    Args:
        ticks: the readings of each device, in time order.
        window_ns: the two moments, on the clock of the readings' `t_ns`.
    """
    drawn = [_of_device(of_device, *window_ns) for of_device in ticks]
    known = [joules for joules in drawn if joules is not None]
    return sum(known) if len(known) == len(drawn) else None


def _of_device(ticks: Sequence[Tick], begin_ns: int, end_ns: int) -> float | None:
    counter = _points(ticks, "energy_j_total")
    if not counter or _falls(counter):
        counter = _integral(_points(ticks, "power_w"))
    if len(counter) < 2 or begin_ns < counter[0][0] or end_ns > counter[-1][0] or end_ns <= begin_ns:
        return None
    if any(
        t1 - t0 > LONGEST_GAP_NS for (t0, _), (t1, _) in pairwise(counter) if t1 > begin_ns and t0 < end_ns
    ):
        return None
    return _at(counter, end_ns) - _at(counter, begin_ns)


def mean_power_w(ticks: Sequence[Sequence[Tick]]) -> float | None:
    """Return the mean power of all devices together [W]; None where one of them does not tell."""
    told = [values(of_device, "power_w") for of_device in ticks]
    return sum(map(fmean, told)) if all(told) else None


def _points(ticks: Sequence[Tick], name: str) -> list[Point]:
    return [
        (tick["t_ns"], tick[name])
        for tick in ticks
        if tick.get(name) is not None and tick.get("t_ns") is not None
    ]


def _falls(points: Sequence[Point]) -> bool:
    return any(later < earlier for (_, earlier), (_, later) in pairwise(points))


def _integral(powers: Sequence[Point]) -> list[Point]:
    """Return power [W] as a counter of energy [J], by the trapezoidal rule."""
    total, counter = 0.0, [(powers[0][0], 0.0)] if powers else []
    for (t0, w0), (t1, w1) in pairwise(powers):
        total += (w0 + w1) / 2 * (t1 - t0) / 1e9
        counter.append((t1, total))
    return counter


def _at(counter: Sequence[Point], moment_ns: float) -> float:
    """Return the counter at a moment within it, interpolated."""
    after = min(max(bisect_right(counter, moment_ns, key=lambda point: point[0]), 1), len(counter) - 1)
    (t0, j0), (t1, j1) = counter[after - 1], counter[after]
    return j0 if t1 == t0 else j0 + (j1 - j0) * (moment_ns - t0) / (t1 - t0)
