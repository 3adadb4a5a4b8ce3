"""One commit has one confirmed change, however its results come to say so."""

from __future__ import annotations

import pytest
from sqlalchemy import text, update

from app.store.tables import ChangePoint
from tests.factories.histories import Poster, deliver, noisy, sha, stepped
from tests.integration.history.test_flow import unexamined

pytestmark = pytest.mark.postgres

MEMORY = {"metric": "peak_memory", "unit": "B", "better": "lower"}
PAGE = 4096


def told(poster: Poster, state: str | None = None) -> list[tuple[str, str, bool]]:
    return [(c["commit"], c["state"], c["worse"]) for c in poster.changes(state)]


def test_two_steps_within_one_commit_are_one_change_from_the_first_level_to_the_last(poster: Poster):
    values = noisy(60, level=100.0, sd=0.004)
    values += [
        *noisy(10, level=100.0, sd=0.004, seed=2),
        *noisy(10, level=115.0, sd=0.004, seed=3),
        *noisy(25, level=135.0, sd=0.004, seed=4),
    ]
    for i, value in enumerate(values):
        poster.post(value, min(i, 60))
    for i, value in enumerate(noisy(40, level=135.0, sd=0.004, seed=5)):
        poster.post(value, 61 + i)
    deliver(poster.service)
    assert unexamined(poster.service) == 0
    (change,) = poster.changes()
    assert (change["commit"], change["state"], change["worse"]) == (sha(60), "confirmed", True)
    assert change["change"] == pytest.approx(0.35, abs=0.02)
    assert change["ci_low"] < 0.35 < change["ci_high"]


def test_steps_within_one_commit_that_take_each_other_back_are_no_change(poster: Poster):
    values = noisy(60, level=100.0, sd=0.004)
    values += [*noisy(30, level=115.0, sd=0.004, seed=3), *noisy(30, level=100.0, sd=0.004, seed=4)]
    for i, value in enumerate(values):
        poster.post(value, min(i, 60))
    for i, value in enumerate(noisy(40, level=100.0, sd=0.004, seed=5)):
        poster.post(value, 61 + i)
    deliver(poster.service)
    assert unexamined(poster.service) == 0
    assert poster.changes() == []


def test_corrected_post_of_an_exact_metric_that_goes_the_other_way_corrects_the_change(poster: Poster):
    poster.result = MEMORY
    poster.tell_all([100 * PAGE] * 5)
    assert [c["worse"] for c in poster.tell(120 * PAGE, 5)] == [True]
    poster.tell(85 * PAGE, 5)
    assert unexamined(poster.service) == 0
    (corrected,) = poster.changes("corrected")
    (change,) = poster.changes()
    assert (change["commit"], change["state"], change["worse"]) == (sha(5), "confirmed", False)
    assert change["corrects"] == corrected["id"]
    assert corrected["reason"].startswith("later results of its commit")


@pytest.mark.parametrize("by", [0.1, -0.1])
def test_change_that_is_stored_out_of_sight_is_not_told_twice(poster: Poster, by: float):
    """A row that lies before what is held against the finds, as one near the beginning of a window does."""
    poster.tell_all(stepped(40, at=30, by=by))
    (first,) = poster.changes()
    with poster.service.database.session() as session:
        session.execute(text("alter table change_point disable trigger change_point_guard"))
        session.execute(update(ChangePoint).values(index=-50, end_index=-50))
        if by < 0:
            session.execute(update(ChangePoint).values(before=1.0, after=2.0))
        session.execute(text("alter table change_point enable trigger change_point_guard"))
    poster.tell(noisy(1, level=10.0 * (1 + by))[0], 40)
    assert unexamined(poster.service) == 0
    (change,) = poster.changes()
    assert (change["commit"], change["state"]) == (sha(30), "confirmed")
    assert change["worse"] is (by > 0)
    assert change["corrects"] == (None if by > 0 else first["id"])
