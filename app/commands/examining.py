"""The series of a file examined on all cores, with a line of progress where somebody waits at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from app.analysis.detection import examine
from app.analysis.detection.results import Examination
from app.commands.all_cores import mapped, n_cores
from app.formats.history_csv import Histories

FORK_FROM_POINTS = 20_000
"""With fewer points than this, starting processes takes longer than they save."""

SERIES_IN_POINTS = 150
"""What a series costs besides its points, as a number of points."""

CHUNKS_PER_PROCESS = 16
"""So many that all cores are busy to the end, and few enough that sending results costs nothing."""

_PATIENCE_S = 0.5


def examine_all(histories: Histories, minimum_effect: float) -> Iterator[list[Examination]]:
    """Yield what is found in the series, in the order of the file, some at a time."""

    def work(bounds: tuple[int, int]) -> list[Examination]:
        return [_examine(histories, index, minimum_effect) for index in range(*bounds)]

    cost = histories.sizes + SERIES_IN_POINTS
    n_processes = n_cores() if cost.sum() >= FORK_FROM_POINTS else 1
    progress = Progress(len(histories), sys.stderr)
    try:
        for found in mapped(work, chunks(cost, n_processes), n_processes=n_processes):
            progress.clear()
            yield found
            progress.add(len(found))
    finally:
        progress.clear()


def chunks(cost: NDArray[np.int64], n_processes: int) -> list[tuple[int, int]]:
    """Return ranges of series, half-open, that cost about the same each; `cost` has shape (n_series,)."""
    total = np.cumsum(cost)
    marks = np.linspace(0, total[-1] if len(total) else 0, n_processes * CHUNKS_PER_PROCESS + 1)
    ends = dict.fromkeys(np.minimum(np.searchsorted(total, marks[1:]) + 1, len(cost)).tolist())
    return list(pairwise([0, *ends])) if len(cost) else []


def _examine(histories: Histories, index: int, minimum_effect: float) -> Examination:
    rows = histories.rows(index)
    return examine(histories.values[rows], histories.x[rows], minimum_effect=minimum_effect)


class Progress:
    """A line on a terminal that says how far the work is, once it takes longer than a moment."""

    def __init__(self, total: int, out: TextIO | None, now: Callable[[], float] = time.monotonic) -> None:
        self._total, self._done = total, 0
        self._out = out if out is not None and out.isatty() else None
        self._now, self._begun = now, now()
        self._drawn = ""

    def add(self, number: int) -> None:
        """Note that so many more series are done."""
        self._done += number
        if self._out and self._done < self._total and self._now() - self._begun > _PATIENCE_S:
            self._drawn = f"examined {self._done} of {self._total} series"
            self._write(f"\r{self._drawn}")

    def clear(self) -> None:
        """Take the line away, so that results can be printed."""
        if self._drawn:
            self._write(f"\r{' ' * len(self._drawn)}\r")
            self._drawn = ""

    def _write(self, text: str) -> None:
        assert self._out is not None
        self._out.write(text)
        self._out.flush()
