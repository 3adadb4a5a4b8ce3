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
from itertools import islice, pairwise

from sqlalchemy.orm import Session

from app.services.timeline import Timeline, is_later
from app.store.repositories import history
from app.store.repositories.history import Examined, Growth, Points, Unplaced


@dataclass(frozen=True)
class Placed:
    """A history that got points: its length now, and how many of them are new.

    `inserted_at` is the first place before its end that got one (None: none did). `newest` are its last points;
    `has_recent_changes` says whether any change point of them is stored, or any suspicion.
    """

    branch: str
    length: int
    n_new: int
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
    """Places the new results of one branch. Appended ones are written together, as nearly all are.

    So are those that the timeline puts between two others, one after the other: years that are brought along later.
    """

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
        for index, result in enumerate(self._new):
            if result.commit_id not in self._places:
                self._place(index)
            place = self._places[result.commit_id]
            self._unwritten[result.result_id] = place
            if place < self._end:
                inserted.append(result.result_id)
        newest = history.keep_and_read(self._session, self._take_growth(), limit=recent)
        first = history.first_place(self._session, inserted)
        return Placed(
            self._branch, self._length, len(self._new), newest, first, self._new[0].has_recent_changes
        )

    def _place(self, index: int) -> None:
        """Give the commit of a new result its place, and those that follow theirs where they go to the same gap."""
        result = self._new[index]
        later = self._first_later(result)
        if later is None:
            self._end += 1
            self._take([result], [self._end])
        elif self._line is not None and self._is_timed(result):
            run = self._run(index, later, self._line)
            self._take(run, self._between(self._line.last_before(later), later, len(run)))
        else:
            self._write()
            self._take([result], [self._before(later)])

    def _take(self, results: Sequence[Unplaced], places: Sequence[float]) -> None:
        for result, place in zip(results, places, strict=True):
            self._places[result.commit_id] = place
            if self._line is not None:
                self._line.add(place, result.moment)

    def _first_later(self, result: Unplaced) -> float | None:
        """Return the place of the first commit that is known to be later than this one."""
        if not self._is_timed(result):
            return min(self._children(result), default=None)
        if self._line is None:
            self._write()
            self._line = Timeline(self._session, self._series.id, self._branch)
        return self._line.first_later(result)

    def _is_timed(self, result: Unplaced) -> bool:
        return result.position is not None or (result.is_backdated and not self._children(result))

    def _children(self, result: Unplaced) -> list[float]:
        return [self._places[child] for child in result.children or () if child in self._places]

    def _run(self, index: int, later: float, line: Timeline) -> list[Unplaced]:
        """Return this result and those after it, one of each commit, that go before the same place, in their order."""
        run, taken = [self._new[index]], {self._new[index].commit_id}
        for one in islice(self._new, index + 1, None):
            if one.commit_id in self._places or one.commit_id == run[-1].commit_id:
                continue
            if not self._is_timed(one) or is_later(run[-1].moment, one) or line.first_later(one) != later:
                break
            if one.position is None and not taken.isdisjoint(one.children or ()):
                break
            run.append(one)
            taken.add(one.commit_id)
        return run

    def _between(self, before: float | None, later: float, n: int) -> list[float]:
        """Return `n` places, ascending, between two; room is made for them if there is none."""
        if before is None:
            return [later - n + i for i in range(n)]
        places = [before + (later - before) * (i + 1) / (n + 1) for i in range(n)]
        if all(one < other for one, other in pairwise((before, *places, later))):
            return places
        self._write()
        later = self._spread(later)
        return [later - 1 + (i + 1) / (n + 1) for i in range(n)]

    def _before(self, later: float) -> float:
        """Return a place right before `later`, which is made room for if there is none."""
        its_id = self._series.id
        before = history.last_place(self._session, its_id, self._branch, before=later)
        if before is None:
            return later - 1
        middle = before + (later - before) / 2
        if before < middle < later:
            return middle
        return self._spread(later) - 0.5

    def _spread(self, later: float) -> float:
        """Make room everywhere in the history, all of which is written; return the new place for `later`."""
        its_id = self._series.id
        later = history.spread(self._session, its_id, self._branch, later)
        self._line = None
        self._places = history.places(self._session, its_id, self._branch, list(self._places))
        self._end = history.last_place(self._session, its_id, self._branch) or 0.0
        return later

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
