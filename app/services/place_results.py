"""New results get their places in the history of their branch, which is in the order of the commits.

In this order: results of a commit that is there already join it. A commit whose position in first-parent order is known
goes before the first that is known to be later. A commit whose child is there goes before that child. Any other is
the newest: without known ancestry, the order is that of arrival. A place that was given stays, whatever is learned of
the commit's parent later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.store.repositories import history
from app.store.repositories.history import Unplaced
from app.store.tables import Series

MOST = 10_000
"""Results placed in one go; any others follow in the next."""


@dataclass(frozen=True)
class Placed:
    """A history that got points: its length now, and the first place before its end that got one (None: none did)."""

    branch: str
    length: int
    inserted_at: float | None


def place_results(session: Session, series: Series) -> list[Placed]:
    """Place the new results of the series, whose row is locked; return what became of its histories."""
    by_branch: dict[str, list[Unplaced]] = defaultdict(list)
    for result in history.unplaced(session, series.id, MOST):
        by_branch[result.branch].append(result)
    return [_Placing(session, series, branch, new).placed() for branch, new in by_branch.items()]


class _Placing:
    """Places the new results of one branch. Appended ones are written together, as nearly all are."""

    def __init__(self, session: Session, series: Series, branch: str, new: Sequence[Unplaced]) -> None:
        self._session, self._series, self._branch, self._new = session, series, branch, new
        self._places, self._children = history.family(session, series, branch, new)
        self._end = new[0].last_place
        self._unwritten: dict[int, float] = {}

    def placed(self) -> Placed:
        """Place all."""
        inserted = []
        for result in self._new:
            place = self._places.get(result.commit_id)
            if place is None:
                place = self._places[result.commit_id] = self._place(result)
            self._unwritten[result.result_id] = place
            if place < self._end:
                inserted.append(result.result_id)
        self._write()
        length = self._new[0].length + len(self._new)
        history.keep(self._session, self._series.id, self._branch, length, self._end)
        return Placed(self._branch, length, history.first_place(self._session, inserted))

    def _place(self, result: Unplaced) -> float:
        later = self._first_later(result)
        if later is None:
            self._end += 1
            return self._end
        self._write()
        return self._before(later)

    def _first_later(self, result: Unplaced) -> float | None:
        """Return the place of the first commit that is known to be later than this one."""
        if result.position is not None:
            self._write()
            return history.first_place_after_position(
                self._session, self._series.id, self._branch, result.position
            )
        known = [self._places[c] for c in self._children.get(result.sha, ()) if c in self._places]
        return min(known, default=None)

    def _before(self, later: float) -> float:
        """Return a place right before `later`, which is made room for if there is none."""
        its_id = self._series.id
        before = history.last_place(self._session, its_id, self._branch, before=later)
        if before is None:
            return later - 1
        middle = before + (later - before) / 2
        if before < middle < later:
            return middle
        later = history.spread(self._session, its_id, self._branch, later)
        known = {*self._places, *(c for ids in self._children.values() for c in ids)}
        self._places = history.places(self._session, its_id, self._branch, known)
        self._end = history.last_place(self._session, its_id, self._branch) or 0.0
        return later - 0.5

    def _write(self) -> None:
        if self._unwritten:
            history.put(self._session, self._unwritten)
            self._unwritten = {}
