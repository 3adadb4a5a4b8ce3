"""A series as one line of block characters: its level over time, with a mark where it changed for good."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import median

BLOCKS = "▁▂▃▄▅▆▇█"
MARK = "│"

_HUGE = 1e150
"""Beyond it differences could overflow."""

_CALM = 8.0
"""Standard deviations of the noise that the height stands for at the least: a quiet series looks quiet."""


def sparkline(values: NDArray[np.float64], changes: Sequence[int], width: int, *, spread: float = 0.0) -> str:
    """Return the series in at most `width` characters.

    Each block is the median of as many points as fall on it; a mark stands before the first block of each new regime,
    and no block mixes two regimes. Single values far from all others end at the upper or lower edge.

    Args:
        values: the points in their order, shape (n_points,), finite.
        changes: the first row of each new regime, ascending, within 1 to n_points − 1. Where there is no room to mark
            them all, none is marked.
        width: characters, at least 1.
        spread: standard deviation of single points in the unit of `values`.
    """
    if not len(values):
        return ""
    if (largest := np.abs(values).max()) > _HUGE:
        values, spread = values / largest, spread / largest
    starts = [0, *changes]
    if 2 * len(starts) - 1 > width:
        starts = [0]
    sizes = np.diff([*starts, len(values)])
    cells = _cells_of_regimes(sizes, min(width - len(starts) + 1, len(values)))
    regimes = np.split(values, starts[1:])
    levels = [_medians(regime, n) for regime, n in zip(regimes, cells, strict=True)]
    bottom, height = _scale(np.concatenate(levels), spread)
    return MARK.join(_blocks((level - bottom) / height) for level in levels)


def _cells_of_regimes(sizes: NDArray[np.int64], room: int) -> list[int]:
    """Return how many blocks each regime gets: one, and of the rest always the next where most points share a block."""
    cells = np.ones(len(sizes), int)
    for _ in range(room - len(sizes)):
        cells[np.argmax(sizes / cells)] += 1
    return [int(n) for n in cells]


def _medians(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    if n == len(values):
        return values
    bounds = np.linspace(0, len(values), n + 1).round().astype(int)
    return np.array([median(values[start:end]) for start, end in pairwise(bounds)])


def _scale(levels: NDArray[np.float64], spread: float) -> tuple[float, float]:
    """Return the value at the lower edge, and how much higher the upper edge is."""
    ordered = np.sort(levels)
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.05, 0.95))
    near = levels[(levels >= low - (high - low)) & (levels <= high + (high - low))]
    bottom, top = float(near.min()), float(near.max())
    height = max(top - bottom, _CALM * spread)
    if not 0 < height < np.inf:
        return bottom - 0.5, 1.0
    return (bottom + top - height) / 2, height


def _blocks(positions: NDArray[np.float64]) -> str:
    steps = (positions * len(BLOCKS)).clip(0, len(BLOCKS) - 1).astype(int)
    return "".join(BLOCKS[step] for step in steps.tolist())
