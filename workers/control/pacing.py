"""How often a probe runs: warm-up, batches of k iterations, and when there are enough of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, median, stdev

Run = Callable[[int], float]
"""Carries out so many iterations and returns how long they took [s], by whatever clock suits the device."""


@dataclass(frozen=True)
class Pace:
    """Limits of one probe [s].

    It is warmed up for `warm_s`; k is the smallest power of two with which a batch lasts `batch_s`; batches end when
    there are `least` of them and `enough_s` has been spent on them, at the latest after `longest_s`.
    """

    warm_s: float
    batch_s: float
    enough_s: float
    least: int
    longest_s: float

    def shared_by(self, devices: int) -> Pace:
        """Return the pace at which so many devices, one after another, take little longer than one."""
        return Pace(
            self.warm_s / devices,
            self.batch_s,
            self.enough_s / devices,
            self.least,
            self.longest_s / devices,
        )


FULL = Pace(warm_s=0.2, batch_s=0.02, enough_s=0.6, least=30, longest_s=8.0)
SHORT = Pace(warm_s=0.12, batch_s=0.01, enough_s=0.2, least=5, longest_s=0.3)


@dataclass(frozen=True)
class Timing:
    """Seconds an iteration: the median over the batches, their coefficient of variation, and how many there were."""

    seconds: float
    cv: float | None
    n: int


def timed(run: Run, pace: Pace) -> Timing:
    """Return how long an iteration takes."""
    batches = _batches(run, _warmed_up(run, pace), pace)
    spread = stdev(batches) / fmean(batches) if len(batches) > 1 else None
    return Timing(median(batches), spread, len(batches))


class _Spent:
    """Time since the start [s]: the clock's, or what the runs say if that is more, as scripted ones take no time."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._told_s = 0.0

    def add(self, took_s: float) -> float:
        """Take note of a run; return what was spent so far."""
        self._told_s += took_s
        return max(self._told_s, time.perf_counter() - self._start)


def _warmed_up(run: Run, pace: Pace) -> int:
    """Return k after the warm-up. The first run tells nothing: it may compile, load and fill."""
    run(1)
    spent, k = _Spent(), 1
    while True:
        took_s = run(k)
        is_warm = spent.add(took_s) >= pace.warm_s
        if took_s >= pace.batch_s and is_warm:
            return k
        if took_s < pace.batch_s:
            k *= 2


def _batches(run: Run, k: int, pace: Pace) -> list[float]:
    spent, batches, spent_s = _Spent(), list[float](), 0.0
    while not batches or (
        spent_s < pace.longest_s and (len(batches) < pace.least or spent_s < pace.enough_s)
    ):
        took_s = run(k)
        batches.append(took_s / k)
        spent_s = spent.add(took_s)
    return batches
