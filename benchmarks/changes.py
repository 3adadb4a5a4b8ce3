"""Change points and comparisons from values, in small: accuracy on validation series, and speed.

Side by side with peers and in full: `python -m benchmarks.detection`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from app.analysis.comparison import compare
from app.analysis.detection import examine
from benchmarks.detection.checks import CheckCell, make_check
from benchmarks.detection.comparers import benchmarks_of
from benchmarks.detection.generator import Series, corpus
from benchmarks.detection.scoring import Score, score, total
from benchmarks.figure import Figure

FAMILY, SEED = "validation", 1
LENGTHS = (60, 250, 1000)
REPEATS = 3


def _found(series: Series) -> Score:
    points = examine(series.values, series.x).change_points
    return score(series, [point.index for point in points])


def _seconds(action: Callable[[], object]) -> float:
    """Return the processor's time of an action, the best of several."""
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        action()
        times.append(time.process_time() - begun)
    return min(times)


def figures() -> Iterator[Figure]:
    """Yield accuracy, then speed; seconds are the processor's, over the two cores that the limit is for."""
    steps, flat = (
        total(map(_found, corpus(FAMILY, SEED, kinds=(kind,), lengths=LENGTHS))) for kind in ("steps", "flat")
    )
    yield Figure("change points: 1 − F1, validation noise", 1 - steps.f1, 0.12, "")
    yield Figure("change points: false alarms per 1000 flat commits", flat.false_per_1000, 0.5, "")
    long = list(corpus(FAMILY, SEED, kinds=("steps",), lengths=(1000,)))
    seconds = _seconds(lambda: [examine(series.values, series.x) for series in long])
    yield Figure("change points: 1000 series of 1000 points", 1000 * seconds / len(long) / 2, 2, "s")
    check = benchmarks_of(make_check(CheckCell(FAMILY, "usual", True, 0)))
    yield Figure("comparison: a check of 200 cases", 1000 * _seconds(lambda: compare(check)), 50, "ms")
