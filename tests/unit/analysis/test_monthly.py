"""What a month's work takes more after a change, by what somebody stated."""

from __future__ import annotations

import pytest

from app.analysis.monthly import more_a_month, stated_monthly, total
from app.domain.costs import Costs, Power, Traffic
from app.domain.hardware import Price
from app.domain.weekly import Money, Monthly

PRICE = Price(2.5, "EUR", "2026-01-31", "gpu-*")
POWER = Power(0.2, "EUR", "2026-01-31", pue=1.25)
CALLS = Traffic("*", "*", 1_000_000, "1", "2026-02-01")
TOKENS = Traffic("*", "*", 5e9, "tokens", "2026-02-01")
MONTH_D = 30.4375


def more(metric, unit, before, after, traffic, *, devices=1, price=PRICE, power=None):
    return more_a_month(
        metric, unit, before, after, devices=devices, traffic=traffic, price=price, power=power
    )


def test_calls_that_take_a_millisecond_longer_take_hours_and_money():
    told = more("latency_p50", "s", 0.010, 0.011, CALLS)
    assert told.device_hours == pytest.approx(1_000_000 * MONTH_D * 0.001 / 3600)
    assert told.money == (Money(pytest.approx(told.device_hours * 2.5), "EUR"),)
    assert told.basis == (
        "1\u202f000\u202f000 calls a day (stated 2026-02-01)",
        "2.5 EUR an hour for a device of gpu-* (stated 2026-01-31)",
    )


def test_a_call_on_eight_devices_takes_eight_times_the_device_hours():
    one, eight = (more("wall_time", "s", 1.0, 1.5, CALLS, devices=n) for n in (1, 8))
    assert eight.device_hours == pytest.approx(8 * one.device_hours)


def test_tokens_that_come_slower_take_more_and_faster_ones_less():
    slower = more("tokens_per_s", "tokens/s", 18_500.0, 16_095.0, TOKENS)
    assert slower.device_hours == pytest.approx(5e9 * MONTH_D * (1 / 16_095 - 1 / 18_500) / 3600)
    faster = more("tokens_per_s", "tokens/s", 16_095.0, 18_500.0, TOKENS)
    assert faster.device_hours == pytest.approx(-slower.device_hours)


def test_energy_is_counted_with_what_the_building_draws():
    told = more("energy_per_iter", "J", 100.0, 110.0, CALLS, power=POWER)
    assert told.kwh == pytest.approx(1_000_000 * MONTH_D * 10 / 3.6e6 * 1.25)
    assert told.money[0].amount == pytest.approx(told.kwh * 0.2)
    assert told.device_hours is None


def test_work_per_joule_tells_energy_of_the_same_work_alone():
    assert more("perf_per_watt", "tokens/J", 30.0, 25.0, TOKENS, power=POWER).kwh > 0
    assert more("perf_per_watt", "samples/J", 30.0, 25.0, TOKENS, power=POWER) is None


@pytest.mark.parametrize(
    ("metric", "unit", "traffic"),
    [
        ("latency_p50", "s", TOKENS),
        ("tokens_per_s", "tokens/s", CALLS),
        ("samples_per_s", "samples/s", TOKENS),
        ("latency_p99", "s", CALLS),
        ("peak_memory", "B", CALLS),
        ("mfu", "1", CALLS),
        ("goodput_per_s", "1/s", CALLS),
        ("perf_per_watt", "1/J", CALLS),
    ],
)
def test_metric_that_does_not_tell_of_the_traffic_has_no_cost(metric, unit, traffic):
    assert more(metric, unit, 2.0, 1.0, traffic) is None


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_level_that_is_no_time_has_no_cost(value):
    assert more("latency_p50", "s", value, 1.0, CALLS) is None


def test_without_a_price_the_hours_are_told_and_no_money():
    told = more("latency_p50", "s", 0.010, 0.011, CALLS, price=None)
    assert told.device_hours > 0
    assert told.money == ()


def test_without_traffic_nothing_is_told():
    costs = Costs(prices=(PRICE,))
    of = {"benchmark": "b", "device_class": "gpu-x", "devices": 1, "costs": costs}
    assert stated_monthly("latency_p50", "s", 1.0, 2.0, **of) is None


def test_total_adds_each_currency_by_itself_and_leaves_out_what_nobody_told():
    parts = [
        Monthly(device_hours=10.0, money=(Money(5.0, "EUR"),), basis=("a",)),
        Monthly(device_hours=None, kwh=3.0, money=(Money(7.0, "USD"),), basis=("a", "b")),
        Monthly(device_hours=2.0, money=(Money(-1.0, "EUR"),)),
    ]
    assert total(parts) == Monthly(12.0, 3.0, (Money(7.0, "USD"), Money(4.0, "EUR")), ("a", "b"))
    assert total([]) is None
