"""What a device is good for, from measurements of a commit against itself: its grade, and the least that it can show.

`judge.grade_of` grades a check by its own pairs, with the same thresholds; here it is the device that is graded.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from app.analysis.judge import Grade, grade_of

LARGEST_SD: Final = MappingProxyType(
    {0.0025: 0.00228, 0.005: 0.0046, 0.01: 0.0096, 0.02: 0.0198, 0.03: 0.0296, 0.05: 0.0488, 0.10: 0.0954}
)
"""Of a change (head/base − 1) the largest standard deviation of pair effects (ln units) with which it is found.

Found: the sequential rule says `regressed` within 32 pairs in at least 95 of 100 runs, for a single metric at alpha
0.01, no minimum effect, no early `no_regression`, and the prior that the deviation gives (`g_from_history`). From
200,000 simulated runs for each, rounded down; a test simulates them again.
"""

POWER = 0.95
PAIRS = 32


def grade_of_device(sigma_pair: float | None, *, exclusive: bool, clocks_locked: bool) -> Grade | None:
    """Return a device's grade from the pair standard deviation of its nightly A/A (ln units).

    A: for measuring alone, clocks locked, at most 0.5 %. B: for measuring alone, at most 2 %. C: all others, and every
    device that is shared, however quiet it was that night. None for a device of its own that nobody has measured.
    """
    if not exclusive:
        return "C"
    return grade_of(sigma_pair, clocks_locked=clocks_locked)


def smallest_effect(sigma_pair: float) -> float | None:
    """Return the smallest change (head/base − 1) of a fixed list that would be found; None if the largest would not.

    Args:
        sigma_pair: standard deviation of the effects of pairs of a commit with itself (ln units), ≥ 0.

    Raises:
        ValueError: it is negative or not a number.
    """
    if not sigma_pair >= 0:
        raise ValueError(f"{sigma_pair!r} is no standard deviation of pairs")
    return next((change for change, largest in LARGEST_SD.items() if sigma_pair <= largest), None)
