"""Whether a device still is what it was: one probe of its frozen control workload against the last thirty days.

The workload never changes, so that only the machine can move it. A robust z-score says whether a value is beyond what
the device usually shows, and a least deviation that it matters: on a device that repeats itself to a hundredth of a
percent, everything is beyond the usual.

Source of the score: F. R. Hampel, The influence curve and its role in robust estimation, JASA 69 (1974); the constants:
docs/control.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

NORMAL_MAD = 1.4826
"""Standard deviations of a normal law in its median absolute deviation, inverted: 1 / Φ⁻¹(3/4)."""

LARGEST_Z = 4.0
"""A value further off its past than this many standard deviations is not of it."""

LARGEST_DEVIATION = 0.02
"""What a device may move by without harm, however unusual it is (share of the median)."""

FEWEST_RECORDS = 10
"""A shorter past says nothing."""

REPEATS = 3
"""Runs, one after the other, that have to say so of a processor, on which others work, too."""


class HealthState(StrEnum):
    """What a probe says of its device."""

    GOOD = "good"
    QUARANTINED = "quarantined"
    UNKNOWN = "health_unknown"
    """There is too little past; measuring goes on, and makes one."""


@dataclass(frozen=True)
class Health:
    """How a value stands against its past.

    `deviation` is value/median − 1, `z` the same distance in standard deviations; both are None without any past, and
    shown for a short one, too. `z` is infinite where the past does not vary and the value is another.
    """

    state: HealthState
    n: int
    median: float | None = None
    deviation: float | None = None
    z: float | None = None


def health_of(history: Sequence[float], now: float) -> Health:
    """Return how a probe's newest value stands against its past.

    Faster than ever is as wrong as slower: both say that it is not the device that the history is of.

    Where more than half of the past is one and the same value its median absolute deviation is 0, and any other value
    is infinitely many of them away: then the least deviation alone decides, as it would of a very small one.

    Args:
        history: the values of the last thirty days without the newest, in any order and any unit, > 0.
        now: the newest value, in the same unit, > 0.

    Raises:
        ValueError: a value is not a positive finite number.
    """
    for value in (*history, now):
        if not 0 < value < math.inf:
            raise ValueError(f"{value!r} is no time that a probe of the control can take")
    if not history:
        return Health(HealthState.UNKNOWN, 0)
    middle = median(history)
    deviation, z = now / middle - 1, _z(history, middle, now)
    return Health(_state(len(history), deviation, z), len(history), middle, deviation, z)


def keeps_off(history: Sequence[float], now: float) -> Health | None:
    """Return how the newest value stands against what was before the last `REPEATS`, where all of these are off that.

    They have to be so to the same side: what a machine with neighbours shows once is weather. None for anything else.

    Args:
        history: the values of the last thirty days without the newest, oldest first, > 0.
        now: the newest value, in the same unit, > 0.
    """
    before = len(history) - REPEATS + 1
    if before < FEWEST_RECORDS:
        return None
    healths = [health_of(history[:before], value) for value in (*history[before:], now)]
    sides = {(health.deviation or 0.0) > 0 for health in healths}
    are_off = all(health.state is HealthState.QUARANTINED for health in healths)
    return healths[-1] if are_off and len(sides) == 1 else None


def health_of_all(healths: Iterable[Health]) -> HealthState:
    """Return what several probes say together: one that is off is enough, and one that has a past."""
    states = {health.state for health in healths}
    order = (HealthState.QUARANTINED, HealthState.GOOD)
    return next((state for state in order if state in states), HealthState.UNKNOWN)


def _z(history: Sequence[float], middle: float, now: float) -> float:
    spread = NORMAL_MAD * median(abs(value - middle) for value in history)
    if spread == 0:
        return math.copysign(math.inf, now - middle) if now != middle else 0.0
    return (now - middle) / spread


def _state(n: int, deviation: float, z: float) -> HealthState:
    if n < FEWEST_RECORDS:
        return HealthState.UNKNOWN
    is_off = abs(z) > LARGEST_Z and abs(deviation) > LARGEST_DEVIATION
    return HealthState.QUARANTINED if is_off else HealthState.GOOD
