"""Alerts of a week, from rows written by hand."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from app.domain.alerts import AlertEvent, AlertState
from app.domain.weekly_alerts import AGES, AlertsWeek, by_age
from app.services.weekly.alerts import alerts_week
from app.store.repositories import clock
from app.store.tables import Alert, AlertChange, AlertLog, ChangePoint
from tests.factories.weekly import WEEK, Rows, at

pytestmark = pytest.mark.postgres


@pytest.fixture
def rows(session: Session) -> Rows:
    return Rows(session)


def alert(
    rows: Rows, opened: datetime, state: str = "new", *, owner: str | None = None, **moved: datetime
) -> Alert:
    """An alert, with the moments at which it was moved, by the state, or reopened."""
    commit = rows.commit("a", at())
    row = Alert(
        project_id=rows.project.id, branch="main", previous_commit_id=commit.id, commit_id=commit.id, state=state,
        owner=owner, opened_at=opened, moved_at=max([opened, *moved.values()]),
    )  # fmt: skip
    rows.session.add(row)
    rows.session.flush()
    for to, when in moved.items():
        what = AlertEvent.REOPENED if to == "reopened" else AlertEvent.MOVED
        rows.session.add(
            AlertLog(alert_id=row.id, at=when, by="ann", what=what, detail={"from": "new", "to": to})
        )
        rows.session.flush()
    return row


def change(rows: Rows, its: Alert, benchmark: str, by: float, state: str = "confirmed") -> None:
    series, commit = rows.series(benchmark, "latency_p50", unit="s", better="lower"), rows.commit("a", at())
    result = rows.result(series, commit, 1.0, 1.0)
    point = ChangePoint(
        project_id=rows.project.id, series_id=series.id, branch="main", commit_id=commit.id,
        previous_commit_id=commit.id, end_commit_id=commit.id, result_id=result.id, index=1, end_index=1, kind="step",
        state=state, change=by, confirmed_at=at(),
    )  # fmt: skip
    rows.session.add(point)
    rows.session.flush()
    rows.session.add(AlertChange(change_point_id=point.id, alert_id=its.id))
    rows.session.flush()


def week(rows: Rows) -> AlertsWeek:
    return alerts_week(rows.session, rows.scope(), WEEK)


def test_open_alerts_are_counted_by_state_and_age_and_the_oldest_are_told(rows: Rows) -> None:
    now = clock.now(rows.session)
    for days in (0.5, 8, 13.9, 20, 40):
        alert(rows, now - timedelta(days=days))
    oldest = alert(rows, now - timedelta(days=200), "investigating", owner="ann")
    change(rows, oldest, "resize", 0.2)
    change(rows, oldest, "crop", 0.36)
    alert(rows, now - timedelta(days=300), "fixed")
    found = week(rows)
    assert found.ages == {AlertState.NEW: (1, 2, 1, 1, 0), AlertState.INVESTIGATING: (0, 0, 0, 0, 1)}
    assert (found.n_open, found.n_unowned) == (6, 5)
    assert found.oldest[0].id == oldest.id
    assert len(found.oldest) == 5
    first = found.oldest[0]
    assert first.worst is not None
    assert (first.owner, first.n_changes, first.worst.benchmark, first.worst.change) == (
        "ann",
        2,
        "crop",
        0.36,
    )
    assert found.oldest[1].worst is None


def test_what_was_opened_and_closed_in_the_week_is_counted_by_its_last_state(rows: Rows) -> None:
    alert(rows, at(1))
    alert(rows, at(-20), "fixed", acknowledged=at(1), fixed=at(2))
    alert(rows, at(-20), "noise", fixed=at(2), noise=at(3))
    alert(rows, at(-20), "new", fixed=at(2), reopened=at(4))
    alert(rows, at(-20), "accepted", accepted=at(7))
    alert(rows, at(-20), "accepted", accepted=at(-1))
    alert(rows, at(7))
    found = week(rows)
    assert (found.opened, found.reopened) == (1, 1)
    assert found.closed == {AlertState.FIXED: 1, AlertState.NOISE: 1}


def test_how_right_the_detector_was_comes_with_its_interval(rows: Rows) -> None:
    for n, state in enumerate(("fixed", "accepted", "fixed", "noise")):
        change(rows, alert(rows, at(), state), f"b{n}", 0.1)
    found = week(rows)
    assert (found.precision.k, found.precision.n, found.recall.k, found.recall.n) == (3, 4, 3, 3)
    assert found.precision.low is not None
    assert found.precision.low == pytest.approx(0.3006, abs=1e-3)


def test_other_projects_alerts_are_not_told(rows: Rows) -> None:
    alert(Rows(rows.session, "other/project"), at(1))
    found = week(rows)
    assert not found
    assert found.oldest == ()


def test_ages_are_told_apart_at_their_ends() -> None:
    assert by_age({0: 1, 6: 1, 7: 1, 13: 1, 14: 1, 27: 1, 28: 1, 90: 1, 91: 1, 4000: 1}) == (2, 2, 2, 2, 2)
    assert by_age({}) == (0,) * len(AGES)
