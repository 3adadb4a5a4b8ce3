"""Fewer points of a curve that looks the same: what a screen of so many columns can show, and nothing that it can't.

In each column the first, the last, the lowest and the highest point stay (M4: Jugel et al. 2014), so that no extreme is
lost and the line has the same pixels.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

PER_COLUMN = 4
"""Points that stay of one column."""


def thinned(values: Sequence[float], columns: int, *, keep: Collection[int] = ()) -> list[int]:
    """Return the indices of the points that stay, ascending; all of them where there are few enough.

    Args:
        values: the curve's points in their order, finite.
        columns: how many columns there are to show them in, at least 1.
        keep: indices that stay whatever their values.
    """
    n = len(values)
    if n <= PER_COLUMN * columns:
        return list(range(n))
    kept = {index for index in keep if 0 <= index < n}
    for column in range(columns):
        kept.update(_of_column(values, column * n // columns, (column + 1) * n // columns))
    return sorted(kept)


def _of_column(values: Sequence[float], start: int, end: int) -> tuple[int, ...]:
    """Return first, last, lowest and highest of the points from `start` until `end`; there is at least one."""
    its = range(start, end)
    return start, end - 1, min(its, key=values.__getitem__), max(its, key=values.__getitem__)
