"""A share of some that were counted, with the interval that it can lie in."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z = 1.959964
"""Quantile of the normal distribution for 95 % on both sides."""


@dataclass(frozen=True)
class Proportion:
    """`k` of `n`, as a share with a 95 % interval; all None where nothing was counted."""

    k: int
    n: int
    share: float | None
    low: float | None
    high: float | None


def proportion(k: int, n: int) -> Proportion:
    """Return k of n with the interval of Wilson (1927), which holds for few counts, and for none or all of them."""
    if n == 0:
        return Proportion(k, n, None, None, None)
    share, spread = k / n, _Z * _Z / n
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * sqrt(share * (1 - share) / n + spread / (4 * n))
    return Proportion(k, n, share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half)))
