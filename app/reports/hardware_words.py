"""Two device classes held against each other in words: which of them is best, and where each number is from."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.hardware import HardwareComparison, HardwareSide, Kind, Level, Mean, Price, Quantity, Source
from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.sentences import isolated
from app.reports.words import count

TITLES: dict[Kind, str] = {
    Kind.PERFORMANCE: "Performance",
    Kind.ENERGY: "Energy",
    Kind.PERF_PER_WATT: "Performance per watt",
    Kind.COST: "Cost",
}

RATIOS: dict[Kind, str] = {
    Kind.PERFORMANCE: "times as fast as",
    Kind.ENERGY: "times the energy of",
    Kind.PERF_PER_WATT: "times the work per joule of",
    Kind.COST: "times the cost of",
}
"""What a ratio says: head is so many of these base."""

SOURCES: dict[Source, str] = {
    Source.MEASURED: "measured",
    Source.ENERGY_COUNTER: "energy counter",
    Source.POWER_SAMPLES: "power samples",
    Source.SIMULATED: "simulated",
    Source.POSTED: "posted",
    Source.STATED_PRICE: "stated price",
}
"""Where a value is from."""

_BEST = (Kind.PERFORMANCE, Kind.PERF_PER_WATT, Kind.COST)


def hardware_sentence(compared: HardwareComparison, *, named: Callable[[str], str] = isolated) -> str:
    """Return in one sentence which side has the best performance, the best performance per watt and the best cost.

    Args:
        compared: two device classes.
        named: how a device class is written, by default for a page.
    """
    if not compared.cases:
        return "No case is on both device classes, so that neither can be said to be better."
    clauses = [f"{TITLES[kind].lower()}: {_clause(compared, compared.mean(kind), named)}" for kind in _BEST]
    return f"Best {'; best '.join(clauses)}."


def _clause(compared: HardwareComparison, mean: Mean, named: Callable[[str], str]) -> str:
    if mean.ratio is None:
        return f"not known ({mean.why})"
    best, other = named(compared.head.device_class), named(compared.base.device_class)
    times, over = mean.ratio.value, f"over {count(mean.n, 'case')}"
    if mean.best is None:
        ends = quantities.factors(mean.ratio.low, mean.ratio.high)
        return f"open ({_said(best, times, mean.kind, other)}{f', {ends}' if ends else ''}, {over})"
    if mean.best == "base":
        best, other, times = other, best, 1 / times
    return f"{_said(best, times, mean.kind, other)} {over}"


def _said(one: str, times: float, kind: Kind, other: str) -> str:
    """Return that one device class is so many times the other."""
    return f"{one}, {quantities.factor(times)} {RATIOS[kind]} {other}"


def metric_of(its: Quantity) -> str:
    """Return what both sides' values are made of, or empty where they are not of one thing."""
    made_of = {level.formula or level.metric for level in (its.base, its.head) if level}
    return made_of.pop() if len(made_of) == 1 else ""


def level_text(level: Level | None) -> str:
    """Return a value with its unit, and of how much work it is: `0.69 EUR per million samples`."""
    if level is None:
        return quantities.ABSENT
    return format_quantity(level.value, level.unit) + (f" per {level.per}" if level.per else "")


def level_range(level: Level) -> str:
    """Return the range of a value, with one prefix: `12.1 … 13.0 ms`; empty where it has none."""
    if level.low is None or level.high is None or level.low == level.high:
        return ""
    return quantities.between(level.low, level.high, level.unit)


def price_text(side: HardwareSide) -> str:
    """Return what a device costs an hour, with the day that it was stated for; or why nobody knows."""
    return price_words(side.price) if side.price else f"price not known: {side.why}"


def price_words(its: Price) -> str:
    """Return a price with its currency, and of what and when it is: `2.49 EUR an hour, stated for nvidia-* as of …`."""
    hour = quantities.trim(f"{its.hour:.10f}")
    return f"{hour} {its.currency} an hour, stated for {its.devices} as of {its.day}"
