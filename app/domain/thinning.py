"""Fewer points of a curve that looks the same: what a screen of so many columns can show, and nothing that it can't.

In each column the first and the last point stay, and those with the lowest and the highest value (M4: Jugel et al.
2014), so that the line has the same pixels; with them the outermost of the band around it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

PER_COLUMN = 6
"""Points that stay of one column at the most."""


def thinned(
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    columns: int,
    *,
    keep: Collection[int] = (),
) -> list[int]:
    """Return the indices of the points that stay, ascending; all of them where there are few enough.

    Args:
        values: the curve's points in their order, finite.
        low: the lower edge of the band at each point.
        high: its upper edge.
        columns: how many columns there are to show them in, at least 1.
        keep: indices that stay whatever their values.
    """
    n = len(values)
    if n <= PER_COLUMN * columns:
        return list(range(n))
    kept = {index for index in keep if 0 <= index < n}
    for column in range(columns):
        its = range(column * n // columns, (column + 1) * n // columns)
        kept.update(_of_column(values, low, high, its))
    return sorted(kept)


def _of_column(
    values: Sequence[float], low: Sequence[float], high: Sequence[float], its: range
) -> Iterator[int]:
    """Yield the points of a column that stay; there is at least one in it."""
    yield from (its[0], its[-1])
    yield min(its, key=values.__getitem__)
    yield max(its, key=values.__getitem__)
    yield min(its, key=low.__getitem__)
    yield max(its, key=high.__getitem__)
