"""The same work on several device classes, and how it scales, by the newest numbers of a week."""

from __future__ import annotations

from uuid import uuid4

import pytest
from sqlalchemy.orm import Session

from app.domain.costs import Costs
from app.domain.hardware import Kind, Price
from app.services.weekly.hardware import hardware_week
from app.services.weekly.scaling import scaling_week
from app.store.repositories import projects
from app.store.tables import Upload
from tests.factories.weekly import WEEK, Rows, at

pytestmark = pytest.mark.postgres


@pytest.fixture
def rows(session: Session) -> Rows:
    return Rows(session)


def upload(rows: Rows, commit_id: int, devices: int | None = 1) -> int:
    machine = {} if devices is None else {"devices": devices}
    environment = projects.environment(rows.session, f"m{devices}", machine, {})
    row = Upload(
        project_id=rows.project.id, key=uuid4().hex, body_digest="", commit_id=commit_id,
        environment_id=environment.id, answer={}, posted_by="ci",
    )  # fmt: skip
    rows.session.add(row)
    rows.session.flush()
    return row.id


def speed(rows: Rows, device_class: str, values: dict[str, float], sha: str = "a", day: float = 1) -> None:
    commit = rows.commit(sha, at(day))
    posted = upload(rows, commit.id, None if device_class == "old" else 2)
    for benchmark, value in values.items():
        series = rows.series(benchmark, "samples_per_s", unit="samples/s", device_class=device_class)
        rows.result(series, commit, value, day, upload_id=posted)


def test_the_class_with_most_cases_is_the_reference_and_the_means_are_geometric(rows: Rows) -> None:
    speed(rows, "h100", {"a": 100.0, "b": 50.0, "c": 10.0})
    speed(rows, "h200", {"a": 200.0, "b": 400.0})
    speed(rows, "l4", {"d": 1.0})
    (its,) = hardware_week(rows.session, rows.scope(), WEEK, Costs())
    assert (its.project, its.reference, its.n_cases, its.n_left_out) == ("acme/vision", "h100", 3, 0)
    (compared,) = its.compared
    assert compared.head.device_class == "h200"
    mean = compared.mean(Kind.PERFORMANCE)
    assert mean.ratio is not None
    assert (mean.n, mean.ratio.value) == (2, pytest.approx((2 * 8) ** 0.5))


def test_what_the_installation_states_makes_a_cost_where_the_project_states_none(rows: Rows) -> None:
    speed(rows, "h100", {"a": 100.0})
    speed(rows, "h200", {"a": 200.0})
    costs = Costs(prices=(Price(2.0, "EUR", "2026-01-31", "h100"), Price(3.0, "EUR", "2026-01-31", "h*")))
    (its,) = hardware_week(rows.session, rows.scope(), WEEK, costs)
    (compared,) = its.compared
    assert (compared.base.price, compared.head.price) == costs.prices
    mean = compared.mean(Kind.COST)
    assert mean.ratio is not None
    assert mean.ratio.value == pytest.approx(3.0 / 200 / (2.0 / 100))


def test_one_class_or_no_case_in_common_compares_nothing(rows: Rows) -> None:
    assert hardware_week(rows.session, rows.scope(), WEEK, Costs()) == ()
    speed(rows, "h100", {"a": 100.0})
    assert hardware_week(rows.session, rows.scope(), WEEK, Costs()) == ()
    speed(rows, "h200", {"b": 100.0})
    assert hardware_week(rows.session, rows.scope(), WEEK, Costs()) == ()


def test_numbers_of_after_the_week_or_long_before_it_do_not_count(rows: Rows) -> None:
    speed(rows, "h100", {"a": 100.0})
    speed(rows, "h200", {"a": 200.0}, sha="b", day=7.5)
    speed(rows, "l4", {"a": 20.0}, sha="c", day=-60)
    assert hardware_week(rows.session, rows.scope(), WEEK, Costs()) == ()


def test_scaling_is_now_and_last_week_with_the_devices_where_they_are_known(rows: Rows) -> None:
    series, other = (
        rows.series("train", "scaling_efficiency", n=8),
        rows.series("infer", "scaling_efficiency"),
    )
    for sha, day, value in (("a", -9, 0.95), ("b", -2, 0.9), ("c", 3, 0.81), ("d", 8, 0.1)):
        commit = rows.commit(sha, at(day))
        rows.result(series, commit, value, day, upload_id=upload(rows, commit.id, 8))
    commit = rows.commit("c", at(3))
    rows.result(other, commit, 0.99, 3.0, upload_id=upload(rows, commit.id, None))
    first, second = scaling_week(rows.session, rows.scope(), WEEK)
    assert (first.benchmark, first.now, first.last, first.devices) == ("train", 0.81, 0.9, 8)
    assert first.change == pytest.approx(-0.1)
    assert (second.benchmark, second.last, second.change, second.devices) == ("infer", None, None, None)
