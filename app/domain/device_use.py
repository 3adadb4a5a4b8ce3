"""What somebody saw a device do in a time, step by step, and what that comes to where nobody held it.

A step is some minutes long. What is not known of a step is NaN, and stays not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import NamedTuple

IDLE_BELOW = 0.05
"""A device that runs something for less than this share of the time is idle: what only monitors it does no more.
Grafana's dashboard of the fleet says it by the same number."""

Span = tuple[float, float]
"""From and to, in seconds since 1970."""


class Power(NamedTuple):
    """The mean, the lowest and the highest power in each step [W], each of shape (n_steps,)."""

    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class Seen:
    """One device, step by step.

    Attributes:
        start: when the first step begins [s since 1970].
        step_s: how long each is [s].
        busy: share of the step in which anything ran, from 0 to 1, shape (n_steps,).
        counter_j: the device's energy counter at the end of each step [J], shape (n_steps,); None without one.
        power: what there is in place of a counter.
    """

    start: float
    step_s: float
    busy: Sequence[float]
    counter_j: Sequence[float] | None = None
    power: Power | None = None


@dataclass(frozen=True)
class Told:
    """What was told of devices, by hardware id; `reason` says why it is not all, as a sentence without its full stop.

    `is_unanswered` says that nobody answered: asking again may tell.
    """

    seen: Mapping[str, Seen] = field(default_factory=dict)
    reason: str | None = None
    is_unanswered: bool = False


@dataclass(frozen=True)
class Drawn:
    """Energy [J] that was drawn in the time that is told, `told_s` [s]; nothing stands for the rest.

    `low` and `high` are how far off it may be: the same number where counters told all of it.
    """

    joules: float
    low: float
    high: float
    told_s: float
    is_counted: bool

    def __add__(self, other: Drawn) -> Drawn:
        """Return that of both together."""
        return Drawn(
            self.joules + other.joules,
            self.low + other.low,
            self.high + other.high,
            self.told_s + other.told_s,
            self.is_counted and other.is_counted,
        )


def sum_of(amounts: Iterable[Drawn | None]) -> Drawn | None:
    """Return all of it together; None where nothing is told."""
    told = [its for its in amounts if its is not None]
    return reduce(add, told) if told else None


class Split(NamedTuple):
    """The time in which a device was there and nobody held it [s]: used by others, idle, and not known.

    Of what others used something ran for `busy_s` at least. `drawn` is the energy of all its time there, held or not;
    `drawn_idle` of idle time. None where none is told.
    """

    used_s: float
    idle_s: float
    unknown_s: float
    busy_s: float = 0.0
    drawn: Drawn | None = None
    drawn_idle: Drawn | None = None
