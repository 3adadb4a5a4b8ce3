"""The trend of a series: its points in the order of commits, thinned for a screen, with the changes that stand."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.services.access import Scope
from app.store.repositories import trends
from app.wiring import Service
from tests.factories.histories import Poster, deliver, noisy, sha, stepped
from tests.factories.posted_results import bound_token
from tests.integration.series.conftest import grown

pytestmark = pytest.mark.postgres


def trend(poster: Poster, **query: Any) -> dict[str, Any]:
    return poster.get(f"series/{poster.series}/trend", **query)


def test_points_come_in_the_order_of_their_commits_with_what_is_behind_them(poster: Poster) -> None:
    for commit in (0, 2, 1):
        poster.tell([10.0 + commit, 11.0 + commit], commit, parent=sha(commit - 1) if commit else None,
                    time=f"2026-11-0{commit + 1}T12:00:00Z")  # fmt: skip
    found = trend(poster)
    points = found["points"]
    assert points["commit"] == [sha(0), sha(1), sha(2)]
    assert points["row"] == [0, 1, 2]
    assert points["value"] == [pytest.approx(0.0105), pytest.approx(0.0115), pytest.approx(0.0125)]
    assert points["n"] == [2, 2, 2]
    assert points["time"][1].startswith("2026-11-02T12:00:00")
    assert points["run"] == ["upload-1", "upload-3", "upload-2"]
    assert (found["branch"], found["branches"], found["n"], found["thinned"]) == ("main", ["main"], 3, False)
    assert found["series"]["unit"] == "s"


def test_changes_that_stand_are_told_with_their_rows(poster: Poster) -> None:
    grown(poster, stepped(80, 40, 0.2))
    (change,) = trend(poster)["changes"]
    assert (change["row"], change["worse"], change["kind"]) == (40, True, "step")
    assert change["change"] == pytest.approx(0.2, abs=0.02)


def test_what_a_screen_cannot_show_is_left_out_and_can_be_had(poster: Poster) -> None:
    values = noisy(300)
    values[123] = 30.0
    grown(poster, values)
    found = trend(poster, columns=20)
    assert (found["n"], found["thinned"]) == (300, True)
    assert len(found["points"]["row"]) <= 120
    assert 123 in found["points"]["row"]
    part = trend(poster, columns=20, first=100, last=150)
    assert part["points"]["row"] == list(range(100, 151))
    assert (part["first"], part["last"], part["thinned"]) == (100, 150, False)


def test_a_history_that_is_shown_whole_is_read_at_once(poster: Poster, trips: list[int]) -> None:
    grown(poster, noisy(30))
    whole = trend(poster)
    trips.clear()
    assert trend(poster) == whole
    assert trips == [1, 4], "what is behind the points, beside who asks, the series, its points, its changes"
    trips.clear()
    assert trend(poster, last=29)["points"] == whole["points"]
    assert trips == [4, 1], "what is behind some of the points is asked for when they are known"
    trips.clear()
    assert trend(poster, columns=4)["points"].keys() == whole["points"].keys()
    assert trips == [1, 4, 1], "so it is where there are more of them than a screen can show"


def test_what_is_noted_of_a_point_is_told_of_that_one(poster: Poster) -> None:
    for commit, values in enumerate([[1.0, 2.0], [0.0, 0.0], [3.0, 3.0]]):
        poster.tell(values, commit, parent=sha(commit - 1) if commit else None)
    flags = [[], ["all_zero"], ["constant"]]
    assert trend(poster)["points"]["flags"] == flags
    assert trend(poster, last=2)["points"]["flags"] == flags
    assert trend(poster, first=1)["points"]["flags"] == flags[1:]


@pytest.mark.parametrize("at_once", [0, 12])
def test_points_keep_their_commits_when_others_come_in_while_they_are_read(
    poster: Poster, at_once: int
) -> None:
    grown(poster, noisy(12))
    with (
        poster.service.database.session() as session,
        trends.behind_all(session, poster.series, None, at_once) as coming,
    ):
        its = trends.history(session, poster.series, None, most_changes=1)
        assert its is not None
        with poster.service.database.session() as other:
            other.execute(
                text("update result set place = place + 100 where id = :id"),
                {"id": its.columns.result_ids[3]},
            )
        told, _ = trends.behind(session, its, range(12), [], 1, coming)
    assert list(told.sha) == [sha(number) for number in range(12)]


def test_each_branch_has_a_history_of_its_own(poster: Poster) -> None:
    poster.tell(10.0, 0)
    poster.tell(20.0, 1, branch="release")
    assert trend(poster)["points"]["commit"] == [sha(0)]
    assert trend(poster, branch="release")["points"]["commit"] == [sha(1)]
    assert sorted(trend(poster)["branches"]) == ["main", "release"]


def test_a_branch_without_a_history_is_told_with_those_that_have_one(
    poster: Poster, client: TestClient
) -> None:
    poster.tell(10.0, 0)
    answer = client.get(
        f"/api/v1/series/{poster.series}/trend?branch=nope",
        headers={"Authorization": f"Bearer {poster.token}"},
    )
    assert answer.status_code == 404
    assert "it has: main" in answer.text


def test_a_series_without_a_history_has_no_points(poster: Poster) -> None:
    poster.post(10.0, 0)
    assert trend(poster)["n"] == 0
    deliver(poster.service)
    assert trend(poster)["n"] == 1


def test_whoever_is_bound_to_another_project_does_not_find_it(
    poster: Poster, client: TestClient, service: Service
) -> None:
    poster.tell(10.0, 0)
    token = bound_token(service, "acme/other", Scope.RESULTS_READ)
    answer = client.get(f"/api/v1/series/{poster.series}/trend", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 404
