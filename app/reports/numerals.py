"""Numbers without a unit as people read them: two levels, a p-value."""

from __future__ import annotations

import math

from app.reports.quantities import ABSENT, finite

_DIGITS = 4


def levels(before: float, after: float) -> str:
    """Return two levels with digits enough to tell them apart: `12.41 → 13.17`, `1204000 → 1351000`."""
    decimals = _decimals(before, after)
    written = [
        f"{level:.{_DIGITS}g}" if decimals is None else f"{level:.{decimals}f}" for level in (before, after)
    ]
    return " → ".join(written).replace("-", "−")


def probability(p: float) -> str:
    """Return a p- or q-value: `0.2`, `0.031`, `2e−9`; `–` where there is none."""
    value = finite(p)
    if value is None:
        return ABSENT
    if value == 0 or value >= 0.001:
        return f"{value:.2g}"
    digits, _, exponent = f"{value:.0e}".partition("e-")
    return f"{digits}e−{int(exponent)}"


def _decimals(before: float, after: float) -> int | None:
    """Return how many decimals show the larger level with four digits, and a difference with two at least.

    None where both are so large, so small or so far apart that they are better written each by itself.
    """
    small, large = sorted((abs(before), abs(after)))
    if not 1e-3 <= large < 1e7 or small * 1000 < large:
        return None
    wanted = _DIGITS - 1 - math.floor(math.log10(large))
    difference = abs(after - before)
    if difference:
        wanted = max(wanted, 1 - math.floor(math.log10(difference)))
    return min(max(wanted, 0), 12)
