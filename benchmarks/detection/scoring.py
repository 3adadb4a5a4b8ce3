"""From alarms and truth to numbers: found, missed, false; per noise model and in all.

An alarm is a hit if it is within two points of a visible change that no nearer alarm took. Within two points of a
change that nobody could see it counts neither way. Everything else is a false alarm, the second alarm for one change
included. A ramp is found once by any alarm from two points before its start to two after its end; up to three more
alarms there are a staircase and count neither way. A reverting spike should raise none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.detection.generator import Series

TOLERANCE = 2
"""Points by which an alarm may miss a change, a ramp's or a spike's ends."""
RAMP_NEUTRAL = 3
"""Alarms on one ramp, beyond the first, that count neither way."""


@dataclass(frozen=True)
class Score:
    """Counts over series; scores add up."""

    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    ramps: int = 0
    ramps_found: int = 0
    spikes: int = 0
    spike_alarms: int = 0
    points: int = 0

    def __add__(self, other: Score) -> Score:
        """Return the counts of both."""
        return Score(*(a + b for a, b in zip(_counts(self), _counts(other), strict=True)))

    @property
    def precision(self) -> float:
        """Return the share of alarms that are hits; 1 without alarms."""
        alarms = self.hits + self.false_alarms
        return self.hits / alarms if alarms else 1.0

    @property
    def recall(self) -> float:
        """Return the share of visible changes that were hit; 1 without any."""
        changes = self.hits + self.misses
        return self.hits / changes if changes else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall: 2 hits / (2 hits + misses + false alarms)."""
        total = 2 * self.hits + self.misses + self.false_alarms
        return 2 * self.hits / total if total else 1.0

    @property
    def false_per_1000(self) -> float:
        """Return false alarms per 1000 points."""
        return 1000 * self.false_alarms / self.points if self.points else 0.0

    @property
    def ramps_share(self) -> float:
        """Return the share of visible ramps that were found."""
        return self.ramps_found / self.ramps if self.ramps else float("nan")

    @property
    def alarms_per_spike(self) -> float:
        """Return alarms at a reverting spike, per spike."""
        return self.spike_alarms / self.spikes if self.spikes else float("nan")


def _counts(score: Score) -> tuple[int, ...]:
    return tuple(vars(score).values())


def score(series: Series, alarms: Iterable[int], tolerance: int = TOLERANCE) -> Score:
    """Return the counts of one series.

    Args:
        series: with its truth.
        alarms: indices (0-based rows) of the first points of new regimes, in any order.
        tolerance: points by which an alarm may miss.
    """
    left = sorted(set(alarms))
    hits = _take_nearest(left, series.visible_changes if series.changes else (), tolerance)
    hidden = [at for at, seen in zip(series.changes, series.visible, strict=False) if not seen]
    left = [at for at in left if not any(abs(at - change) <= tolerance for change in hidden)]
    found = _take_ramps(left, series, tolerance)
    at_spikes = [at for at in left if _inside(at, series.spikes, tolerance)]
    ramps_seen = sum(series.visible) if series.ramps else 0
    return Score(
        hits=hits,
        misses=len(series.visible_changes) - hits if series.changes else 0,
        false_alarms=len(left) - len(at_spikes),
        ramps=ramps_seen,
        ramps_found=found,
        spikes=len(series.spikes),
        spike_alarms=len(at_spikes),
        points=len(series.values),
    )


def _take_nearest(alarms: list[int], changes: Sequence[int], tolerance: int) -> int:
    """Remove from `alarms` one for every change it hits, nearest pairs first, and return how many."""
    pairs = sorted((abs(a - c), c, a) for c in changes for a in alarms if abs(a - c) <= tolerance)
    taken_changes: set[int] = set()
    for _, change, alarm in pairs:
        if change not in taken_changes and alarm in alarms:
            taken_changes.add(change)
            alarms.remove(alarm)
    return len(taken_changes)


def _take_ramps(alarms: list[int], series: Series, tolerance: int) -> int:
    """Remove from `alarms` what lies on ramps, up to the neutral number, and return the visible ramps found."""
    found = 0
    for span, seen in zip(series.ramps, series.visible, strict=False):
        on = [at for at in alarms if _inside(at, [span], tolerance)]
        for at in on[: 1 + RAMP_NEUTRAL]:
            alarms.remove(at)
        found += bool(on and seen)
    return found


def _inside(at: int, spans: Iterable[tuple[int, int]], tolerance: int) -> bool:
    return any(start - tolerance <= at <= end + tolerance for start, end in spans)


def total(scores: Iterable[Score]) -> Score:
    """Return the sum."""
    return sum(scores, start=Score())


def by_noise(scored: Iterable[tuple[Series, Score]]) -> dict[str, Score]:
    """Return the sum per noise model."""
    groups: dict[str, Score] = {}
    for series, one in scored:
        groups[series.noise] = groups.get(series.noise, Score()) + one
    return groups
