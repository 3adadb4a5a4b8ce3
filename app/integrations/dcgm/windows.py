"""Means over windows from samples that somebody took at moments of his own.

A sample tells of the time since the one before it: DCGM's profiling fields are averages over that time, and of a level
nothing better is known. It counts when that time lies in a window, so that what the device did before and after the run
stays out of the number, and the ends of a window that no such sample reaches are not covered. Nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

Window = tuple[float, float]
"""From and to, in seconds since 1970."""

Sample = tuple[float, float]
"""When [s since 1970] and how much."""

GAP = 1.5
"""More than so many intervals between two samples: one was missed, and the later tells of one interval only."""
INSIDE = 0.9
"""How much of its time must lie in a window for a sample to count; scrapes come some milliseconds early and late."""
RUNS_LEAST = 3
"""How many runs of equal values show that the exporter renews its values less often than it is scraped."""
RISING_LEAST = 10
"""So many values that all rise are a counter's: by chance it happens once in 3.6 million times."""


@dataclass(frozen=True)
class Piece:
    """What one sample says: a value for the time from `start` to `end`."""

    start: float
    end: float
    value: float


@dataclass(frozen=True)
class Kept:
    """A value and for how much of the windows it stands [s]."""

    seconds: float
    value: float


def united(windows: Iterable[Window]) -> list[Window]:
    """Return the windows in order, those that touch as one, empty ones left out."""
    together: list[Window] = []
    for start, end in sorted(window for window in windows if window[0] < window[1]):
        if together and start <= together[-1][1]:
            together[-1] = (together[-1][0], max(end, together[-1][1]))
        else:
            together.append((start, end))
    return together


def seconds_of(windows: Iterable[Window]) -> float:
    """Return how long the windows are together [s]."""
    return sum(end - start for start, end in windows)


def interval_of(samples: Sequence[Sample]) -> float | None:
    """Return the time from one sample to the next [s], None for fewer than two; samples missed do not change it."""
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(samples)]
    return median(gaps) if gaps else None


def renewed_every(samples: Sequence[Sample], interval_s: float) -> float | None:
    """Return how long values stay as they are [s] where the exporter renews them less often than it is scraped.

    Then every run of equal values is longer than one sample, or nearly every one; None where that is not so, or where
    too few values differ for it to be known.
    """
    changes = [moment for (_, before), (moment, value) in pairwise(samples) if value != before]
    runs = sorted(later - earlier for earlier, later in pairwise(changes))
    if len(runs) < RUNS_LEAST or runs[len(runs) // 4] < GAP * interval_s:
        return None
    return median(runs)


def first_sightings(samples: Sequence[Sample], renewed_s: float, interval_s: float) -> list[Sample]:
    """Return the samples at which the exporter had renewed its value; equal ones are a renewal apart."""
    kept = [samples[0]]
    for moment, value in samples[1:]:
        if value != kept[-1][1] or moment - kept[-1][0] > renewed_s - interval_s / 2:
            kept.append((moment, value))
    return kept


def is_rising(samples: Sequence[Sample]) -> bool:
    """Whether every value is above the one before, as a counter's and hardly ever a rate's are."""
    return len(samples) >= RISING_LEAST and all(a < b for (_, a), (_, b) in pairwise(samples))


def levels(samples: Sequence[Sample], interval_s: float) -> Iterator[Piece]:
    """Yield what each sample of a level says: its value since the sample before, of at most one interval in a gap."""
    before: float | None = None
    for moment, value in samples:
        near = before is not None and moment - before <= GAP * interval_s
        start = before if before is not None and near else moment - interval_s
        yield Piece(start, moment, value)
        before = moment


def rises(samples: Sequence[Sample]) -> tuple[list[Piece], list[Window]]:
    """Return a counter's rise per second between its samples, and between which it began anew.

    A gap loses nothing. Where it began anew, what came between the two samples is not known, and they tell nothing.
    """
    pieces, resets = [], []
    for (earlier, before), (later, after) in pairwise(samples):
        if after < before:
            resets.append((earlier, later))
        else:
            pieces.append(Piece(earlier, later, (after - before) / (later - earlier)))
    return pieces, resets


def touching(spans: Iterable[Window], windows: Sequence[Window]) -> int:
    """Return how many spans of time, or moments as spans without length, have to do with the windows."""
    return sum(any(begin <= end and start <= finish for start, end in windows) for begin, finish in spans)


def inside(pieces: Iterable[Piece], windows: Sequence[Window]) -> list[Kept]:
    """Return those pieces that lie in a window, each for the time that it has in it."""
    kept = []
    for piece in pieces:
        for start, end in windows:
            seconds = min(end, piece.end) - max(start, piece.start)
            if seconds >= INSIDE * (piece.end - piece.start):
                kept.append(Kept(seconds, piece.value))
                break
    return kept


def covered_by(kept: Iterable[Kept]) -> float:
    """Return how much time they stand for together [s]."""
    return sum(part.seconds for part in kept)


def total_of(kept: Iterable[Kept]) -> float:
    """Return the integral over the time that they stand for."""
    return sum(part.seconds * part.value for part in kept)


def share_with(kept: Sequence[Kept], bits: int) -> float:
    """Return the share of the time in which one of these bits is set in the value."""
    return sum(part.seconds for part in kept if int(part.value) & bits) / covered_by(kept)
