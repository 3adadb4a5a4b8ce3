"""The end of a history, as it is examined: its rows, the borders between commits, and what was found there.

A change begins with a commit, never between two results of one: results of one commit are points side by side, so that
more measurements of it weigh more, and what begins within them is moved to the nearer border of a commit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.analysis.detection import ChangePoint, Episode, Examination
from app.analysis.detection.exact import distance, examine_exact
from app.analysis.detection.incremental import examine_tail
from app.domain.changes import ChangeKind, ChangeState
from app.store.repositories.history import Point


@dataclass(frozen=True)
class Found:
    """A change or an episode that the examination shows, by commits and by rows of the whole history.

    It lasts, for its kind, from row `start` to `end_index`; `index` is the first point of the new regime.
    """

    kind: ChangeKind
    state: ChangeState
    start: int
    index: int
    end_index: int
    commit_id: int
    previous_commit_id: int
    end_commit_id: int
    result_id: int
    before: float | None
    after: float | None
    change: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None

    @property
    def is_rise(self) -> bool | None:
        """Whether the level rose; None for what is no change of level."""
        return None if self.before is None or self.after is None else self.after > self.before


@dataclass(frozen=True)
class Window:
    """Consecutive points of a history, up to its newest; `begin` is the row of the first."""

    begin: int
    points: Sequence[Point]

    @property
    def end(self) -> int:
        """The number of points of the whole history."""
        return self.begin + len(self.points)

    def commit(self, row: int) -> int:
        """Return the commit of a row; beyond the end that of the newest point."""
        return self.points[min(row, self.end - 1) - self.begin].commit_id

    def border(self, row: int) -> int | None:
        """Return the row nearest to `row` at which a commit begins with another before it; None if none is near.

        Of two borders as near the earlier one counts: the commit to blame is rather the one with doubtful results.
        """
        first = last = row
        while first > self.begin and self.commit(first - 1) == self.commit(row):
            first -= 1
        while last < self.end and self.commit(last) == self.commit(row):
            last += 1
        borders = [at for at in (first, last) if self.begin < at < self.end]
        return min(borders, key=lambda at: abs(at - row), default=None)


def find_changes(window: Window, *, exact: bool, minimum_effect: float, tolerance: float) -> list[Found]:
    """Return the changes and then the episodes of the window.

    Args:
        window: the points.
        exact: compare exactly, as long as the series behaves so.
        minimum_effect: changes of a smaller share are none.
        tolerance: of an exact metric (ln units).
    """
    if exact:
        starts, values = _one_a_commit(window)
        found = examine_exact(values, tolerance)
        if found is not None:
            return list(_located(window, _at_rows(found, [*starts, window.end]), exact=True))
    tail = np.array([point.value for point in window.points])
    found = examine_tail(tail, window.begin, minimum_effect=minimum_effect)
    return list(_located(window, found, exact=False))


def _one_a_commit(window: Window) -> tuple[list[int], list[float]]:
    """Return the first row and the value of every commit: of several results the one nearest the commit before.

    A commit one of whose results agrees with the level before has not changed a metric that the same code repeats.
    """
    starts: list[int] = []
    values: list[float] = []
    rows = enumerate(window.points, window.begin)
    for _, group in itertools.groupby(rows, key=lambda pair: pair[1].commit_id):
        of_commit = list(group)
        own = [point.value for _, point in of_commit]
        starts.append(of_commit[0][0])
        values.append(min(own, key=lambda value: distance(values[-1], value)) if values else own[0])
    return starts, values


def _at_rows(found: Examination, rows: Sequence[int]) -> Examination:
    """Return the examination of commits with rows in the place of their numbers."""
    return Examination(
        tuple(_moved(point, rows) for point in found.change_points),
        tuple(Episode(rows[e.start], rows[e.end], e.kind, e.size) for e in found.episodes),
        found.noise,
        found.relative,
    )


def _moved(point: ChangePoint, rows: Sequence[int]) -> ChangePoint:
    return replace(point, index=rows[point.index], start=rows[point.start], end=rows[point.end])


def _located(window: Window, found: Examination, *, exact: bool) -> Iterator[Found]:
    for point in found.change_points:
        index = window.border(point.index)
        if index is not None:
            yield _change(window, point, index, exact=exact)
    for episode in found.episodes:
        if window.begin < episode.start < window.end:
            yield _episode(window, episode)


def _change(window: Window, point: ChangePoint, index: int, *, exact: bool) -> Found:
    end = max(index, point.end) if point.kind == "ramp" else index
    return Found(
        kind=ChangeKind(point.kind),
        state=ChangeState(point.standing),
        start=min(point.start, index),
        index=index,
        end_index=end,
        commit_id=window.commit(index),
        previous_commit_id=window.commit(index - 1),
        end_commit_id=window.commit(end),
        result_id=window.points[index - window.begin].result_id,
        before=_finite(point.before),
        after=_finite(point.after),
        change=_finite(point.change),
        ci_low=_finite(point.ci_low),
        ci_high=_finite(point.ci_high),
        p_value=None if exact else _finite(point.p_value),
    )


def _episode(window: Window, episode: Episode) -> Found:
    return Found(
        kind=ChangeKind(episode.kind),
        state=ChangeState.EPISODE,
        start=episode.start,
        index=episode.start,
        end_index=episode.end,
        commit_id=window.commit(episode.start),
        previous_commit_id=window.commit(episode.start - 1),
        end_commit_id=window.commit(episode.end),
        result_id=window.points[episode.start - window.begin].result_id,
        before=None,
        after=None,
        change=_finite(episode.size),
    )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
