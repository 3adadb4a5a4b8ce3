"""Was it the machine? A change of a benchmark is held against the control workload over the same stretch of time.

The control is frozen: whatever moves it is no code under test. It explains a change that it shares: in the same
direction, by at least half of its size, and by more than it moves of itself. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from app.analysis.arrays import MAD_TO_SD

SHARED = 0.5
"""A control that moves by a smaller part of the change does not explain it."""

SMALLEST = 0.01
"""A control that moves by less (ln units) has not moved: its own repeats differ by as much."""

ERRORS = 4.0
"""So many standard errors are no chance: several probes are looked at for every change."""


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
    if not before_s or not after_s or change_ln == 0:
        return None
    old, new = median(before_s), median(after_s)
    shift = math.log(new / old)
    noise = _spread([math.log(x / old) for x in before_s] + [math.log(x / new) for x in after_s])
    standard_error = 1.2533 * noise * math.sqrt(1 / len(before_s) + 1 / len(after_s))
    is_shared = shift * change_ln > 0 and abs(shift) >= SHARED * abs(change_ln)
    if not is_shared or abs(shift) < max(SMALLEST, ERRORS * standard_error):
        return None
    return Shared(old, new, shift)


def _spread(deviations: Sequence[float]) -> float:
    return MAD_TO_SD * median(abs(value) for value in deviations)
