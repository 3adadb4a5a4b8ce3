"""Which boundaries are beyond doubt?

They leave from the weakest on, each judged against the neighbours that it then has, until all that remain have as many
standard errors as is asked of them: more near an end, which may be drift that is about to turn, and of the newest runs,
which may be a spike; less of what has lasted a little longer, so that a change is told soon.

Source: C. Truong et al., Selective review of offline change point detection methods, Signal Processing 167 (2020), for
backward elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.detection.segments import Segments

CERTAIN = 4.3
"""Standard errors from which on a boundary stays."""

CERTAIN_AT_ENDS = 5.0
"""The same of the first and last boundary near an end of the series, and where few runs are new."""

NEAR_END = 60
"""Points of the first and last regime beyond which `CERTAIN` is enough again."""

FEW = 4
"""Points of the newest regime from which on it may be more than a spike."""

AT_ONCE = 10
"""Points of the newest regime up to which it may be certain earlier, so that a change is told soon."""

CERTAIN_AT_ONCE = 3.8
"""Standard errors that are enough for it where neighbouring runs are independent."""

FOR_CORRELATION = 2.0
"""Standard errors more for a correlation of 1, up to `CERTAIN`: correlated runs pass for a level of their own."""

CERTAIN_WHERE_PLACED = 3.6
"""Standard errors that a boundary must keep where it is told, which is not where it has most."""


Bar = Callable[[NDArray[np.intp]], "Array | float"]
"""Says from the edges of all segments what each inner one must reach, in standard errors."""


def strongest(segments: Segments, boundaries: Sequence[int]) -> list[int]:
    """Return the boundaries that are certain beside one another."""
    correlation = segments.noise.correlation
    return next(_left(segments, boundaries, [lambda edges: _by_place(edges, correlation)]))


def strongest_by(segments: Segments, boundaries: Sequence[int], bars: Sequence[float]) -> Iterator[list[int]]:
    """Yield for each of the ascending `bars`, in standard errors, the boundaries that reach it beside one another."""
    return _left(segments, boundaries, map(_everywhere, bars))


def certain_where_placed(segments: Segments, boundaries: Sequence[int]) -> list[int]:
    """Return the boundaries without those that are nowhere near certain at the very place where they lie."""
    return next(_left(segments, boundaries, [_everywhere(CERTAIN_WHERE_PLACED)]))


def _left(segments: Segments, boundaries: Sequence[int], bars: Iterable[Bar]) -> Iterator[list[int]]:
    """Yield the boundaries that are left by each of the bars, which ascend.

    In each turn those leave that are too weak and no stronger than their neighbours: far apart they do not touch one
    another, so that all of a turn may leave at once.
    """
    edges = np.array(segments.edges(boundaries))
    inner = _evidence(segments, edges)
    for bar in bars:
        while len(inner):
            worth = np.concatenate(([np.inf], inner, [np.inf]))
            leaves = (inner < bar(edges)) & (inner <= worth[:-2]) & (inner < worth[2:])
            if not leaves.any():
                break
            edges = edges[np.concatenate(([True], ~leaves, [True]))]
            inner = _evidence(segments, edges)
        yield edges[1:-1].tolist()


def _evidence(segments: Segments, edges: NDArray[np.intp]) -> Array:
    return segments.evidence(edges) if len(edges) > 2 else np.empty(0)


def _everywhere(bar: float) -> Bar:
    return lambda _: bar


def _by_place(edges: NDArray[np.intp], correlation: float) -> Array:
    """Return from how many standard errors on each inner edge stays, shape (len(edges) − 2,)."""
    bars, newest = np.full(len(edges) - 2, CERTAIN), edges[-1] - edges[-2]
    if edges[1] <= NEAR_END:
        bars[0] = CERTAIN_AT_ENDS
    if FEW <= newest <= AT_ONCE:
        bars[-1] = min(CERTAIN, CERTAIN_AT_ONCE + FOR_CORRELATION * max(0.0, correlation))
    elif newest <= NEAR_END:
        bars[-1] = CERTAIN_AT_ENDS
    return bars
