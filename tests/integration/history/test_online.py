"""A history is posted commit by commit: when the service speaks of a change, and when it keeps silent."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.store.tables import ChangePoint, Result
from tests.factories.histories import Poster, noisy, sha, stepped, store_all

pytestmark = pytest.mark.postgres


def test_flat_noisy_history_keeps_silent(poster: Poster):
    assert poster.tell_all(noisy(60)) == [[]] * 60
    assert poster.wanted() == []


def test_step_is_suspected_within_three_points_and_then_confirmed(poster: Poster):
    told = poster.tell_all(stepped(52, at=40, by=0.05))
    assert all(changes == [] for changes in told[:40])
    assert any(told[40:43])
    (change,) = told[-1]
    assert (change["state"], change["kind"], change["commit"], change["previous"], change["index"]) == (
        "confirmed",
        "step",
        sha(40),
        sha(39),
        40,
    )
    assert change["worse"] is True
    assert change["ci_low"] < 0.05 < change["ci_high"]
    assert change["p_value"] < 1e-3
    states = [changes[0]["state"] for changes in told if changes]
    assert states == sorted(states, reverse=True)
    assert {changes[0]["id"] for changes in told if changes} == {change["id"]}


def test_improvement_is_told_as_such(poster: Poster):
    poster.tell_all(stepped(30, at=20, by=-0.1))
    (change,) = poster.changes()
    assert (change["state"], change["worse"], change["commit"]) == ("confirmed", False, sha(20))


def test_metric_of_which_more_is_better_gets_worse_by_falling(poster: Poster):
    poster.result = {"metric": "tokens_per_s", "unit": "tokens/s", "better": "higher"}
    poster.tell_all(stepped(30, at=20, by=-0.1))
    assert [change["worse"] for change in poster.changes()] == [True]


def test_ramp_is_one_change_in_the_end(poster: Poster):
    values = [value * (1 + 0.2 * min(max(0, i - 30), 20) / 20) for i, value in enumerate(noisy(75, sd=0.005))]
    poster.tell_all(values)
    (change,) = [change for change in poster.changes("confirmed") if change["kind"] == "ramp"]
    assert (change["worse"], change["index"] > 28, change["end_index"] > change["index"]) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize("length", [2, 3, 4])
def test_spike_that_reverts_is_an_episode_and_no_change(poster: Poster, length: int):
    values = noisy(45, seed=2)
    for i in range(30, 30 + length):
        values[i] *= 1.3
    told = poster.tell_all(values)
    assert told[-1] == []
    assert all(change["state"] == "suspected" for changes in told for change in changes)
    (spike,) = poster.changes("episode")
    assert (spike["kind"], spike["commit"], spike["end"]) == ("spike", sha(30), sha(30 + length))
    assert spike["change"] == pytest.approx(0.3, abs=0.05)
    assert poster.wanted() == []


def test_confirmed_change_keeps_its_numbers_whatever_follows(poster: Poster):
    poster.tell_all(stepped(40, at=30, by=0.1))
    (before,) = poster.changes()
    poster.tell_all([v * 1.1 for v in noisy(15, seed=5)], first=40)
    (after,) = poster.changes()
    moving = ("examined_at",)
    assert {k: v for k, v in after.items() if k not in moving} == {
        k: v for k, v in before.items() if k not in moving
    }


def test_change_that_is_taken_back_by_a_fix_is_a_second_change(poster: Poster):
    values = stepped(60, at=30, by=0.1)
    poster.tell_all([value / (1.1 if i >= 45 else 1) for i, value in enumerate(values)])
    told = [(change["commit"], change["worse"], change["state"]) for change in poster.changes()]
    assert told == [(sha(30), True, "confirmed"), (sha(45), False, "confirmed")]


def test_suspicion_that_hundreds_of_points_did_not_settle_is_withdrawn(poster: Poster):
    poster.tell_all(noisy(3))
    store_all(poster.service, poster.series, noisy(300, level=0.010, seed=2), first=3)
    poster.tell(10.0, 303, parent=sha(302))
    with poster.service.database.session() as session:
        (first, _, last) = session.scalars(select(Result).order_by(Result.id).limit(3)).all()
        suspicion = ChangePoint(
            project_id=1,
            series_id=poster.series,
            branch="main",
            commit_id=last.commit_id,
            previous_commit_id=first.commit_id,
            end_commit_id=last.commit_id,
            result_id=last.id,
            index=2,
            end_index=2,
            kind="step",
            state="suspected",
            before=0.01,
            after=0.02,
        )
        session.add(suspicion)
    poster.tell(10.0, 304, parent=sha(303))
    (change,) = poster.changes("withdrawn")
    assert (change["index"], change["reason"]) == (2, "not settled by the points that followed")


def test_change_long_ago_is_no_concern_of_an_append(poster: Poster):
    poster.tell_all(stepped(40, at=30, by=0.1))
    before = poster.changes("all")
    store_all(poster.service, poster.series, noisy(300, level=0.011, seed=2), first=40)
    poster.tell(11.0, 340, parent=sha(339))
    poster.tell(11.0, 341, parent=sha(340))
    assert poster.changes("all") == before


# --- exact metrics -------------------------------------------------------------------------------------------

MEMORY = {"metric": "peak_memory", "unit": "B", "better": "lower"}
PAGE = 4096
LEVEL = 1000 * PAGE


def test_exact_metric_below_its_tolerance_is_silent_and_above_it_speaks_at_once(poster: Poster):
    poster.result = MEMORY
    poster.tell_all([LEVEL] * 5)
    assert poster.tell(LEVEL + PAGE, 5) == []
    (change,) = poster.tell(LEVEL + 21 * PAGE, 6)
    assert (change["state"], change["commit"], change["previous"], change["index"]) == (
        "confirmed",
        sha(6),
        sha(5),
        6,
    )
    assert (change["before"], change["after"], change["p_value"]) == (LEVEL, LEVEL + 21 * PAGE, None)
    assert change["change"] == pytest.approx(0.021)


def test_exact_metric_that_creeps_speaks_when_its_tolerance_is_used_up(poster: Poster):
    poster.result = MEMORY
    told = poster.tell_all([LEVEL + i * 9 * PAGE for i in range(4)])
    assert [len(changes) for changes in told] == [0, 0, 0, 1]


def test_exact_metric_that_comes_back_was_a_spike(poster: Poster):
    poster.result = MEMORY
    told = poster.tell_all([LEVEL, LEVEL, LEVEL, 2 * LEVEL, LEVEL])
    assert [len(changes) for changes in told] == [0, 0, 0, 1, 0]
    (first,) = poster.changes("corrected")
    (spike,) = poster.changes("episode")
    assert (spike["kind"], spike["commit"], spike["corrects"]) == ("spike", sha(3), first["id"])
    assert "spike" in first["reason"]


def test_compile_count_that_leaves_zero_speaks_at_once(poster: Poster):
    poster.result = {"metric": "recompiles", "unit": "1", "better": "lower"}
    poster.tell_all([0, 0])
    (change,) = poster.tell(1, 2)
    assert (change["state"], change["before"], change["after"], change["change"]) == ("confirmed", 0, 1, None)


def test_exact_metric_of_which_a_second_result_agrees_with_the_level_has_not_changed(poster: Poster):
    poster.result = MEMORY
    poster.tell_all([LEVEL] * 3)
    poster.post(2 * LEVEL, 3)
    assert poster.tell(LEVEL, 3) == []


def test_metric_that_is_only_called_exact_is_examined_like_a_time(poster: Poster):
    poster.result = MEMORY
    told = poster.tell_all([round(value) for value in noisy(40, level=LEVEL, sd=0.05)])
    assert [change for change in told[-1] if change["index"] > 15] == []


def test_years_that_come_at_once_are_examined_as_if_they_had_come_one_by_one(poster: Poster):
    values = [
        value * (0.8 if i >= 120 else 1) * (1.3 if i >= 300 else 1) for i, value in enumerate(noisy(700))
    ]
    poster.tell(values[0], 0)
    store_all(poster.service, poster.series, [value / 1_000 for value in values[1:-1]], first=1)
    poster.tell(values[-1], 699, parent=sha(698))
    found = [(change["commit"], change["worse"], change["state"]) for change in poster.changes()]
    assert found == [(sha(120), False, "confirmed"), (sha(300), True, "confirmed")]
    poster.tell_all(noisy(12, level=10.4, seed=2), first=700)
    assert [change["commit"] for change in poster.changes()] == [sha(120), sha(300)]
