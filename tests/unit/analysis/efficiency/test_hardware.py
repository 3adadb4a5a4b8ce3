"""Two device classes held against each other: which numbers are compared, and what is said where there are none."""

from __future__ import annotations

from typing import Any

import pytest

from app.analysis.efficiency.hardware import compare_hardware
from app.domain.hardware import (
    HardwareCase,
    HardwareComparison,
    HardwareSide,
    Kind,
    Measured,
    MeasuredCase,
    Price,
    Ratio,
    Source,
)

OLD = HardwareSide("gpu-old", Price(0.36, "EUR", "2026-11-01", "gpu-o*"))
NEW = HardwareSide("gpu-new", Price(1.44, "EUR", "2026-11-01", "gpu-n*"))
UNPRICED = HardwareSide("gpu-new", None, "no [prices] entry fits gpu-new")


def number(metric: str, unit: str, value: float, *, spread: float = 0.0, **fields: Any) -> Measured:
    given: dict[str, Any] = {
        "better": "lower" if unit in ("s", "J", "EUR", "USD") or unit.startswith("J/") else "higher",
        "low": value * (1 - spread),
        "high": value * (1 + spread),
        "n": 3,
        "run": "run",
        "commit": "c0",
        "devices": 1,
    }
    return Measured(metric, unit, value=value, **(given | fields))


def latency(seconds: float, **fields: Any) -> Measured:
    return number("latency_p50", "s", seconds, **fields)


def rate(a_second: float, what: str = "samples", **fields: Any) -> Measured:
    return number(f"{what}_per_s", f"{what}/s", a_second, **fields)


def energy(joules: float, **fields: Any) -> Measured:
    return number("energy_per_iter", "J", joules, **fields)


def work(a_joule: float, unit: str = "samples/J", **fields: Any) -> Measured:
    return number("perf_per_watt", unit, a_joule, **fields)


def compared(
    *cases: tuple[list[Measured], list[Measured]], base: HardwareSide = OLD, head: HardwareSide = NEW
) -> HardwareComparison:
    given = [MeasuredCase(f"case{i}", {}, tuple(its), tuple(other)) for i, (its, other) in enumerate(cases)]
    return compare_hardware(base, head, given)


def only(base: list[Measured], head: list[Measured], /, **sides: HardwareSide) -> HardwareCase:
    (case,) = compared((base, head), **sides).cases
    return case


def test_a_rate_is_preferred_to_a_time_and_its_ratio_is_heads_over_bases():
    speed = only([latency(0.02), rate(100)], [latency(0.01), rate(250)]).performance
    assert (speed.base.metric, speed.head.metric) == ("samples_per_s", "samples_per_s")
    assert (speed.ratio.value, speed.best) == (2.5, "head")


def test_of_times_the_ratio_is_that_of_the_speeds_with_the_range_of_both_sides():
    speed = only([latency(0.02, spread=0.1)], [latency(0.01, spread=0.05)]).performance
    assert speed.ratio.value == pytest.approx(2.0)
    assert speed.ratio.low == pytest.approx(0.018 / 0.0105)
    assert speed.ratio.high == pytest.approx(0.022 / 0.0095)


def test_where_the_rate_is_on_one_side_alone_the_time_of_both_is_compared():
    speed = only([latency(0.02), rate(100)], [latency(0.01)]).performance
    assert speed.base.metric == speed.head.metric == "latency_p50"


def test_what_is_not_of_the_same_thing_has_no_ratio():
    speed = only([rate(100)], [latency(0.01)]).performance
    assert (speed.base.value, speed.head.value, speed.ratio) == (100, 0.01, None)
    assert speed.why == ("base has samples_per_s [samples/s], head latency_p50 [s]: not of the same thing",)


def test_rates_and_times_of_a_projects_own_come_last():
    own = number("frames", "frames/s", 30), number("step", "s", 0.1)
    case = only([*own, latency(0.02)], [*own, latency(0.01)])
    assert case.performance.base.metric == "latency_p50"
    assert only(list(own), list(own)).performance.base.metric == "frames"
    assert only([own[1]], [own[1]]).performance.base.metric == "step"


def test_energy_of_an_iteration_gives_the_work_of_a_joule():
    case = only([energy(4.0, energy=Source.ENERGY_COUNTER)], [energy(1.0, energy=Source.POWER_SAMPLES)])
    assert (case.energy.base.unit, case.energy.base.value, case.energy.ratio.value) == (
        "J/iteration",
        4.0,
        0.25,
    )
    assert (case.perf_per_watt.base.unit, case.perf_per_watt.base.value) == ("iterations/J", 0.25)
    assert (case.perf_per_watt.ratio.value, case.perf_per_watt.head.formula) == (4.0, "1 / energy_per_iter")
    assert [case.energy.base.source, case.energy.head.source] == [Source.ENERGY_COUNTER, Source.POWER_SAMPLES]
    assert [its.best for its in (case.energy, case.perf_per_watt)] == ["head", "head"]


def test_work_of_a_joule_gives_the_energy_of_one_with_its_range():
    case = only([work(4.0, spread=0.5)], [work(16.0)])
    assert (case.energy.base.unit, case.energy.base.value) == ("J/sample", 0.25)
    assert (case.energy.base.low, case.energy.base.high) == (pytest.approx(1 / 6), pytest.approx(1 / 2))
    assert case.energy.ratio.value == pytest.approx(0.25)


def test_throughput_for_a_watt_is_work_for_a_joule():
    assert only([work(2.0, "samples/s/W")], [work(4.0)]).perf_per_watt.ratio.value == 2.0


def test_where_one_side_alone_has_energy_it_is_shown_and_the_other_is_said_to_have_none():
    comparison = compared(([latency(0.02), energy(4.0)], [latency(0.01)]))
    its = comparison.cases[0].energy
    assert (its.base.value, its.head, its.ratio) == (4.0, None, None)
    assert its.why == ("head: no energy_per_iter or perf_per_watt is stored",)
    assert comparison.means[0].n == 1
    assert (comparison.mean(Kind.ENERGY).n, comparison.mean(Kind.ENERGY).why) == (0, its.why[0])


def test_cost_is_the_time_of_so_much_work_on_all_devices_at_the_stated_price():
    cost = only([rate(100, devices=2)], [rate(500)]).cost
    # a million samples take 10 000 s on two devices at 0.36 an hour, then 2 000 s on one at 1.44
    assert (cost.base.value, cost.base.unit, cost.base.per) == (pytest.approx(2.0), "EUR", "million samples")
    assert cost.head.value == pytest.approx(0.8)
    assert (cost.ratio.value, cost.best) == (pytest.approx(0.4), "head")
    assert (cost.base.source, cost.base.formula) == (Source.STATED_PRICE, "price · devices / samples_per_s")


def test_cost_of_times_is_of_a_million_iterations():
    cost = only([latency(0.036, spread=0.5)], [latency(0.036)]).cost
    assert (cost.base.value, cost.base.per) == (pytest.approx(3.6), "million iterations")
    assert (cost.base.low, cost.base.high) == (pytest.approx(1.8), pytest.approx(5.4))
    assert cost.best == "base"


def test_without_a_price_the_stored_cost_of_that_side_is_compared():
    stored = number("cost_per_sample", "EUR", 1e-6, source=Source.POSTED)
    cost = only([rate(100)], [rate(500), stored], head=UNPRICED).cost
    assert (cost.head.value, cost.head.per, cost.head.source) == (
        pytest.approx(1.0),
        "million samples",
        "posted",
    )
    assert cost.ratio.value == pytest.approx(1.0)


def test_currencies_are_never_changed_into_each_other():
    dollars = HardwareSide("gpu-new", Price(1.44, "USD", "2026-11-01", "*"))
    cost = only([rate(100)], [rate(500)], head=dollars).cost
    assert (cost.base.unit, cost.head.unit, cost.ratio) == ("EUR", "USD", None)
    assert cost.why == ("EUR and USD are never changed into each other",)


@pytest.mark.parametrize(
    ("head", "side", "why"),
    [
        ([rate(500)], UNPRICED, "head: no price is known"),
        ([rate(500, devices=None)], NEW, "head: run does not tell how many devices worked"),
        ([energy(1.0)], NEW, "head: no stored metric tells how long an amount of work takes"),
    ],
)
def test_why_there_is_no_cost_is_said(head: list[Measured], side: HardwareSide, why: str):
    cost = only([rate(100)], head, head=side).cost
    assert (cost.base.value, cost.head, cost.why) == (pytest.approx(1.0), None, (why,))


def test_what_costs_nothing_has_no_ratio():
    free = HardwareSide("gpu-old", Price(0.0, "EUR", "2026-11-01", "*"))
    cost = only([rate(100)], [rate(500)], base=free).cost
    assert (cost.base.value, cost.ratio, cost.why) == (0.0, None, ("there is no ratio of these",))


def test_means_are_geometric_over_the_cases_that_have_a_ratio():
    comparison = compared(
        ([latency(0.04)], [latency(0.01)]),
        ([latency(0.01)], [latency(0.01)]),
        ([rate(1)], [latency(0.01)]),
    )
    speed = comparison.mean(Kind.PERFORMANCE)
    assert (speed.n, speed.ratio.value, speed.best) == (2, pytest.approx(2.0), "head")


def test_single_numbers_have_no_range_and_neither_has_a_mean_with_one():
    single = {"n": 1}
    comparison = compared(
        ([latency(0.04, **single)], [latency(0.01)]), ([latency(0.01, spread=0.1)], [latency(0.01)])
    )
    assert comparison.cases[0].performance.ratio == Ratio(pytest.approx(4.0), None, None)
    assert (comparison.means[0].ratio.low, comparison.means[0].best) == (None, "head")


def test_no_side_is_better_where_the_range_leaves_it_open():
    speed = only([latency(0.0101, spread=0.02)], [latency(0.01, spread=0.02)]).performance
    assert speed.ratio.value > 1
    assert speed.best is None


def test_zeros_are_no_speed_and_no_energy():
    case = only([latency(0.0), energy(0.0), rate(100)], [latency(0.01), energy(1.0)])
    assert (case.performance.ratio, case.energy.base) == (None, None)


@pytest.mark.parametrize(("small", "large"), [(1e-310, 1e300), (5e-324, 1e-3), (1e-300, 1e300)])
def test_numbers_at_the_ends_of_what_a_float_holds_give_finite_ones_or_none(small: float, large: float):
    for base, head in ((small, large), (large, small)):
        its = [[rate(value), energy(value), work(value)] for value in (base, head)]
        comparison = compared((its[0], its[1]))
        for quantity in comparison.cases[0].quantities:
            levels = [level for level in (quantity.base, quantity.head) if level]
            ratios = [quantity.ratio.value] if quantity.ratio else []
            assert [
                x for x in (*(level.value for level in levels), *ratios) if not 0 < x < float("inf")
            ] == []


def test_a_case_that_tells_none_of_it_is_left_out():
    memory = number("peak_memory", "B", 1e9)
    assert compared(([memory], [memory])).cases == ()


def test_a_case_is_of_two_commits_where_a_ratio_is():
    memory = number("peak_memory", "B", 1e9, commit="c1")
    comparison = compared(
        ([latency(0.01), memory], [latency(0.01)]), ([latency(0.01, commit="c1")], [latency(0.01)])
    )
    assert [case.is_of_two_commits for case in comparison.cases] == [False, True]
    assert comparison.n_of_two_commits == 1


def test_without_any_case_every_mean_says_so():
    assert {(mean.n, mean.ratio, mean.why) for mean in compared().means} == {
        (0, None, "no case is on both device classes")
    }
