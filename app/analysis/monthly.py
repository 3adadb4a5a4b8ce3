"""What a month's work takes at one level of a metric: device time, energy, money, by what somebody stated.

A metric tells this only of the work that the traffic counts: the time of a call tells what so many calls take, a rate
in tokens what so many tokens take. A rate in `1/s` tells nothing of calls: what it counts may be many a call.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.costs import DAYS_A_MONTH, ITERATIONS, Costs, Power, Traffic
from app.domain.hardware import Price
from app.domain.weekly import Money, Monthly

HOUR_S = 3600.0
KWH_J = 3.6e6

CALL_TIMES = ("latency_p50", "wall_time")
"""Metrics that are the time of one call."""

CALL_ENERGY = "energy_per_iter"


def seconds_each(metric: str, unit: str, value: float, counted: str) -> float | None:
    """Return the time of one of what is counted [s]; None where the metric does not tell.

    Args:
        metric: its name.
        unit: its base unit.
        value: its level [unit], above 0.
        counted: what traffic counts: `ITERATIONS`, or `tokens` and the like.
    """
    if value <= 0:
        return None
    if metric in CALL_TIMES and unit == "s":
        return value if counted == ITERATIONS else None
    return 1 / value if unit == f"{counted}/s" and counted != ITERATIONS else None


def joules_each(metric: str, unit: str, value: float, counted: str) -> float | None:
    """Return the energy of one of what is counted [J]; None where the metric does not tell. As of `seconds_each`."""
    if value <= 0:
        return None
    if metric == CALL_ENERGY and unit == "J":
        return value if counted == ITERATIONS else None
    return 1 / value if unit == f"{counted}/J" and counted != ITERATIONS else None


def more_a_month(
    metric: str,
    unit: str,
    before: float,
    after: float,
    *,
    devices: int,
    traffic: Traffic,
    price: Price | None,
    power: Power | None,
) -> Monthly | None:
    """Return what the stated traffic takes more a month since a metric moved; None where the metric does not tell.

    Args:
        metric: its name.
        unit: its base unit.
        before: its level before [unit].
        after: its level after [unit].
        devices: how many devices work on one call together.
        traffic: how much is done a day.
        price: what one device costs an hour; None where nobody stated one.
        power: what energy costs; None where nobody stated it.
    """
    a_month = traffic.per_day * DAYS_A_MONTH
    told = f"{_per_day(traffic)} a day (stated {traffic.day})"
    times = [seconds_each(metric, unit, value, traffic.unit) for value in (before, after)]
    if times[0] is not None and times[1] is not None:
        hours = a_month * (times[1] - times[0]) * devices / HOUR_S
        if price is None:
            return Monthly(device_hours=hours, basis=(told,))
        money = (Money(hours * price.hour, price.currency),)
        return Monthly(device_hours=hours, money=money, basis=(told, _priced(price)))
    energies = [joules_each(metric, unit, value, traffic.unit) for value in (before, after)]
    if energies[0] is not None and energies[1] is not None:
        kwh = a_month * (energies[1] - energies[0]) / KWH_J * (power.pue if power else 1.0)
        if power is None:
            return Monthly(kwh=kwh, basis=(told,))
        return Monthly(
            kwh=kwh, money=(Money(kwh * power.kwh, power.currency),), basis=(told, _powered(power))
        )
    return None


def stated_monthly(
    metric: str,
    unit: str,
    before: float,
    after: float,
    *,
    benchmark: str,
    device_class: str,
    devices: int,
    costs: Costs,
) -> Monthly | None:
    """Return the same by everything that somebody stated; None where there is no traffic that the metric tells of."""
    traffic = costs.traffic_of(benchmark, device_class)
    if traffic is None:
        return None
    return more_a_month(
        metric,
        unit,
        before,
        after,
        devices=devices,
        traffic=traffic,
        price=costs.price(device_class),
        power=costs.power,
    )


def total(parts: Iterable[Monthly]) -> Monthly | None:
    """Return the sum: money by currency, the largest amount first; None of nothing. What one lacks the others have."""
    every = list(parts)
    if not every:
        return None
    amounts: dict[str, float] = {}
    for part in every:
        for money in part.money:
            amounts[money.currency] = amounts.get(money.currency, 0.0) + money.amount
    ordered = sorted(amounts.items(), key=lambda its: (-abs(its[1]), its[0]))
    return Monthly(
        device_hours=_sum(part.device_hours for part in every),
        kwh=_sum(part.kwh for part in every),
        money=tuple(Money(amount, currency) for currency, amount in ordered),
        basis=tuple(dict.fromkeys(sentence for part in every for sentence in part.basis)),
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _per_day(traffic: Traffic) -> str:
    counted = "calls" if traffic.unit == ITERATIONS else traffic.unit
    digits = (
        f"{traffic.per_day:,.0f}".replace(",", "\u202f") if traffic.per_day >= 100 else f"{traffic.per_day:g}"
    )
    return f"{digits} {counted}"


def _priced(price: Price) -> str:
    return f"{price.hour:g} {price.currency} an hour for a device of {price.devices} (stated {price.day})"


def _powered(power: Power) -> str:
    pue = f", {power.pue:g} kWh drawn for each" if power.pue != 1 else ""
    return f"{power.kwh:g} {power.currency} a kWh{pue} (stated {power.day})"
