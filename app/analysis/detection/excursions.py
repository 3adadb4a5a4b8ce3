"""Excursions: a machine that slows down for a while, again and again, and each time returns to the level before.

A hot machine lowers its clock, and the runs of that time lie on a level of their own. One such excursion looks like a
change and its revert, and is told as these. Where a series has several, all to one side, each is put on the level
around it, so that it is neither noise nor a change. The method is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from app.analysis.arrays import Array
from app.analysis.detection.certainty import CERTAIN
from app.analysis.detection.segments import Segments

FEWEST = 4
"""Excursions of a series; fewer may be changes that were taken back."""

FEWEST_ALIKE = 2
"""The same of excursions of one height, as to a lower clock: the same change is seldom made and taken back twice."""

ALIKE = 2.5
"""Standard errors of the difference of two heights within which they may be the same."""

LONGEST = 60
"""Points of an excursion: what stays away for longer has changed for good."""

LEAST_RETURN = 0.5
"""Share of an excursion's height by which the level must come back."""

ASIDE = 1
"""Changes that may fall into an excursion without hiding its end."""


class Excursion(NamedTuple):
    """A stretch from row `start` to `end`, half-open, that lies `height` above the level around it (below, if < 0).

    `variance` is that of the height.
    """

    start: int
    end: int
    height: float
    variance: float


def excursions_of(segments: Segments, boundaries: Sequence[int]) -> list[Excursion]:
    """Return the excursions of a series in order; none if they are too few to tell them from changes."""
    if len(boundaries) < 2 * FEWEST_ALIKE:
        return []
    up, down = (_to_one_side(segments, boundaries, side) for side in (1, -1))
    most = max(up, down, key=lambda found: (len(found), -sum(one.end - one.start for one in found)))
    are_enough = len(most) >= FEWEST or (len(most) >= FEWEST_ALIKE and _are_alike(most))
    return most if are_enough else []


def above_base(n: int, excursions: Sequence[Excursion]) -> Array:
    """Return how far each of `n` points lies off the base level, shape (n,)."""
    off = np.zeros(n)
    for one in excursions:
        off[one.start : one.end] += one.height
    return off


def _are_alike(excursions: Sequence[Excursion]) -> bool:
    """Tell whether all may have one height."""
    return all(
        (one.height - other.height) ** 2 <= ALIKE**2 * (one.variance + other.variance)
        for one, other in combinations(excursions, 2)
    )


def _to_one_side(segments: Segments, boundaries: Sequence[int], side: int) -> list[Excursion]:
    """Return the excursions upwards, or downwards if `side` is −1."""
    edges = np.array(segments.edges(boundaries))
    jumps = side * np.diff(segments.means(boundaries))
    spread = segments.noise.variance(edges[:-1], edges[1:])
    its_spread = spread[:-1] + spread[1:]
    found, i = [], 0
    while i < len(jumps):
        back = _return_from(i, boundaries, jumps, its_spread)
        if back is None:
            i += 1
            continue
        height = side * float(jumps[i] - jumps[back]) / 2
        away = float(segments.noise.variance(boundaries[i], boundaries[back]))
        around = float(spread[i] + spread[back + 1]) / 4
        found.append(Excursion(boundaries[i], boundaries[back], height, away + around))
        i = back + 1
    return found


def _return_from(first: int, boundaries: Sequence[int], jumps: Array, spread: Array) -> int | None:
    """Return the number of the jump that takes the jump number `first` back; None if none does.

    `jumps` are differences of levels, `spread` their variances, both of shape (len(boundaries),).
    """
    for i in range(first + 1, min(first + 2 + ASIDE, len(jumps))):
        left = abs(float(jumps[first] + jumps[i]))
        is_near = boundaries[i] - boundaries[first] <= LONGEST
        is_back = left <= (1 - LEAST_RETURN) * jumps[first] and left**2 <= CERTAIN**2 * (
            spread[first] + spread[i]
        )
        if is_near and is_back:
            return i
    return None
