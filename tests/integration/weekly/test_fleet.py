"""The accelerators of a week, from rows written by hand, held against sums done by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from app.domain.costs import Costs, Power
from app.domain.hardware import Price
from app.domain.weekly import Money
from app.domain.weekly_fleet import FleetWeek
from app.services.weekly.fleet import fleet_week
from app.store.repositories import access, weekly_fleet
from tests.factories.browser import counted
from tests.factories.weekly import HOUR, WEEK, Rows, at

pytestmark = pytest.mark.postgres

H100 = Price(4.0, "EUR", "2026-10-01", "h100*")
COSTS = Costs(prices=(H100,), power=Power(0.25, "EUR", "2026-10-01", pue=1.2))


def week(rows: Rows, *others: str, whole: bool = True, costs: Costs = COSTS) -> FleetWeek:
    return fleet_week(
        rows.session, rows.scope(*others, whole=whole), WEEK, costs, live_for=timedelta(seconds=90)
    )


@pytest.fixture
def rows(session: Session) -> Rows:
    return Rows(session)


def test_a_devices_week_is_from_its_registration_to_its_last_contact_and_idle_where_nobody_held_it(
    rows: Rows,
) -> None:
    old = rows.device("h100")
    new = rows.device("h100", worker="bench-02", since=at(5), seen=at(6, 12))
    rows.device("h100", worker="bench-03", since=at(-30), seen=at(-1))  # gone before the week
    rows.device("h100", worker="bench-04", health="retired")
    job = rows.job("h100", created=at(-1))
    rows.attempt(job, [old], at(-0.25), at(0, 4))  # six of its ten hours are of the week before
    rows.attempt(rows.job("h100", created=at(5)), [old, new], at(5, 1), at(5, 3))
    rows.attempt(
        rows.job("h100", created=at(6)), [old], at(6, 23), at(7, 2)
    )  # two of its three are of the next

    found = week(rows)

    assert {(its.hardware_id, its.there_s / 3600, its.held_s / 3600) for its in found.devices} == {
        (old.hardware_id, 168.0, 4 + 2 + 1),
        (new.hardware_id, 36.0, 2.0),
    }
    (its,) = found.classes
    assert (its.n_devices, its.there_s, its.held_s) == (2, 204 * 3600.0, 9 * 3600.0)
    assert its.share == pytest.approx(9 / 204)
    assert its.idle_cost == Money(195 * 4.0, "EUR")
    assert its.held_cost == Money(36.0, "EUR")


def test_device_time_is_told_by_suite_and_by_what_asked_for_it_and_other_projects_have_no_name(
    rows: Rows,
) -> None:
    h100, cpu = rows.device("h100"), rows.device("cpu-x", worker="bench-02")
    rows.attempt(rows.job("h100", created=at(), trigger="pull_request"), [h100], at(1), at(1, 3))
    rows.attempt(rows.job("cpu-x", created=at(), trigger="pull_request"), [cpu], at(1), at(1, 1))
    calibrate = rows.job("h100", created=at(), policy={"purpose": "calibrate"}, trigger="calibrate", suite="")
    rows.attempt(calibrate, [h100], at(2), at(2, 0.5))
    secret = rows.job("h100", created=at(), project="secret/plans", suite="plans", trigger="schedule")
    rows.attempt(secret, [h100], at(3), at(3, 5))

    found = week(rows)

    assert [(use.project, use.what, use.held_s / 3600) for use in found.suites] == [
        ("", "", 5.0),
        ("acme/vision", "inference", 4.0),
        ("acme/vision", "", 0.5),
    ]
    assert found.suites[1].costs == (Money(12.0, "EUR"),)
    assert found.suites[1].unpriced_s == 3600.0, "nobody stated what a cpu costs"
    assert {use.what: use.held_s / 3600 for use in found.purposes} == {
        "schedule": 5.0,
        "pull_request": 4.0,
        "calibrate": 0.5,
    }
    assert found.held_s == 9.5 * 3600

    own = week(rows, whole=False)
    assert [(use.project, use.what) for use in own.suites] == [
        ("acme/vision", "inference"),
        ("acme/vision", ""),
    ]
    assert own.devices == ()
    assert {its.device_class: (its.held_s / 3600, its.there_s) for its in own.classes} == {
        "h100": (3.5, None),
        "cpu-x": (1.0, None),
    }


def test_what_ran_on_a_device_that_is_retired_by_now_is_told_apart(rows: Rows) -> None:
    gone = rows.device("h100", health="retired")
    rows.attempt(rows.job("h100", created=at()), [gone], at(1), at(1, 2))
    found = week(rows)
    assert (found.retired_s, found.devices) == (7200.0, ())
    assert found.held_s == 7200.0


def test_waits_are_from_a_jobs_making_to_its_first_attempt_and_what_waits_now_is_counted(rows: Rows) -> None:
    device = rows.device("h100")
    for minutes in (1, 2, 3, 4, 5):
        job = rows.job("h100", created=at(1))
        begun = at(1) + timedelta(minutes=minutes)
        rows.attempt(job, [device], begun, begun + HOUR / 60, outcome="infra_failed", reason="infra: gone")
        rows.attempt(job, [device], at(3), at(3, 0.1), number=2)
    rows.attempt(rows.job("h100", created=at(-3)), [device], at(-2), at(-2, 1))
    waiting = rows.job("h100", created=at(6))
    found = week(rows)
    (its,) = found.classes
    assert its.waits is not None
    assert (its.waits.n, its.waits.p50_s, its.waits.p95_s) == (5, 180.0, pytest.approx(288.0))
    assert its.queue is not None
    assert (its.queue.n, its.queue.oldest_at) == (1, waiting.created_at)
    assert found.outcomes == {"ok": 5, "infra_failed": 5}
    assert found.reasons == (("infra", 5),)
    assert (found.n_ended, found.n_infrastructure) == (10, 5)


def summary(
    span_s: float, *, joules: object = None, power: tuple[object, object, object] | None = None
) -> dict:  # type: ignore[type-arg]
    """What an invocation's readings of one device come to."""
    return {
        "span_s": span_s,
        "counters": {} if joules is None else {"energy_j_total": joules},
        "gauges": {} if power is None else {"power_w": list(power)},
    }


def test_energy_by_counters_is_measured_and_costs_what_the_building_draws_too(rows: Rows) -> None:
    device, job = rows.device("h100", kind="nvidia"), rows.job("h100", created=at())
    run = rows.run(job, rows.attempt(job, [device], at(1), at(1, 1)))
    rows.invocation(run, 0, telemetry=[summary(1000.0, joules=360_000.0)])
    rows.invocation(
        run, 1, telemetry=[summary(500.0, joules=180_000.0)], void=True, void_reason="low_clock: x"
    )
    rows.invocation(run, 2)
    found = week(rows)
    assert found.energy is not None
    assert (found.energy.joules, found.energy.is_measured, found.energy.is_counted) == (540_000.0, True, True)
    assert (found.energy.told_s, found.energy.of_s) == (1500.0, 3600.0)
    assert found.energy_cost == Money(pytest.approx(0.15 * 1.2 * 0.25), "EUR")
    assert found.spoiled is not None
    assert (found.spoiled.n_void, found.spoiled.n) == (1, 3)


def test_energy_by_readings_of_the_power_is_an_estimate_between_the_lowest_and_the_highest(
    rows: Rows,
) -> None:
    device, job = rows.device("h100", kind="nvidia"), rows.job("h100", created=at())
    run = rows.run(job, rows.attempt(job, [device], at(1), at(1, 1)))
    rows.invocation(
        run, 0, telemetry=[summary(100.0, power=(200.0, 300.0, 350.0)), summary(10.0, joules=500.0)]
    )
    found = week(rows).energy
    assert found is not None
    assert (found.joules, found.low, found.high) == (30_500.0, 20_500.0, 35_500.0)
    assert not found.is_measured
    assert not found.is_counted


def test_energy_is_left_out_where_no_device_tells_it_or_only_pretends_to(rows: Rows) -> None:
    device, job = rows.device("h100"), rows.job("h100", created=at())
    run = rows.run(job, rows.attempt(job, [device], at(1), at(1, 1)))
    rows.invocation(run, 0, telemetry=[summary(100.0, joules="many"), summary(5.0, power=(None, "x", None))])
    rows.invocation(run, 1, telemetry="nothing of the kind")
    simulated, other = rows.device("sim", kind="simulated"), rows.job("sim", created=at())
    pretending = rows.run(other, rows.attempt(other, [simulated], at(1), at(1, 1)))
    rows.invocation(pretending, 0, telemetry=[summary(100.0, joules=1e6)])
    found = week(rows)
    assert (found.energy, found.energy_cost) == (None, None)


def test_of_many_runs_a_sample_is_read_and_stands_for_all_with_its_error(rows: Rows) -> None:
    device = rows.device("h100", kind="nvidia")
    for n in range(12):
        job = rows.job("h100", created=at())
        run = rows.run(job, rows.attempt(job, [device], at(0.1 * n), at(0.1 * n, 1)))
        rows.invocation(run, 0, telemetry=[summary(60.0, joules=1000.0 + n)])
    all_of_them = weekly_fleet.runs_read(rows.session, WEEK.start, WEEK.end, None)
    some = weekly_fleet.runs_read(rows.session, WEEK.start, WEEK.end, None, most=4)
    assert (all_of_them.n_all, len(all_of_them.runs), some.n_all, len(some.runs)) == (12, 12, 12, 4)
    assert [run.counted_j for run in some.runs] == [1000.0, 1003.0, 1006.0, 1009.0]
    assert some.size_all_s == all_of_them.size_all_s == 12 * 3600.0


def test_what_dcgm_told_is_weighted_by_the_device_time_of_its_runs(rows: Rows) -> None:
    device = rows.device("h100", kind="nvidia")
    for hours, share in ((1, 0.2), (3, 0.6)):
        job = rows.job("h100", created=at())
        told = {
            "GPU-1": {
                "readings": {"sm_active": {"value": share, "unit": "1"}, "tensor_active": {"value": None}}
            }
        }
        rows.run(job, rows.attempt(job, [device], at(hours), at(hours, hours)), activity=told)
    (its,) = week(rows).classes
    assert its.activity is not None
    assert its.activity.sm_active == pytest.approx((1 * 0.2 + 3 * 0.6) / 4)
    assert (its.activity.tensor_active, its.activity.n_runs) == (None, 2)


def test_a_quarantine_is_told_with_since_when_and_why_and_the_statements_do_not_grow_with_the_fleet(
    rows: Rows,
) -> None:
    for n in range(3):
        device = rows.device("h100", worker=f"bench-{n}", health="quarantined")
        access.audit(
            rows.session, "service", "device.quarantined", f"device/{device.id}", ecc_uncorrected=n + 1
        )
    rows.session.flush()
    engine = rows.session.get_bind()
    with counted(engine) as few:  # type: ignore[arg-type]
        found = week(rows)
    assert [device.why for device in found.quarantined] == [
        "1 uncorrected memory error",
        "2 uncorrected memory errors",
        "3 uncorrected memory errors",
    ]
    for n in range(3, 9):
        device = rows.device("h100", worker=f"bench-{n}", health="quarantined")
        access.audit(rows.session, "service", "device.quarantined", f"device/{device.id}", ecc_uncorrected=1)
    rows.session.flush()
    with counted(engine) as many:  # type: ignore[arg-type]
        assert len(week(rows).quarantined) == 9
    assert len(many) <= len(few) < 15


def test_an_empty_installation_has_an_empty_week(rows: Rows) -> None:
    found = week(rows)
    assert not found
    assert (found.spoiled, found.energy, found.n_ended) == (None, None, 0)
