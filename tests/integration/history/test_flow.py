"""From a post to its examination: announced, examined once, found again when the message was lost."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app import tasks
from app.domain.changes import CHANGE_TRANSITIONS, FIRST_STATES, ChangeState
from app.services import examine_series as examining
from app.services.access import Scope
from app.services.announce_results import find_unexamined, take_project
from app.store.repositories import history, projects, series
from app.store.repositories.series import SeriesKey
from app.store.tables import ChangePoint, Outbox, Result, Upload
from app.tasks import examine_project
from app.wiring import Service
from tests.factories.histories import PROJECT, Poster, deliver, noisy, posted, sha, stepped
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres


def unexamined(service: Service) -> int:
    with service.database.session() as session:
        query = select(func.count()).select_from(Result).where(Result.place.is_(None))
        return session.scalar(query) or 0


def test_burst_of_posts_is_announced_once_and_examined_in_one_go(poster: Poster):
    for i, value in enumerate(stepped(40, at=30, by=0.1)):
        poster.post(value, i)
    assert [a["project_id"] for a in deliver(poster.service)] == [1]
    assert deliver(poster.service) == []
    (change,) = poster.changes()
    assert (change["commit"], change["state"], change["reason"]) == (
        sha(30),
        "confirmed",
        "seen so at first sight",
    )


def test_message_that_comes_twice_changes_nothing(poster: Poster):
    poster.tell_all(stepped(34, at=30, by=0.1))
    before = poster.changes("all")
    examine_project(poster.service, 1)
    assert poster.changes("all") == before


def test_lost_message_is_found_again_in_the_database(poster: Poster):
    poster.tell_all(stepped(32, at=30, by=0.1))
    poster.post(11.0, 32)
    with poster.service.database.session() as session:
        session.execute(update(Outbox).values(sent_at=func.clock_timestamp() - timedelta(minutes=1)))
        assert find_unexamined(session, poster.service.settings) == 0, "it may still be on its way"
        session.execute(update(Upload).values(created_at=Upload.created_at - timedelta(minutes=1)))
        assert find_unexamined(session, poster.service.settings) == 1
    deliver(poster.service)
    assert unexamined(poster.service) == 0
    assert [change["commit"] for change in poster.changes()] == [sha(30)]
    with poster.service.database.session() as session:
        assert find_unexamined(session, poster.service.settings) == 0


def test_series_that_cannot_be_examined_keeps_no_other_from_it(
    poster: Poster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    results = [posted_result(name) for name in ("a", "b", "c")]
    assert post_results(poster.client, poster.token, posted_document(*results)).status_code == 201
    place = examining.place_results

    def broken(session: Session, row: Any, results: Any, **recent: int) -> Any:
        if row.id == 2:
            raise RuntimeError("out of order")
        return place(session, row, results, **recent)

    monkeypatch.setattr(examining, "place_results", broken)
    examine_project(poster.service, 1)
    assert unexamined(poster.service) == 1
    assert "series 2 could not be examined" in caplog.text
    monkeypatch.undo()
    examine_project(poster.service, 1)
    assert unexamined(poster.service) == 0


def test_project_that_is_being_examined_is_left_to_whoever_does_it(poster: Poster):
    poster.post(1.0, 0)
    with poster.service.database.session() as session:
        assert take_project(session, 1)
        examine_project(poster.service, 1)
        assert unexamined(poster.service) == 1
    examine_project(poster.service, 1)
    assert unexamined(poster.service) == 0


def test_examination_that_takes_long_lets_others_have_their_turn_and_is_announced_again(
    poster: Poster, monkeypatch: pytest.MonkeyPatch
):
    results = [posted_result(name) for name in ("a", "b", "c")]
    assert post_results(poster.client, poster.token, posted_document(*results)).status_code == 201
    monkeypatch.setattr(tasks, "_EXAMINE_S", -1.0)
    assert [a["project_id"] for a in deliver(poster.service)] == [1]
    assert unexamined(poster.service) == 3
    monkeypatch.undo()
    assert [a["project_id"] for a in deliver(poster.service)] == [1]
    assert unexamined(poster.service) == 0


def test_results_that_a_release_without_histories_stored_are_found_and_examined(poster: Poster):
    for i, value in enumerate(stepped(40, at=30, by=0.1)):
        poster.post(value, i)
    with poster.service.database.session() as session:
        session.execute(update(Outbox).values(sent_at=func.clock_timestamp() - timedelta(minutes=1)))
        session.execute(update(Result).values(branch=None))
        session.execute(update(Upload).values(created_at=Upload.created_at - timedelta(minutes=1)))
    examine_project(poster.service, 1)
    assert poster.changes() == []
    with poster.service.database.session() as session:
        assert find_unexamined(session, poster.service.settings) == 1
    deliver(poster.service)
    assert unexamined(poster.service) == 0
    assert [(c["branch"], c["commit"]) for c in poster.changes()] == [("main", sha(30))]


def test_posts_and_examinations_at_the_same_time_end_as_one_after_another(poster: Poster):
    values = stepped(60, at=45, by=0.1)
    for i, value in enumerate(values[:20]):
        poster.post(value, i, parent=sha(i - 1) if i else None)
    deliver(poster.service)
    series_id = poster.series

    def add(i: int) -> None:
        with poster.service.database.session() as session:
            commit = projects.commit(session, 1, sha(i), parent_sha=sha(i - 1))
            series.add_results(session, [posted(series_id, commit.id, values[i] / 1e3)])
        examine_project(poster.service, 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(20, 60)))
    assert unexamined(poster.service) == 0
    with poster.service.database.session() as session:
        points = history.tail(session, series_id, "main", 100)
        shas = {row[0]: row[1] for row in session.execute(text("select id, sha from commit"))}
    assert sorted(shas[commit_id] for commit_id in points.commit_ids) == [sha(i) for i in range(60)]
    (change,) = poster.changes()
    assert (change["state"], change["worse"]) == ("confirmed", True)
    assert abs(int(change["commit"], 16) - int(sha(45), 16)) <= 3, "threads may swap neighbours"


# --- reading -------------------------------------------------------------------------------------------------


@pytest.fixture
def told(poster: Poster) -> Poster:
    """A series with a confirmed change."""
    for i, value in enumerate(stepped(40, at=30, by=0.1)):
        poster.post(value, i)
    deliver(poster.service)
    return poster


def test_changes_of_a_project_name_their_series(told: Poster):
    answer = told.get("changes", project=PROJECT)
    (change,) = answer["changes"]
    assert (answer["project"], answer["more"]) == (PROJECT, False)
    assert (change["series"]["benchmark"], change["series"]["unit"], change["commit"]) == (
        "resize",
        "s",
        sha(30),
    )
    assert change.keys() - {"series"} == told.changes()[0].keys()


def test_changes_are_narrowed_by_time_and_state(told: Poster):
    (change,) = told.changes()
    assert told.get("changes", project=PROJECT, since=change["confirmed_at"])["changes"] != []
    assert told.get("changes", project=PROJECT, since="2999-01-01T00:00:00Z")["changes"] == []
    assert told.get("changes", project=PROJECT, state="suspected")["changes"] == []
    both = told.get("changes", project=PROJECT, state=["suspected", "confirmed"])
    assert len(both["changes"]) == 1


def test_points_of_a_series_come_with_its_changes(told: Poster):
    answer = told.get(f"series/{told.series}/points", limit=5)
    assert answer["changes"] == told.changes()
    assert len(answer["points"]) == 5


@pytest.mark.parametrize(
    "path",
    [
        "changes?project=a&state=gone",
        "changes?project=a&since=monday",
        "changes?project=a&since=0.5",
        "runs?since=1764150000",
        "changes",
        "wanted",
        "series/0/changes",
    ],
)
def test_parameters_that_cannot_be_are_answered_422(client: TestClient, admin_token: str, path: str):
    response = client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {admin_token}"})
    assert response.status_code == 422


def test_reader_of_another_project_finds_nothing(told: Poster):
    token = bound_token(told.service, "acme/other", Scope.RESULTS_READ)
    for path in (f"series/{told.series}/changes", f"changes?project={PROJECT}", f"wanted?project={PROJECT}"):
        response = told.client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
        assert told.client.get(f"/api/v1/{path}").status_code == 401


def test_values_without_a_ratio_are_read_back_as_null(poster: Poster):
    poster.result = {"unit": "1", "metric": "score", "better": "higher"}
    for i, value in enumerate(noisy(30, level=1.0)):
        poster.post(value - 4 if i < 20 else 2 + value, i)
    deliver(poster.service)
    (change,) = poster.changes()
    assert (change["change"], change["ci_low"]) == (None, None)


# --- what the database refuses -------------------------------------------------------------------------------


@pytest.fixture
def row(session: Session) -> Iterator[ChangePoint]:
    project = projects.project(session, "guards")
    commit = projects.commit(session, project.id, "a" * 40)
    case = projects.cases(session, project.id, [("b", {})])["b {}"]
    key = SeriesKey(case.id, "latency_p50", "cpu")
    series_id = series.ensure(session, project.id, {key: ("s", "lower")})[key].id
    series.add_results(session, [posted(series_id, commit.id, 1.0)])
    result_id = session.scalars(select(Result.id)).one()
    yield ChangePoint(
        project_id=project.id, series_id=series_id, branch="main", commit_id=commit.id,
        previous_commit_id=commit.id, end_commit_id=commit.id, result_id=result_id, index=1, end_index=1,
        kind="step", state="suspected", before=1.0, after=2.0, change=1.0,
    )  # fmt: skip
    session.rollback()


PATHS: dict[ChangeState, list[ChangeState]] = {state: [state] for state in FIRST_STATES} | {
    ChangeState.WITHDRAWN: [ChangeState.SUSPECTED, ChangeState.WITHDRAWN],
    ChangeState.CORRECTED: [ChangeState.CONFIRMED, ChangeState.CORRECTED],
}


@pytest.mark.parametrize("before", ChangeState)
@pytest.mark.parametrize("after", ChangeState)
def test_change_moves_exactly_along_the_transition_table(session: Session, row: ChangePoint, before, after):
    session.add(row)
    for state in PATHS[before]:
        row.state = state
        session.flush()
    row.state = after
    if after == before or after in CHANGE_TRANSITIONS[before]:
        session.flush()
    else:
        with pytest.raises(IntegrityError, match="cannot go from"):
            session.flush()


@pytest.mark.parametrize("state", sorted(set(ChangeState) - FIRST_STATES))
def test_change_does_not_begin_taken_back(session: Session, row: ChangePoint, state):
    row.state = state
    session.add(row)
    with pytest.raises(IntegrityError, match="does not begin as"):
        session.flush()


def test_confirmed_change_keeps_its_numbers_and_may_move_along(session: Session, row: ChangePoint):
    row.state = ChangeState.CONFIRMED
    session.add(row)
    session.flush()
    row.index, row.end_index = 7, 7
    session.flush()
    row.after = 3.0
    with pytest.raises(IntegrityError, match="keeps its numbers"):
        session.flush()


def test_change_is_never_deleted(session: Session, row: ChangePoint):
    session.add(row)
    session.flush()
    session.delete(row)
    with pytest.raises(IntegrityError, match="is history and stays"):
        session.flush()
