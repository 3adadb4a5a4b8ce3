"""Where a history came to be measured on another machine, of machines that may well take turns. Pure.

An epoch is that of one device; a history that several devices of a class measure has one of the whole set: it begins
where a machine arrives that the set did not have. One that takes its turn again begins nothing. How long a machine is
away between its turns is told by the history itself; see docs/devices.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

AWAY = 15
"""A machine that was away for more than so many times its usual gap has left, and arrives when it comes back.

Of machines that are chosen by chance one is away for longer than its median gap after every other turn at the most, and
so for more than 15 times as long after one of 2 ** 15 turns.
"""

PREDECESSORS = 4
"""So many machines before an arrival are held against the new one."""

_SEARCHED = 200
"""Points before an arrival among which those are looked for."""


class Arrival(NamedTuple):
    """A machine that arrives with the point `row`; `is_back` says that the history had it before.

    `before` are the last rows of the machines before it, the newest first.
    """

    row: int
    before: tuple[int, ...]
    is_back: bool


def arrivals(machines: Sequence[int], *, most: int) -> list[Arrival]:
    """Return where machines arrive in a history, in its order; the first machine of all does not.

    Where there would be more than `most`, those that come back are left out; where there still are, machines come and
    go all the time, and none is told.

    Args:
        machines: the machine of each point as any number, 0 where it is not known, in the history's order.
        most: how many are told at the most.
    """
    if len(set(machines) - {0}) <= 1:
        return []
    rows = [row for row, machine in enumerate(machines) if machine]
    found = sorted(_beginnings(machines, rows))
    if len(found) > most:
        found = [one for one in found if not one[1]]
    if len(found) > most:
        return []
    return [Arrival(rows[at], _before(machines, rows, at), is_back) for at, is_back in found]


def _beginnings(machines: Sequence[int], rows: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Yield where a machine's time begins, as an index into `rows`, and whether it had been there before."""
    turns: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        turns.setdefault(machines[row], []).append(at)
    for its in turns.values():
        if its[0]:
            yield its[0], False
        gaps = [after - before for before, after in pairwise(its)]
        longest = AWAY * median_low(gaps) if gaps else 0
        yield from ((after, True) for after, gap in zip(its[1:], gaps, strict=True) if gap > longest)


def _before(machines: Sequence[int], rows: Sequence[int], at: int) -> tuple[int, ...]:
    """Return the last row of each of the machines right before; not of the one that arrives."""
    found: dict[int, int] = {}
    for row in reversed(rows[max(at - _SEARCHED, 0) : at]):
        if machines[row] != machines[rows[at]]:
            found.setdefault(machines[row], row)
        if len(found) == PREDECESSORS:
            break
    return tuple(found.values())
