"""Which boundaries are beyond doubt?

They leave from the weakest on, each judged against the neighbours that it then has, until all that remain have as many
standard errors as is asked of them: more near an end, which may be drift that is about to turn, and of the newest runs,
which may be a spike; less of what has lasted a little longer, so that a change is told soon.

Source: C. Truong et al., Selective review of offline change point detection methods, Signal Processing 167 (2020), for
backward elimination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.detection.segments import Segments

CERTAIN = 4.3
"""Standard errors from which on a boundary stays."""

CERTAIN_AT_ENDS = 5.0
"""The same of the first and last boundary near an end of the series."""

NEAR_END = 60
"""Points of the first and last regime beyond which `CERTAIN` is enough again."""

FEW = 4
"""Points of the newest regime from which on its evidence is trusted earlier: fewer may be a burst of noise."""

AT_ONCE = 10
"""Points of the newest regime up to which that holds, so that a change is told soon."""

UNTIL = 20
"""Points of the newest regime from which on it must be as certain as anything near an end; in between the bar rises."""

CERTAIN_AT_ONCE = 3.8
"""Standard errors that are enough for the newest boundary then, where neighbouring runs are independent."""

FOR_CORRELATION = 2.0
"""Standard errors more for a correlation of 1, up to `CERTAIN`: correlated runs pass for a level of their own."""

CERTAIN_WHERE_PLACED = 3.6
"""Standard errors that a boundary must keep where it is told, which is not where it has most."""


def strongest(segments: Segments, boundaries: Sequence[int]) -> list[int]:
    """Return the boundaries that are certain beside one another."""
    rest = _Rest(segments, boundaries)
    while rest.loses(_by_place(rest.edges, segments.noise.correlation)):
        pass
    return rest.boundaries


def strongest_by(segments: Segments, boundaries: Sequence[int], bars: Sequence[float]) -> Iterator[list[int]]:
    """Yield for each of the ascending `bars`, in standard errors, the boundaries that reach it beside one another."""
    rest = _Rest(segments, boundaries)
    for bar in bars:
        while rest.loses(bar):
            pass
        yield rest.boundaries


def certain_where_placed(segments: Segments, boundaries: Sequence[int]) -> list[int]:
    """Return the boundaries without those that are not nearly certain at the very place where they lie."""
    return next(strongest_by(segments, boundaries, [CERTAIN_WHERE_PLACED]))


class _Rest:
    """What is left of some boundaries: the `edges` of the segments that they make, and what each inner one is worth."""

    def __init__(self, segments: Segments, boundaries: Sequence[int]) -> None:
        self._segments = segments
        self._keep(np.array(segments.edges(boundaries)))

    @property
    def boundaries(self) -> list[int]:
        inner: list[int] = self.edges[1:-1].tolist()
        return inner

    def loses(self, bar: Array | float) -> bool:
        """Let those leave that are below the bar and no stronger than their neighbours; tell whether any were.

        Far apart they do not touch one another, so that all of a turn may leave at once.
        """
        worth = np.concatenate(([np.inf], self._worth, [np.inf]))
        leaves = (self._worth < bar) & (self._worth <= worth[:-2]) & (self._worth < worth[2:])
        if leaves.any():
            self._keep(self.edges[np.concatenate(([True], ~leaves, [True]))])
            return True
        return False

    def _keep(self, edges: NDArray[np.intp]) -> None:
        self.edges = edges
        self._worth = self._segments.evidence(edges) if len(edges) > 2 else np.empty(0)


def _by_place(edges: NDArray[np.intp], correlation: float | None) -> Array:
    """Return from how many standard errors on each inner edge stays, shape (len(edges) − 2,)."""
    bars, lengths = np.full(len(edges) - 2, CERTAIN), np.diff(edges)
    if not len(bars):
        return bars
    if lengths[0] <= NEAR_END:
        bars[0] = CERTAIN_AT_ENDS
    if lengths[-1] <= NEAR_END:
        bars[-1] = _of_newest(int(lengths[-1]), int(lengths[-2]), correlation)
    return bars


def _of_newest(points: int, before: int, correlation: float | None) -> float:
    """Return the bar of the newest regime, which has few points, from those of the one before."""
    if points < FEW:
        return CERTAIN_AT_ENDS
    soon = CERTAIN
    if correlation is not None and before > AT_ONCE:
        soon = min(CERTAIN, CERTAIN_AT_ONCE + FOR_CORRELATION * max(0.0, correlation))
    return float(np.interp(points, (AT_ONCE, UNTIL), (soon, CERTAIN_AT_ENDS)))
