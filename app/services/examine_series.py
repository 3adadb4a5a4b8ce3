"""A series has new results: its histories are examined again, and what that shows is stored.

Only the end of a history is looked at (`app.analysis.detection.incremental`), unless a point was put between points
that lie before it. Of many points that came at once, as an import's do, it is as much as if they had come one by one:
what lies in years that are brought along is found however they come. One process at a time examines a series.
Examining it again without new results changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.analysis.detection.incremental import MARGIN, STRIDE, TAIL, begin_of_tail
from app.config import ServiceSettings
from app.domain.changes import ChangeState
from app.services.confirm_change import ask_to_confirm, settle_by_measurement
from app.services.history_window import Window, find_changes
from app.services.place_results import Placed, place_results
from app.services.thresholds import thresholds_of
from app.services.track_changes import SAME, track_changes
from app.store.repositories import changes, clock, history
from app.store.repositories.history import Examined, Points
from app.store.tables import ChangePoint

MOST = 10_000
"""Results placed in one go; any others follow in the next."""

_RECENT = TAIL + STRIDE + SAME
"""Rows at the end of a history that an append has looked at."""

_CONTEXT = 50
"""Points before one that was put between others, from which on the history is examined again."""


def examine_series(session: Session, settings: ServiceSettings, series_id: int) -> None:
    """Place the new results of the series, examine what they touch, and ask for what would settle a suspicion."""
    due = history.lock_with_unplaced(session, series_id, MOST, recent=_RECENT)
    if due is None:
        return
    series, results = due
    for placed in place_results(session, series, results, recent=_RECENT):
        _examine(session, settings, series, placed)


def _examine(session: Session, settings: ServiceSettings, series: Examined, placed: Placed) -> None:
    branch, n, earliest = placed.branch, placed.length, None
    if placed.inserted_at is not None:
        _renumber(session, series, branch)
        earliest = history.row_of_place(session, series.id, branch, placed.inserted_at)
    begin, stored = _begin(session, series, placed, earliest)
    window = Window(begin, _points(session, series, placed, n - begin))
    _settle_measured(session, stored)
    thresholds = thresholds_of(session, series, window.points.run_ids[-1])
    found = find_changes(
        window,
        exact=thresholds.exact,
        minimum_effect=thresholds.minimum_effect,
        tolerance=thresholds.tolerance_ln,
    )
    found = [its for its in found if its.state != ChangeState.SUSPECTED or its.index >= _first_told(n)]
    suspicions = track_changes(
        session, series, branch, found, stored, late=earliest is not None and earliest < n - 1
    )
    for suspicion in suspicions:
        ask_to_confirm(session, settings, suspicion)


def _points(session: Session, series: Examined, placed: Placed, n: int) -> Points:
    """Return the last `n` points of the history."""
    if n <= len(placed.newest.values):
        return placed.newest.last(n)
    return history.tail(session, series.id, placed.branch, n)


def _begin(
    session: Session, series: Examined, placed: Placed, earliest: int | None
) -> tuple[int, Sequence[ChangePoint]]:
    """Return the first row to look at, and what is stored of rows that changes can be told of."""
    branch, n = (
        placed.branch,
        placed.length - placed.n_new + 1,
    )  # as when the first of the new points was the newest
    is_near = begin_of_tail(n) == begin_of_tail(placed.length)
    if earliest is None and is_near and not placed.has_recent_changes:
        return begin_of_tail(n), []
    stored = changes.of_history(session, series.id, branch, first_row=begin_of_tail(n) - SAME)
    begin = begin_of_tail(n, [row.end_index for row in stored if row.state == ChangeState.CONFIRMED])
    if earliest is not None and earliest < begin + _CONTEXT:
        return 0, changes.of_history(session, series.id, branch)
    told = begin + MARGIN if begin else 0
    _give_up(session, [row for row in stored if row.index < told and row.state == ChangeState.SUSPECTED])
    return begin, [row for row in stored if row.index >= told]


def _first_told(n: int) -> int:
    """Return the row before which a suspicion is none: so many points have followed without settling it."""
    begin = begin_of_tail(n)
    return begin + MARGIN if begin else 0


def _give_up(session: Session, rows: Sequence[ChangePoint]) -> None:
    """Withdraw suspicions that so many points have followed without settling them."""
    for row in rows:
        row.state, row.closed_at = ChangeState.WITHDRAWN, clock.now(session)
        row.reason = "not settled by the points that followed"


def _renumber(session: Session, series: Examined, branch: str) -> None:
    """Bring the rows of stored changes up to date after a point was put before them."""
    rows = changes.of_history(session, series.id, branch)
    at = history.rows_of(session, series.id, branch, {row.result_id for row in rows})
    for row in rows:
        moved = at[row.result_id] - row.index
        row.index, row.end_index = row.index + moved, row.end_index + moved
    session.flush()


def _settle_measured(session: Session, rows: Sequence[ChangePoint]) -> None:
    for row in rows:
        if row.state == ChangeState.SUSPECTED and row.request_id is not None:
            settle_by_measurement(session, row)
    session.flush()
