"""What an examination shows, held against what is stored of the history's changes.

A suspicion is the same change as long as its place moves by a few points; it is updated in place until it is
confirmed, withdrawn, or understood as an episode. A confirmed change keeps its numbers. What turns out otherwise (a
ramp that began like a step, an exact metric's spike, a commit that turned up in between or was measured anew) is a row
of its own that corrects it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from sqlalchemy.orm import Session

from app.domain.changes import MEASURED_NO_CHANGE, STANDING, WITHIN_CHANCE, ChangeKind, ChangeState
from app.services.change_settled import change_settled
from app.services.confirm_once import OTHERWISE, confirm_once, correct, is_rise
from app.services.history_window import Found
from app.services.machine_cause import machine_cause
from app.services.weigh_change import is_beyond_chance
from app.store.repositories import changes, clock
from app.store.repositories.history import Examined
from app.store.tables import ChangePoint

SAME = 5
"""Rows within which a change that is found is the one that is stored."""

_PLACE = ("index", "end_index", "commit_id", "previous_commit_id", "end_commit_id", "result_id")
_NUMBERS = ("kind", "before", "after", "change", "ci_low", "ci_high", "p_value")


def track_changes(
    session: Session,
    series: Examined,
    branch: str,
    found: Sequence[Found],
    stored: Sequence[ChangePoint],
    *,
    late: bool,
) -> list[ChangePoint]:
    """Store what the examination shows and return the suspicions that stand now.

    Args:
        session: the session; the series is locked.
        series: the examined series.
        branch: whose history it is.
        found: the changes and episodes that its end shows.
        stored: the history's rows about what was looked at, in any state.
        late: a point was put between older ones, so that even confirmed changes may begin elsewhere.
    """
    tracking = _Tracking(session, series, branch, found, stored, late=late)
    tracking.keep_confirmed([row for row in stored if row.state == ChangeState.CONFIRMED])
    tracking.weigh_new()
    tracking.update_suspected([row for row in stored if row.state == ChangeState.SUSPECTED])
    tracking.add_new(stored)
    session.flush()
    return tracking.suspicions


class _Tracking:
    def __init__(
        self,
        session: Session,
        series: Examined,
        branch: str,
        found: Sequence[Found],
        stored: Sequence[ChangePoint],
        *,
        late: bool,
    ) -> None:
        self._session, self._series, self._branch = session, series, branch
        self._left = list(found)
        self._late = late
        self._refuted = {
            (row.previous_commit_id, row.commit_id) for row in stored if row.reason == MEASURED_NO_CHANGE
        }
        self.suspicions: list[ChangePoint] = []

    @cached_property
    def _now(self) -> datetime:
        return clock.now(self._session)

    def keep_confirmed(self, rows: Iterable[ChangePoint]) -> None:
        """Take what is confirmed already out of what was found, or correct it."""
        matches: dict[int, tuple[Found, list[ChangePoint]]] = {}
        unmatched = []
        for row in rows:
            match = self._match(row)
            if match is None:
                unmatched.append(row)
                continue
            matches.setdefault(id(match), (match, []))[1].append(row)
        for match, its_rows in matches.values():
            self._left.remove(match)
            if self._is_other(match, its_rows):
                self._correct(match, its_rows)
        for row in unmatched:
            self._correct_unmatched(row)

    def _is_other(self, match: Found, rows: list[ChangePoint]) -> bool:
        """Tell whether the rows are to be replaced: by the ramp that they are part of, or by another commit."""
        if match.state != ChangeState.CONFIRMED:
            return False
        is_new_ramp = match.kind == ChangeKind.RAMP and all(row.kind != ChangeKind.RAMP for row in rows)
        return is_new_ramp or (self._late and all(row.commit_id != match.commit_id for row in rows))

    def _correct_unmatched(self, row: ChangePoint) -> None:
        """Correct a row whose commit turned out to have a spike, or a change the other way."""
        found = next(
            (
                f
                for f in self._left
                if f.commit_id == row.commit_id
                and (f.kind == ChangeKind.SPIKE or f.state == ChangeState.CONFIRMED)
            ),
            None,
        )
        if found is not None:
            self._left.remove(found)
            self._correct(found, [row])

    def _correct(self, found: Found, rows: list[ChangePoint]) -> None:
        for row in rows:
            correct(self._session, row, _why_corrected(row, found))
        self._add(found, corrects=rows[0])

    def weigh_new(self) -> None:
        """Take what would be confirmed now as suspected while it is not beyond chance among its commit's series."""
        self._left = [self._weighed(found) for found in self._left]

    def _weighed(self, found: Found) -> Found:
        if found.state != ChangeState.CONFIRMED or is_beyond_chance(
            self._session, self._series.project_id, self._series.id, self._branch, found
        ):
            return found
        return replace(found, state=ChangeState.SUSPECTED)

    def update_suspected(self, rows: Iterable[ChangePoint]) -> None:
        """Bring suspicions up to date: still suspected, confirmed, understood as an episode, or withdrawn."""
        for row in rows:
            match = self._spike_at(row) or self._match(row)
            if match is None:
                self._withdraw(row)
                continue
            self._left.remove(match)
            commits = row.previous_commit_id, row.commit_id
            for name in _NUMBERS if self._is_pinned(row, match) else (*_PLACE, *_NUMBERS):
                setattr(row, name, getattr(match, name))
            if (row.previous_commit_id, row.commit_id) != commits:
                row.request_id, row.reason = None, WITHIN_CHANCE  # what was asked for was about other commits
            row.examined_at = self._now
            self._label(row, match)
            if match.state == ChangeState.CONFIRMED:
                confirm_once(self._session, row, "confirmed by later points")
            elif match.state == ChangeState.EPISODE:
                row.state, row.closed_at, row.reason = match.state, self._now, "it reverted"
            else:
                self._suspect(row)

    def _suspect(self, row: ChangePoint) -> None:
        """Remember a suspicion that somebody is to be asked about; that of a machine is none."""
        if row.label is None:
            self.suspicions.append(row)

    def _label(self, row: ChangePoint, found: Found) -> None:
        """Say of a change that is not settled whether it is the machine's, as far as is known by now."""
        cause, was = machine_cause(self._session, self._series, self._branch, found), row.label
        row.label, row.evidence = cause if cause is not None else (None, None)
        if row.state != ChangeState.SUSPECTED or row.request_id is not None:
            return
        if row.label is not None:
            row.reason = None  # nobody is to be asked, so whether it is beyond chance is no matter
        elif was is not None:
            row.reason = WITHIN_CHANCE

    def _is_pinned(self, row: ChangePoint, match: Found) -> bool:
        """Tell whether the row keeps its commits: those that are measured for it, or others that were and are alike."""
        is_measured = (
            match.state == ChangeState.SUSPECTED and row.request_id is not None and row.reason is None
        )
        return is_measured or (match.previous_commit_id, match.commit_id) in self._refuted

    def _withdraw(self, row: ChangePoint) -> None:
        row.state, row.closed_at, row.examined_at = ChangeState.WITHDRAWN, self._now, self._now
        row.reason = "not seen any more with the points that followed"

    def add_new(self, stored: Sequence[ChangePoint]) -> None:
        """Store what was found and is nowhere stored."""
        episodes = [row for row in stored if row.state not in STANDING and row.kind in ("spike", "variance")]
        for found in self._left:
            is_episode = found.state == ChangeState.EPISODE
            if is_episode and any(_overlap(row, found) for row in episodes):
                continue
            if not is_episode and (found.previous_commit_id, found.commit_id) in self._refuted:
                continue
            if not is_episode and self._is_told(found):
                continue
            row = self._add(found)
            if row.state == ChangeState.SUSPECTED:
                self._suspect(row)

    def _is_told(self, found: Found) -> bool:
        """Tell whether its commit has this change already, in a row that may be too old to be held against it."""
        told = self._confirmed_at(found)
        return told is not None and is_rise(told) == found.is_rise

    def _confirmed_at(self, found: Found) -> ChangePoint | None:
        return changes.confirmed_at(self._session, self._series.id, self._branch, found.commit_id)

    def _add(self, found: Found, *, corrects: ChangePoint | None = None) -> ChangePoint:
        is_confirmed, is_episode = (found.state == s for s in (ChangeState.CONFIRMED, ChangeState.EPISODE))
        if is_confirmed and (told := self._confirmed_at(found)) is not None:
            correct(self._session, told, _why_corrected(told, found))
            corrects = corrects or told
        at_first_sight = "seen so at first sight" if is_confirmed and corrects is None else None
        row = ChangePoint(
            project_id=self._series.project_id,
            series_id=self._series.id,
            branch=self._branch,
            state=found.state,
            corrects_id=corrects.id if corrects else None,
            reason=WITHIN_CHANCE if found.state == ChangeState.SUSPECTED else at_first_sight,
            confirmed_at=self._now if is_confirmed else None,
            closed_at=self._now if is_episode else None,
            **{name: getattr(found, name) for name in (*_PLACE, *_NUMBERS)},
        )
        if not is_episode:
            self._label(row, found)
        self._session.add(row)
        self._session.flush()
        if is_confirmed:
            change_settled(self._session, row)
        return row

    def _match(self, row: ChangePoint) -> Found | None:
        """Return the change found that this row is about: it overlaps, moves the same way, and is the nearest."""
        near = [f for f in self._left if f.is_rise is is_rise(row) and _overlap(row, f)]
        return min(near, key=lambda f: abs(f.index - row.index), default=None)

    def _spike_at(self, row: ChangePoint) -> Found | None:
        return next((f for f in self._left if f.kind == ChangeKind.SPIKE and _overlap(row, f)), None)


def _why_corrected(row: ChangePoint, found: Found) -> str:
    if found.is_rise is not None and found.is_rise != is_rise(row):
        return OTHERWISE
    if found.kind != row.kind:
        return f"it is a {found.kind}, told by a row of its own"
    return "it begins with another commit, told by a row of its own"


def _overlap(row: ChangePoint, found: Found) -> bool:
    return row.index - SAME <= found.end_index and found.start <= row.end_index + SAME
