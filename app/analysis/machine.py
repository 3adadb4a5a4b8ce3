"""Was it the machine? A change of a benchmark is held against the control workload, and against the machine's epochs.

The control is frozen: whatever moves it is no code under test. It explains a change that it shares: in the same
direction, by at least half of its size, and by more than it moves of itself.

An epoch explains a change that came with it. Where commits of before were measured on the new machine, or commits of
after on the old one, they tell the two apart. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev

SHARED = 0.5
"""A control that moves by a smaller part of the change does not explain it."""

SMALLEST = 0.01
"""A control that moves by less (ln units) has not moved: its own repeats differ by as much."""

ERRORS = 3.0
"""So many standard errors are no chance, and more where few results say how large one is (`_errors`).

Fewer take noise for a cause: code would go unmeasured. More leave small steps of the machine to be measured in pairs.
"""

MEDIAN_TO_MEAN = 1.2533
"""Standard error of a median over that of a mean, of normal data."""

FEWEST_BEFORE, FEWEST_AFTER = 5, 1
"""Fewer results of the control do not show how much it moves of itself."""

DRIFT = 0.02
"""A probe that moved by more over a run, either way, says that the machine did."""


@dataclass(frozen=True)
class Shared:
    """What a probe of the control did over the same stretch: its level before and after [s], and the shift (ln)."""

    before_s: float
    after_s: float
    shift: float


def shared_shift(change_ln: float, before_s: Sequence[float], after_s: Sequence[float]) -> Shared | None:
    """Return how the control moved, if that explains a change; None if it does not, or is unknown.

    Args:
        change_ln: the change of the benchmark's time (ln units); of a rate, with its sign turned.
        before_s: times of one probe on one device before the change [s], all positive.
        after_s: the same from the change on.
    """
    if len(before_s) < FEWEST_BEFORE or len(after_s) < FEWEST_AFTER or change_ln == 0:
        return None
    old, new = median(before_s), median(after_s)
    shift = math.log(new / old)
    # By the results before alone: those after may be one, and say nothing of how much the control moves of itself.
    noise = stdev(math.log(x / old) for x in before_s)
    standard_error = MEDIAN_TO_MEAN * noise * math.sqrt(1 / len(before_s) + 1 / len(after_s))
    is_shared = shift * change_ln > 0 and abs(shift) >= SHARED * abs(change_ln)
    if not is_shared or abs(shift) < max(SMALLEST, _errors(len(before_s)) * standard_error):
        return None
    return Shared(old, new, shift)


def _errors(n: int) -> float:
    """Return how many standard errors are no chance, if `n` results say how large one is; about Student's factors."""
    return ERRORS * (1 + 3 / (n - 1))


def is_majority(shared: int, probes: int) -> bool:
    """Tell whether so many probes of all that are known share a change: one alone moves by chance now and then."""
    return 2 * shared > probes


@dataclass(frozen=True)
class Placed:
    """A point of a history near a change of level.

    `is_after` says whether its commit is one of the new level, `is_new` whether it was measured on the machine that the
    epoch began with, then or ever before.
    """

    is_after: bool
    is_new: bool
    value: float


def came_with(points: Sequence[Placed], before: float, after: float) -> bool:
    """Tell whether a change of level came with an epoch of the machine, and not with its commit.

    Points whose commit and whose machine are of the same side cannot tell the two apart. The others can, by the level
    that they are nearer to: most of them have to be where the machine is. Without any of them the machine is to blame.

    Args:
        points: the points around the change, in any order.
        before: the level before the change.
        after: the level from the change on.
    """
    if not any(p.is_after and p.is_new for p in points) or all(p.is_after or p.is_new for p in points):
        return False
    crossed = [p for p in points if p.is_after != p.is_new]
    where_the_machine_is = sum((abs(p.value - after) < abs(p.value - before)) == p.is_new for p in crossed)
    return not crossed or 2 * where_the_machine_is > len(crossed)


def has_drifted(start_s: Mapping[str, float], end_s: Mapping[str, float]) -> bool:
    """Tell whether a probe of the control took another time at the end of a run than at its start.

    Both are times by the probe's name [s], all positive; probes that only one of them has say nothing.
    """
    return any(abs(end_s[name] / start_s[name] - 1) > DRIFT for name in start_s.keys() & end_s.keys())
