"""The order of a history's points: by ancestry where it is known, else that of arrival."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from app.store.tables import Commit, Result
from tests.factories.histories import Poster, deliver, noisy, sha, stepped

pytestmark = pytest.mark.postgres


def order(poster: Poster) -> list[str]:
    """Return the commits of the history of `main` in its order."""
    with poster.service.database.session() as session:
        return list(
            session.scalars(
                select(Commit.sha)
                .join(Result, Result.commit_id == Commit.id)
                .where(Result.series_id == poster.series, Result.branch == "main")
                .order_by(Result.place, Result.id)
            )
        )


def test_results_of_one_commit_are_points_side_by_side(poster: Poster):
    for commit in (0, 1, 2, 0, 1):
        poster.tell(1.0, commit)
    assert order(poster) == [sha(0), sha(0), sha(1), sha(1), sha(2)]


def test_parent_that_arrives_after_its_child_goes_before_it(poster: Poster):
    for commit in (0, 1, 3, 4, 2):
        poster.tell(1.0, commit, parent=sha(commit - 1) if commit else None)
    assert order(poster) == [sha(i) for i in range(5)]


def test_history_that_is_posted_at_once_backwards_is_put_in_order(poster: Poster):
    for commit in reversed(range(70)):
        poster.post(1.0, commit, parent=sha(commit - 1) if commit else None)
    deliver(poster.service)
    assert order(poster) == [sha(i) for i in range(70)]


def test_many_commits_fit_between_two_others(poster: Poster):
    poster.tell(1.0, 0)
    for commit in reversed(range(1, 120)):
        poster.post(1.0, commit, parent=sha(commit - 1))
        if commit % 40 == 0:
            deliver(poster.service)
    deliver(poster.service)
    assert order(poster) == [sha(i) for i in range(120)]


def test_commits_without_known_ancestry_stay_in_the_order_of_their_arrival(poster: Poster):
    for commit in (4, 1, 3):
        poster.tell(1.0, commit, time=f"2026-11-0{commit}T00:00:00Z")
    assert order(poster) == [sha(4), sha(1), sha(3)]


def test_commit_whose_parent_was_never_posted_is_the_newest(poster: Poster):
    poster.tell(1.0, 0)
    poster.tell(1.0, 9, parent=sha(8))
    poster.tell(1.0, 5, parent=sha(4))
    assert order(poster) == [sha(0), sha(9), sha(5)]


def test_known_position_goes_before_later_ones(poster: Poster):
    for commit in (0, 2):
        poster.tell(1.0, commit)
    with poster.service.database.session() as session:
        for row in session.scalars(select(Commit)):
            row.position = int(row.sha, 16)
    poster.post(1.0, 1)
    with poster.service.database.session() as session:
        session.scalars(select(Commit).where(Commit.sha == sha(1))).one().position = 2
    deliver(poster.service)
    assert order(poster) == [sha(0), sha(1), sha(2)]


def test_backdated_commit_goes_before_what_was_measured_later(poster: Poster):
    for commit in (3, 1, 2, 0):
        poster.tell(1.0, commit, measured_at=f"2024-01-0{commit + 1}T00:00:00Z")
    assert order(poster) == [sha(0), sha(1), sha(2), sha(3)]


def test_years_that_are_brought_along_go_before_what_was_measured_here(poster: Poster):
    for commit in (8, 9):
        poster.tell(1.0, commit)
    for commit in range(5):
        poster.post(1.0, commit, measured_at=f"2024-01-0{commit + 1}T00:00:00Z", position=commit)
    deliver(poster.service)
    poster.tell(1.0, 10)
    assert order(poster) == [sha(i) for i in (0, 1, 2, 3, 4, 8, 9, 10)]


@pytest.mark.parametrize(
    "order_of_import", [sorted, reversed, lambda days: random.Random(1).sample(list(days), 60)]
)
def test_years_in_any_order_and_in_parts_end_up_in_the_order_of_their_days(poster: Poster, order_of_import):
    poster.tell(1.0, 200)
    for number, day in enumerate(order_of_import(range(60))):
        moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day)
        poster.post(1.0, day, measured_at=moment.isoformat())
        if number % 17 == 0:
            deliver(poster.service)
    deliver(poster.service)
    assert order(poster) == [*map(sha, range(60)), sha(200)]


def test_parent_of_the_same_moment_goes_before_its_child_between_others(poster: Poster):
    poster.tell(1.0, 9, measured_at="2024-01-09T00:00:00Z")
    for commit in (1, 4, 3):
        poster.post(1.0, commit, parent=sha(commit - 1), measured_at="2024-01-01T00:00:00Z")
    deliver(poster.service)
    assert order(poster) == [sha(1), sha(3), sha(4), sha(9)]


def test_gap_that_is_filled_again_and_again_gets_room(poster: Poster):
    poster.tell(1.0, 0, position=0, measured_at="2024-01-01T00:00:00Z")
    poster.tell(1.0, 999, position=999, measured_at="2024-01-02T00:00:00Z")
    for first in range(1, 100, 3):
        for commit in range(first, first + 3):
            poster.post(1.0, commit, position=commit, measured_at="2024-01-01T12:00:00Z")
        deliver(poster.service)
    assert order(poster) == [*map(sha, range(100)), sha(999)]


def test_position_goes_before_the_time_of_measurement(poster: Poster):
    for commit, day in ((0, 5), (2, 1), (1, 3)):
        poster.post(1.0, commit, measured_at=f"2024-01-0{day}T00:00:00Z", position=commit)
    deliver(poster.service)
    assert order(poster) == [sha(0), sha(1), sha(2)]


def test_gap_in_the_commits_is_no_hindrance(poster: Poster):
    values = stepped(40, at=30, by=0.1)
    for i, value in enumerate(values):
        if not 20 <= i < 26:
            poster.tell(value, i, parent=sha(i - 1) if i else None)
    (change,) = poster.changes()
    assert (change["commit"], change["previous"], change["index"]) == (sha(30), sha(29), 24)


def test_older_points_move_the_row_of_a_change_and_not_its_commit(poster: Poster):
    values = stepped(40, at=30, by=0.1)
    late = (5, 6)
    for i, value in enumerate(values):
        if i not in late:
            poster.tell(value, i, parent=sha(i - 1) if i else None)
    assert [change["index"] for change in poster.changes()] == [28]
    for i in reversed(late):
        poster.tell(values[i], i, parent=sha(i - 1))
    (change,) = poster.changes()
    assert (change["commit"], change["index"], change["state"]) == (sha(30), 30, "confirmed")


def test_commit_that_turns_up_before_a_confirmed_change_and_shows_it_corrects_it(poster: Poster):
    values = stepped(45, at=30, by=0.2)
    for i, value in enumerate(values):
        if i != 30:
            poster.tell(value, i, parent=sha(i - 1) if i else None)
    assert [(c["commit"], c["state"]) for c in poster.changes()] == [(sha(31), "confirmed")]
    poster.tell(values[30], 30, parent=sha(29))
    (corrected,) = poster.changes("corrected")
    (change,) = poster.changes()
    assert (change["commit"], change["corrects"]) == (sha(30), corrected["id"])
    assert "another commit" in corrected["reason"]


def test_more_values_of_the_suspected_commit_confirm_it_without_later_commits(poster: Poster):
    values = stepped(40, at=30, by=0.1)
    poster.tell_all(values[:33])
    assert [change["state"] for change in poster.changes()] == ["suspected"]
    assert {(w["commit"], w["metric"], w["device_class"]) for w in poster.wanted()} == {
        (sha(29), "latency_p50", "cpu-test-2t"),
        (sha(30), "latency_p50", "cpu-test-2t"),
    }
    for value in noisy(3, level=11.0, seed=9):
        poster.tell(value, 30)
    assert [(c["state"], c["commit"]) for c in poster.changes()] == [("confirmed", sha(30))]
    assert poster.wanted() == []


def test_more_values_of_the_suspected_commit_withdraw_it(poster: Poster):
    values = noisy(30)
    poster.tell_all([*values, 11.0, 11.0, 11.0])
    assert [change["state"] for change in poster.changes()] == ["suspected"]
    for commit in (30, 31, 32):
        for value in noisy(4, seed=commit):
            poster.tell(value, commit)
    assert poster.changes() == []
    assert {c["state"] for c in poster.changes("all")} <= {"withdrawn", "episode"}
    assert poster.wanted() == []


def test_every_branch_is_a_history_of_its_own(poster: Poster):
    for i, value in enumerate(noisy(30)):
        poster.tell(value, i, parent=sha(i - 1) if i else None)
        if i >= 20:
            poster.tell(1.3 * value, 1000 + i, parent=sha(i), branch="feature/faster")
    assert poster.changes() == []


def test_history_of_another_branch_than_main_is_examined_too(poster: Poster):
    for i, value in enumerate(stepped(30, at=20, by=0.1)):
        poster.tell(value, i, branch="master")
    assert [(c["branch"], c["commit"]) for c in poster.changes()] == [("master", sha(20))]
