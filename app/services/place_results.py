"""New results get their places in the history of their branch, which is in the order of the commits.

In this order: results of a commit that is there already join it. A commit whose position in first-parent order is known
goes before the first that is known to be later. A commit whose child is there goes before that child. One whose results
are backdated goes before the first that was measured later, of those whose position does not tell. Any other is
the newest: without known ancestry, the order is that of arrival. A place that was given stays, whatever is learned of
the commit's parent later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.services.timeline import Timeline
from app.store.repositories import history
from app.store.repositories.history import Examined, Growth, Points, Unplaced


@dataclass(frozen=True)
class Placed:
    """A history that got points: its length now, and the first place before its end that got one (None: none did).

    `newest` are its last points; `has_recent_changes` says whether any change point of them is stored, or any
    suspicion.
    """

    branch: str
    length: int
    newest: Points
    inserted_at: float | None
    has_recent_changes: bool


def place_results(
    session: Session, series: Examined, results: Sequence[Unplaced], *, recent: int
) -> list[Placed]:
    """Place new results of the series; return what became of its histories, whose newest rows are `recent`."""
    by_branch: dict[str, list[Unplaced]] = defaultdict(list)
    for result in results:
        by_branch[result.branch].append(result)
    return [_Placing(session, series, branch, new).placed(recent) for branch, new in by_branch.items()]


class _Placing:
    """Places the new results of one branch. Appended ones are written together, as nearly all are."""

    def __init__(self, session: Session, series: Examined, branch: str, new: Sequence[Unplaced]) -> None:
        self._session, self._series, self._branch, self._new = session, series, branch, new
        self._places = dict(_known_places(new))
        self._end = new[0].last_place
        self._length = new[0].length + len(new)
        self._unwritten: dict[int, float] = {}
        self._line: Timeline | None = None

    def placed(self, recent: int) -> Placed:
        """Place all, and read the last points."""
        inserted = []
        for result in self._new:
            place = self._places.get(result.commit_id)
            if place is None:
                place = self._places[result.commit_id] = self._place(result)
                if self._line is not None:
                    self._line.add(place, result.moment)
            self._unwritten[result.result_id] = place
            if place < self._end:
                inserted.append(result.result_id)
        newest = history.keep_and_read(self._session, self._take_growth(), limit=recent)
        first = history.first_place(self._session, inserted)
        return Placed(self._branch, self._length, newest, first, self._new[0].has_recent_changes)

    def _place(self, result: Unplaced) -> float:
        later = self._first_later(result)
        if later is None:
            self._end += 1
            return self._end
        self._write()
        return self._before(later)

    def _first_later(self, result: Unplaced) -> float | None:
        """Return the place of the first commit that is known to be later than this one."""
        known = [self._places[child] for child in result.children or () if child in self._places]
        if result.position is None and (known or not result.is_backdated):
            return min(known, default=None)
        if self._line is None:
            self._write()
            self._line = Timeline(self._session, self._series.id, self._branch)
        return self._line.first_later(result)

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
        self._line = None
        self._places = history.places(self._session, its_id, self._branch, list(self._places))
        self._end = history.last_place(self._session, its_id, self._branch) or 0.0
        return later - 0.5

    def _write(self) -> None:
        if self._unwritten:
            history.keep(self._session, self._take_growth())

    def _take_growth(self) -> Growth:
        """Return what is to be written, once."""
        places, self._unwritten = self._unwritten, {}
        return Growth(self._series.id, self._branch, places, self._length, self._end)


def _known_places(new: Sequence[Unplaced]) -> Iterator[tuple[int, float]]:
    """Yield the places of the commits, and of their children, that have one."""
    for result in new:
        family = zip(result.children or (), result.children_places or (), strict=True)
        for commit_id, place in ((result.commit_id, result.place), *family):
            if place is not None:
                yield commit_id, place
