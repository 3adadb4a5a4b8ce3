"""What work costs: device time times the price of a device, which the project states with its currency and its day."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from app.domain.arithmetic import divide, multiply
from app.domain.derived import Derived, Given, derive
from app.domain.notices import ExtraCost
from app.domain.units import Quantity, dimension, unit_of

NO_PRICE = "no_price"
MILLION = 1e6
HOUR_S = 3600.0

TIMES = {"latency_p50": (MILLION, "million iterations"), "wall_time": (1e3, "thousand runs")}
"""Metrics that are the time of one of something, and of how many of it the cost is told."""

UNCOSTED = ("FLOP", "B")
"""What is counted over time and is not the work that somebody wants done."""


def price_of(hour: float, currency: str, day: date | str, devices: str) -> Given:
    """Return the price of one device for an hour as an input, with where it is from.

    Args:
        hour: the price of one device for an hour, in `currency`.
        currency: the three letters of ISO 4217.
        day: the day that the price was valid on.
        devices: the glob of device classes that it was stated for.
    """
    return Given(hour, f"{currency}/h", f'[prices."{devices}"], {currency} of {day}')


def no_price(device_class: str) -> Given:
    """Return that no price is stated for a device class."""
    return Given(None, "currency/h", f"no [prices] entry fits {device_class}")


def cost_per_million_tokens(price: Given, devices: Given, tokens_per_s: Given) -> Derived:
    """Return what a million tokens cost in the currency of the price; None where there is no price.

    Args:
        price: the price of one device for an hour, as of `price_of`.
        devices: how many devices work on it [1].
        tokens_per_s: throughput of all of them together [tokens/s].
    """
    return _cost("1e6 · price · devices / throughput", MILLION, price, devices, tokens_per_s)


def cost_per_sample(price: Given, devices: Given, samples_per_s: Given) -> Derived:
    """Return what one sample costs in the currency of the price; None where there is no price. As of tokens."""
    return _cost("price · devices / throughput", 1.0, price, devices, samples_per_s)


def _cost(formula: str, amount: float, price: Given, devices: Given, throughput: Given) -> Derived:
    work = Quantity(amount, _counted(throughput.unit))
    return derive(
        "currency",
        formula,
        {"price": price, "devices": devices, "throughput": throughput},
        lambda given: divide(multiply(given["price"], given["devices"], work), given["throughput"]),
        missing_codes={"price": NO_PRICE},
        may_be_zero=["price"],
    )


def _counted(unit: str) -> str:
    """Return what a throughput counts: `tokens` of `tokens/s`, 1 of `1/s`."""
    return unit_of({symbol: power for symbol, power in dimension(unit).items() if power > 0})


def extra_cost(
    metric: str, unit: str, before: float, after: float, devices: int, price: Given
) -> ExtraCost | None:
    """Return what the same work takes more after a metric has changed; None where the metric does not tell that.

    Args:
        metric: its name.
        unit: its base unit: `s` for the time of one of something, `tokens/s` and its like for how many are done.
        before: the metric's value before [unit].
        after: its value after [unit].
        devices: how many devices work on it.
        price: the price of one device for an hour, as of `price_of`.
    """
    was, now = work_time(metric, unit, before), work_time(metric, unit, after)
    if was is None or now is None or now.seconds <= was.seconds:
        return None
    hours = (now.seconds - was.seconds) * devices / HOUR_S
    if price.value is None:
        return ExtraCost(now.per, hours)
    return ExtraCost(now.per, hours, hours * price.value, price.unit.partition("/")[0])


class WorkTime(NamedTuple):
    """How long so much work takes [s]: `per` is how much, such as `million tokens`."""

    per: str
    seconds: float


def work_time(metric: str, unit: str, value: float) -> WorkTime | None:
    """Return how long an amount of work takes by a metric's value; None where the metric does not tell.

    Args:
        metric: its name.
        unit: its base unit, as of `extra_cost`.
        value: the metric's value [unit].
    """
    if metric in TIMES and unit == "s":
        amount, per = TIMES[metric]
        return WorkTime(per, amount * value)
    counted, slash, time = unit.partition("/")
    if not slash or time != "s" or counted in UNCOSTED or value <= 0:
        return None
    return WorkTime(f"million {'of them' if counted == '1' else counted}", MILLION / value)
