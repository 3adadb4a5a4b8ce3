"""What a device did while nobody held it, by what was seen of it in steps of some minutes. Pure arithmetic.

In a step that was held in part nobody knows when in it the device was busy. Of `busy` seconds in a step of `step`
seconds, `free` of which are asked about, at least `busy - (step - free)` and at most `busy` are in those. Where both
bounds say the same, used or idle, it is that; else it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import isnan
from typing import NamedTuple

from app.domain.device_use import IDLE_BELOW, Drawn, Seen, Span, Split

LEAST_S = 1e-6
"""Less time than this is none: what rounding leaves over."""


def outside_leases(seen: Seen, held: Sequence[Span], there: Span) -> Split:
    """Return what the device did between the two moments of `there` while nobody held it.

    Args:
        seen: the device, step by step; what is before and after its steps is not known.
        held: when it was held, without overlaps, in any order; what is outside of `there` does not count.
        there: from when to when the device was there.
    """
    within = [(max(start, there[0]), min(end, there[1])) for start, end in held]
    free_s = _in_steps(seen, [there])
    for n, seconds in enumerate(_in_steps(seen, within)):
        free_s[n] -= seconds
    used_s = idle_s = busy_s = 0.0
    whole_idle = [False] * len(free_s)
    for n, (busy, free) in enumerate(zip(seen.busy, free_s, strict=True)):
        if free <= LEAST_S or isnan(busy):
            continue
        least, most = max(0.0, busy * seen.step_s - (seen.step_s - free)), busy * seen.step_s
        if most < IDLE_BELOW * free:
            idle_s += free
            whole_idle[n] = free > seen.step_s - LEAST_S
        elif least >= IDLE_BELOW * free:
            used_s += free
            busy_s += min(least, free)
    there_s = max(0.0, there[1] - there[0])
    all_free_s = there_s - sum(max(0.0, end - start) for start, end in within)
    whole_there = [seconds > seen.step_s - LEAST_S for seconds in _in_steps(seen, [there])]
    return Split(
        used_s,
        idle_s,
        max(0.0, all_free_s - used_s - idle_s),
        busy_s,
        _drawn(seen, whole_there),
        _drawn(seen, whole_idle),
    )


def _in_steps(seen: Seen, spans: Sequence[Span]) -> list[float]:
    """Return how much of each step lies in the spans [s], shape (n_steps,)."""
    seconds = [0.0] * len(seen.busy)
    for start, end in spans:
        first = max(0, int((start - seen.start) // seen.step_s))
        last = min(len(seconds) - 1, int((end - seen.start) // seen.step_s))
        for n in range(first, last + 1):
            begins = seen.start + n * seen.step_s
            seconds[n] += max(0.0, min(end, begins + seen.step_s) - max(start, begins))
    return seconds


class _Piece(NamedTuple):
    """Energy of the steps from `first` to the one before `behind` [J]."""

    first: int
    behind: int
    joules: float
    low: float
    high: float


def _drawn(seen: Seen, counts: Sequence[bool]) -> Drawn | None:
    """Return the energy of the steps that count; a piece that reaches beyond them tells nothing of them."""
    n_before = list(accumulate(counts, initial=0))
    told = [
        piece
        for piece in _pieces(seen)
        if n_before[piece.behind] - n_before[piece.first] == piece.behind - piece.first
    ]
    if not told:
        return None
    return Drawn(
        joules=sum(piece.joules for piece in told),
        low=sum(piece.low for piece in told),
        high=sum(piece.high for piece in told),
        told_s=seen.step_s * sum(piece.behind - piece.first for piece in told),
        is_counted=seen.counter_j is not None,
    )


def _pieces(seen: Seen) -> Iterator[_Piece]:
    if seen.counter_j is not None:
        yield from _rises(seen.counter_j)
    elif seen.power is not None:
        for n, watts in enumerate(zip(*seen.power, strict=True)):
            if not any(map(isnan, watts)):
                yield _Piece(n, n + 1, *(its * seen.step_s for its in watts))


def _rises(counter_j: Sequence[float]) -> Iterator[_Piece]:
    """Yield what a counter rose by from one reading to the next; what it counted while it began anew is not known."""
    before: int | None = None
    for n, reading in enumerate(counter_j):
        if isnan(reading):
            continue
        if before is not None and reading >= counter_j[before]:
            rise = reading - counter_j[before]
            yield _Piece(before + 1, n + 1, rise, rise, rise)
        before = n
