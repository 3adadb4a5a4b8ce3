"""Where in a history a commit belongs whose position is known, or whose results say when they were measured.

Nearly every commit is the newest, also while years are brought along oldest first; that is told from the newest moments
alone. The whole history is read only for one that is not.
"""

from __future__ import annotations

from bisect import insort

from sqlalchemy.orm import Session

from app.store.repositories import history
from app.store.repositories.history import Moment, Unplaced


class Timeline:
    """The moments of a history's commits: those that are stored, and those that `add` tells of."""

    def __init__(self, session: Session, series_id: int, branch: str) -> None:
        self._session, self._series_id, self._branch = session, series_id, branch
        self._newest = history.newest_moments(session, series_id, branch)
        self._added: list[tuple[float, Moment]] = []
        self._all: list[tuple[float, Moment]] | None = None

    def first_later(self, new: Unplaced) -> float | None:
        """Return the place of the first commit that is known to be later than the new one; None without any."""
        if not any(_is_later(moment, new) for moment in self._newest):
            return None
        if self._all is None:
            stored = history.moments(self._session, self._series_id, self._branch)
            self._all = sorted(
                {place: moment for place, moment in (*stored, *self._added)}.items(), key=_place
            )
        return next((place for place, moment in self._all if _is_later(moment, new)), None)

    def add(self, place: float, moment: Moment) -> None:
        """Take note of a commit that got a place."""
        self._newest.append(moment)
        self._newest = _newest(self._newest)
        if self._all is None:
            self._added.append((place, moment))
        else:
            insort(self._all, (place, moment), key=_place)


def _is_later(moment: Moment, new: Unplaced) -> bool:
    """Tell whether it is known: by position where both have one, else by time where the new one's says something."""
    if moment.position is not None and new.position is not None:
        return moment.position > new.position
    return new.is_backdated and moment.time > new.measured_at


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


def _place(entry: tuple[float, Moment]) -> float:
    return entry[0]
