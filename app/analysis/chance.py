"""Over many tests at once: which p-values are beyond chance, when chance had as many occasions as there were tests?

The share of false ones among those that are told is kept below `FALSE_DISCOVERY_RATE`, on average; with nothing to be
found, that is the probability of telling anything.

Source: Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, JRSS B 57 (1995).
"""

from __future__ import annotations

from collections.abc import Iterable

FALSE_DISCOVERY_RATE = 0.05
"""Share of false discoveries among all of one family of tests."""


def largest_beyond_chance(p_values: Iterable[float], tests: int) -> float:
    """Return the largest p-value that is beyond chance, and with it every smaller one; 0 if none is.

    Args:
        p_values: those that are known, in any order; what is not among them counts as 1.
        tests: how many there were in all, at least as many as `p_values`.
    """
    ranked = enumerate(sorted(p_values), start=1)
    return max((p for rank, p in ranked if p <= FALSE_DISCOVERY_RATE * rank / tests), default=0.0)
