"""Where in a history a commit belongs whose position is known, or whose results say when they were measured.

Nearly every commit is the newest, also while years are brought along oldest first; that is told from the newest moments
alone. The whole history is read only for one that is not, and is then searched by the largest position, and the latest
time, up to each place: these never fall, and the first that is larger than a commit's belongs to the first later one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from sqlalchemy.orm import Session

from app.store.repositories import history
from app.store.repositories.history import Moment, Unplaced

_LEAST = float("-inf")


class Timeline:
    """The moments of a history's commits: those that are stored, and those that `add` tells of."""

    def __init__(self, session: Session, series_id: int, branch: str) -> None:
        self._session, self._series_id, self._branch = session, series_id, branch
        self._newest = history.newest_moments(session, series_id, branch)
        self._moments: dict[float, Moment] = {}
        self._has_stored = False
        self._index: _Index | None = None

    def first_later(self, new: Unplaced) -> float | None:
        """Return the place of the first commit that is known to be later than the new one; None without any."""
        if not any(is_later(moment, new) for moment in self._newest):
            return None
        return self._indexed().first_later(new)

    def last_before(self, place: float) -> float | None:
        """Return the last place before this one; None without any."""
        return self._indexed().last_before(place)

    def add(self, place: float, moment: Moment) -> None:
        """Take note of a commit that got a place."""
        self._newest = _newest([*self._newest, moment])
        self._moments[place] = moment
        self._index = None

    def _indexed(self) -> _Index:
        if not self._has_stored:
            stored = history.moments(self._session, self._series_id, self._branch)
            self._moments = dict(stored) | self._moments
            self._has_stored = True
        if self._index is None:
            self._index = _Index(self._moments)
        return self._index


class _Index:
    """Places in order, each with the largest of what is known up to it."""

    def __init__(self, moments: dict[float, Moment]) -> None:
        self._places = sorted(moments)
        ordered = [moments[place] for place in self._places]
        self._positions = _highest([_LEAST if m.position is None else float(m.position) for m in ordered])
        self._times = _highest([m.time.timestamp() for m in ordered])
        self._loose_times = _highest([m.time.timestamp() if m.position is None else _LEAST for m in ordered])

    def first_later(self, new: Unplaced) -> float | None:
        """Return the place of the first commit that is later than the new one; None without any."""
        firsts = []
        if new.position is not None:
            firsts.append(bisect_right(self._positions, new.position))
        if new.is_backdated:
            times = self._times if new.position is None else self._loose_times
            firsts.append(bisect_right(times, new.measured_at.timestamp()))
        first = min(firsts, default=len(self._places))
        return self._places[first] if first < len(self._places) else None

    def last_before(self, place: float) -> float | None:
        """Return the last place before this one; None without any."""
        before = bisect_left(self._places, place)
        return self._places[before - 1] if before else None


def is_later(moment: Moment, new: Unplaced) -> bool:
    """Tell whether it is known: by position where both have one, else by time where the new one's says something."""
    if moment.position is not None and new.position is not None:
        return moment.position > new.position
    return new.is_backdated and moment.time > new.measured_at


def _highest(values: Sequence[float]) -> list[float]:
    return list(accumulate(values, max))


def _newest(moments: list[Moment]) -> list[Moment]:
    """Return moments that none of the given is later than, one with a position and one without."""
    known = [moment for moment in moments if moment.position is not None]
    loose = [moment for moment in moments if moment.position is None]
    last = max((moment.position for moment in known if moment.position is not None), default=None)
    return [
        Moment(position, max(moment.time for moment in some))
        for position, some in ((last, known), (None, loose))
        if some
    ]
