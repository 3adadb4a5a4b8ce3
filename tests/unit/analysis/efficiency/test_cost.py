from datetime import date

import pytest

from app.analysis.efficiency.cost import (
    cost_per_million_tokens,
    cost_per_sample,
    extra_cost,
    no_price,
    price_of,
)
from app.domain.derived import Given
from app.domain.errors import DataError

PRICE = price_of(2.5, "EUR", date(2026, 3, 1), "nvidia-h100-*")


def of(value: float | None, unit: str) -> Given:
    return Given(value, unit, "a test")


def test_cost_of_a_million_tokens_is_device_time_times_price():
    derived = cost_per_million_tokens(PRICE, of(8, "1"), of(12_000, "tokens/s"))
    assert derived.value == pytest.approx(1e6 * 8 * 2.5 / (3600 * 12_000))
    assert derived.unit == "EUR"


def test_cost_of_a_sample_is_in_the_currency_of_its_price():
    derived = cost_per_sample(price_of(4.0, "USD", "2026-01-31", "*"), of(2, "1"), of(500, "samples/s"))
    assert derived.value == pytest.approx(2 * 4 / (3600 * 500))
    assert derived.unit == "USD"


@pytest.mark.parametrize("unit", ["tokens/s", "1/s", "k tokens/s", "tokens/min"])
def test_throughput_is_understood_in_any_of_its_units(unit):
    assert cost_per_million_tokens(PRICE, of(1, "1"), of(60, unit)).unit == "EUR"


def test_price_keeps_its_currency_its_day_and_the_devices_that_it_is_for():
    derived = cost_per_sample(PRICE, of(1, "1"), of(10, "samples/s"))
    price = derived.inputs[0]
    assert (price.name, price.value, price.unit) == ("price", 2.5, "EUR/h")
    assert price.origin == '[prices."nvidia-h100-*"], EUR of 2026-03-01'


def test_without_a_price_there_is_no_cost():
    derived = cost_per_million_tokens(no_price("tpu-v6e"), of(8, "1"), of(12_000, "tokens/s"))
    assert (derived.value, derived.unit, derived.codes) == (None, "currency", ("no_price",))
    assert "tpu-v6e" in derived.notes[0].text


def test_device_of_ones_own_may_cost_nothing():
    assert (
        cost_per_sample(price_of(0, "EUR", "2026-01-31", "*"), of(1, "1"), of(10, "samples/s")).value == 0.0
    )


def test_price_for_something_else_than_time_is_refused():
    with pytest.raises(DataError, match="different kinds of units"):
        cost_per_sample(of(2.5, "EUR"), of(1, "1"), of(10, "samples/s"))
    with pytest.raises(DataError, match="different kinds of units"):
        cost_per_sample(PRICE, of(1, "1"), of(10, "s"))


@pytest.mark.parametrize(
    ("metric", "unit", "before", "after", "per", "seconds"),
    [
        ("latency_p50", "s", 0.010, 0.012, "million iterations", 2_000.0),
        ("wall_time", "s", 40.0, 43.6, "thousand runs", 3_600.0),
        ("tokens_per_s", "tokens/s", 500.0, 400.0, "million tokens", 500.0),
        ("goodput_per_s", "1/s", 500.0, 400.0, "million of them", 500.0),
    ],
)
def test_change_for_the_worse_costs_the_device_time_that_the_same_work_takes_more(
    metric, unit, before, after, per, seconds
):
    cost = extra_cost(metric, unit, before, after, 2, PRICE)
    assert cost.per == per
    assert cost.device_hours == pytest.approx(2 * seconds / 3600)
    assert (cost.money, cost.currency) == (pytest.approx(cost.device_hours * 2.5), "EUR")
    assert extra_cost(metric, unit, before, after, 2, no_price("cpu")).money is None


@pytest.mark.parametrize(
    ("metric", "unit", "before", "after"),
    [
        ("latency_p99", "s", 0.01, 0.02),
        ("peak_memory", "B", 1e9, 2e9),
        ("bytes_per_s", "B/s", 2e9, 1e9),
        ("samples_per_s", "samples/s", 5.0, 0.0),
        ("latency_p50", "s", 0.02, 0.01),
    ],
)
def test_what_does_not_tell_the_time_of_work_has_no_cost(metric, unit, before, after):
    assert extra_cost(metric, unit, before, after, 1, PRICE) is None
