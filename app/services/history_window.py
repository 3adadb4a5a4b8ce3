"""The end of a history, as it is examined: its rows, the borders between commits, and what was found there.

A change begins with a commit, never between two results of one: results of one commit are points side by side, so that
more measurements of it weigh more, and what begins within them is moved to the nearer border of a commit. Of several
that come to begin with one commit only what they amount to is a change.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.analysis.detection import ChangePoint, Episode, Examination
from app.analysis.detection.exact import distance, examine_exact
from app.analysis.detection.incremental import examine_tail
from app.domain.changes import ChangeKind, ChangeState
from app.store.repositories.history import Points


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
    points: Points

    @property
    def end(self) -> int:
        """The number of points of the whole history."""
        return self.begin + len(self.points.values)

    def commit(self, row: int) -> int:
        """Return the commit of a row; beyond the end that of the newest point."""
        return self.points.commit_ids[min(row, self.end - 1) - self.begin]

    def result(self, row: int) -> int:
        """Return the result that is the point of a row."""
        return self.points.result_ids[row - self.begin]

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
            at_rows = _at_rows(found, [*starts, window.end])
            return list(_located(window, at_rows, exact=True, minimum_effect=0.0))
    tail = np.array(window.points.values)
    found = examine_tail(tail, window.begin, minimum_effect=minimum_effect)
    return list(_located(window, found, exact=False, minimum_effect=minimum_effect))


def _one_a_commit(window: Window) -> tuple[list[int], list[float]]:
    """Return the first row and the value of every commit: of several results the one nearest the commit before.

    A commit one of whose results agrees with the level before has not changed a metric that the same code repeats.
    """
    starts: list[int] = []
    values: list[float] = []
    for _, group in itertools.groupby(range(window.begin, window.end), key=window.commit):
        rows = list(group)
        own = [window.points.values[row - window.begin] for row in rows]
        starts.append(rows[0])
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


def _located(window: Window, found: Examination, *, exact: bool, minimum_effect: float) -> Iterator[Found]:
    at = [(window.border(point.index), point) for point in found.change_points]
    for index, group in itertools.groupby(at, key=lambda pair: pair[0]):
        points = [point for _, point in group]
        if index is not None and (len(points) == 1 or _is_change(points, found.noise, minimum_effect)):
            yield _change(window, functools.reduce(_together, points), index, exact=exact)
    for episode in found.episodes:
        if window.begin < episode.start < window.end:
            yield _episode(window, episode)


def _together(first: ChangePoint, second: ChangePoint) -> ChangePoint:
    """Return two changes in a row as one, from the level before the first to the one after the second.

    Its interval is the product of theirs: too wide rather than too narrow, as the level between them is in both.
    """
    is_ratio = first.change is not None and second.change is not None and first.before * second.after > 0
    return replace(
        second,
        start=min(first.start, second.start),
        before=first.before,
        change=second.after / first.before - 1 if is_ratio else None,
        ci_low=_compounded(first.ci_low, second.ci_low),
        ci_high=_compounded(first.ci_high, second.ci_high),
        p_value=max(first.p_value, second.p_value),
        kind="ramp" if "ramp" in (first.kind, second.kind) else "step",
        standing=second.standing if first.standing == "confirmed" else first.standing,
    )


def _compounded(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else (1 + first) * (1 + second) - 1


def _is_change(points: Sequence[ChangePoint], noise: float | None, minimum_effect: float) -> bool:
    """Tell whether changes that begin with one commit amount to one, and do not take each other back."""
    net = functools.reduce(_together, points)
    if net.change is None or net.ci_low is None or net.ci_high is None:
        return abs(net.after - net.before) > (noise or 0.0)
    return abs(net.change) >= minimum_effect and not net.ci_low <= 0.0 <= net.ci_high


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
        result_id=window.result(index),
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
        result_id=window.result(episode.start),
        before=None,
        after=None,
        change=_finite(episode.size),
    )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
