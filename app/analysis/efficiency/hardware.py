"""Two device classes over the cases that both have: speed, energy, work per joule, and what work costs.

Of each case the numbers of both sides that are of the same thing are held against each other, the first in the order
below. A range is that of the values: from the least favourable of both sides to the most favourable, and no confidence
interval. Nothing is filled in: where a side has no energy or no price, that is said and the rest stands.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.analysis.efficiency.cost import HOUR_S, MILLION, work_time
from app.domain.arithmetic import divide
from app.domain.hardware import (
    HardwareCase,
    HardwareComparison,
    HardwareSide,
    Kind,
    Level,
    Mean,
    Measured,
    MeasuredCase,
    Price,
    Quantity,
    Ratio,
    Source,
)
from app.domain.metrics import METRICS
from app.domain.units import Quantity as Amount
from app.domain.units import dimension, unit_of

SPEEDS = (
    "tokens_per_s",
    "samples_per_s",
    "requests_per_s",
    "goodput_per_s",
    "latency_p50",
    "wall_time",
    "e2e",
    "tpot",
    "time_to_quality",
    "flops_per_s",
    "bytes_per_s",
)
"""Metrics that tell how fast a case is, the first that both sides have before the others; then a project's own rates
and times."""

COSTS = {"cost_per_million_tokens": ("tokens_per_s", 1.0), "cost_per_sample": ("samples_per_s", MILLION)}
"""Stored costs: of which speed they are made, and how many of them the cost of a million is."""

ITERATION = Amount(1.0, "iterations")


class Offer(NamedTuple):
    """A value that a side could be compared by, with those of the other side that have the same key."""

    key: tuple[str, ...]
    level: Level


def compare_hardware(
    base: HardwareSide, head: HardwareSide, cases: Iterable[MeasuredCase]
) -> HardwareComparison:
    """Return both device classes case by case, and the geometric means of their ratios.

    Args:
        base: one device class.
        head: another.
        cases: what both have; those that tell neither speed nor energy nor cost are left out.
    """
    compared = tuple(case for case in (_case(base, head, its) for its in cases) if case.known)
    means = tuple(_mean(kind, [getattr(case, kind) for case in compared]) for kind in Kind)
    return HardwareComparison(base, head, compared, means)


def _case(base: HardwareSide, head: HardwareSide, its: MeasuredCase) -> HardwareCase:
    return HardwareCase(
        its.benchmark,
        its.params,
        performance=_quantity(
            Kind.PERFORMANCE,
            _speeds(its.base),
            _speeds(its.head),
            ("no latency or throughput is stored",) * 2,
        ),
        energy=_quantity(
            Kind.ENERGY,
            _of_energy(its.base, "energy_per_iter", "lower"),
            _of_energy(its.head, "energy_per_iter", "lower"),
            (_NO_ENERGY,) * 2,
        ),
        perf_per_watt=_quantity(
            Kind.PERF_PER_WATT,
            _of_energy(its.base, "perf_per_watt", "higher"),
            _of_energy(its.head, "perf_per_watt", "higher"),
            (_NO_ENERGY,) * 2,
        ),
        cost=_quantity(
            Kind.COST,
            _costs(its.base, base.price),
            _costs(its.head, head.price),
            (_why_no_cost(its.base, base), _why_no_cost(its.head, head)),
        ),
    )


_NO_ENERGY = "no energy_per_iter or perf_per_watt is stored"


# --- what a side could be compared by -------------------------------------------------------------------------


def _speeds(numbers: Sequence[Measured]) -> list[Offer]:
    return [Offer((one.metric, one.unit), _stored(one, one.source)) for one in _by_speed(numbers)]


def _by_speed(numbers: Sequence[Measured]) -> list[Measured]:
    """Return the numbers that tell how fast a case is, the ones that are preferred first."""
    known = {one.metric: one for one in numbers}
    listed = [known[name] for name in SPEEDS if name in known]
    own = [one for one in numbers if one.metric not in METRICS]
    rates = [one for one in own if one.better == "higher" and one.unit.endswith("/s")]
    times = [one for one in own if one.better == "lower" and one.unit == "s"]
    return [one for one in (*listed, *rates, *times) if one.value > 0]


def _of_energy(numbers: Sequence[Measured], wanted: str, better: str) -> Iterator[Offer]:
    """Yield what is stored as the metric that is wanted, then the other metric of energy turned over."""
    known = {one.metric: one for one in numbers if one.metric in ("energy_per_iter", "perf_per_watt")}
    for metric in sorted(known, key=lambda metric: metric != wanted):
        level = _of_one(known[metric])
        if level is None:
            continue
        if metric != wanted:
            level = replace(_turned_over(level), better=better, formula=f"1 / {metric}")
        yield Offer((level.unit,), level)


def _of_one(its: Measured) -> Level | None:
    """Return energy of one of something, an iteration where nothing is counted, and work for a joule as it is.

    None for what cannot be right.
    """
    unit = unit_of(dimension(its.unit))
    above, _, below = unit.partition("/")
    if its.value <= 0 or (above if its.metric == "energy_per_iter" else below) != "J":
        return None
    if unit == "J":
        unit = divide(Amount(1.0, "J"), ITERATION).unit
    return replace(_stored(its, its.energy), unit=unit)


def _turned_over(level: Level) -> Level:
    low, high = (None if end is None else 1 / end for end in (level.high, level.low))
    turned = divide(Amount(1.0, "1"), Amount(level.value, level.unit))
    return replace(level, unit=turned.unit, value=turned.value, low=low, high=high)


def _costs(numbers: Sequence[Measured], price: Price | None) -> list[Offer]:
    """Return what work costs by the stated price, then what is stored of cost."""
    stated = [_at_price(one, price) for one in _by_speed(numbers)] if price else []
    return [offer for offer in stated if offer] + [
        _stored_cost(one) for one in numbers if one.metric in COSTS and one.value >= 0
    ]


def _at_price(its: Measured, price: Price) -> Offer | None:
    work = work_time(its.metric, its.unit, its.value)
    if work is None or its.devices is None:
        return None
    a_second = price.hour * its.devices / HOUR_S
    level = _mapped(_stored(its, Source.STATED_PRICE), lambda value: _seconds(its, value) * a_second)
    sign = "·" if its.unit == "s" else "/"
    level = replace(
        level,
        unit=price.currency,
        better="lower",
        per=work.per,
        formula=f"price · devices {sign} {its.metric}",
    )
    return Offer((its.metric, level.unit, level.per), level)


def _seconds(its: Measured, value: float) -> float:
    work = work_time(its.metric, its.unit, value)
    assert work is not None
    return work.seconds


def _stored_cost(its: Measured) -> Offer:
    speed, times = COSTS[its.metric]
    per = f"million {'tokens' if speed == 'tokens_per_s' else 'samples'}"
    level = _mapped(_stored(its, its.source), lambda value: value * times)
    formula = "" if times == 1 else f"1e6 · {its.metric}"
    return Offer((speed, its.unit, per), replace(level, per=per, formula=formula))


def _why_no_cost(numbers: Sequence[Measured], side: HardwareSide) -> str:
    if side.price is None:
        return "no price is known"
    speeds = [one for one in _by_speed(numbers) if work_time(one.metric, one.unit, one.value)]
    if not speeds:
        return "no stored metric tells how long an amount of work takes"
    return f"{speeds[0].run} does not tell how many devices worked"


def _stored(its: Measured, source: Source) -> Level:
    low, high = min(its.low, its.value), max(its.high, its.value)
    is_known = low > 0 and (its.n > 1 or low < high)
    return Level(
        metric=its.metric,
        unit=its.unit,
        better=its.better,
        value=its.value,
        low=low if is_known else None,
        high=high if is_known else None,
        n=its.n,
        run=its.run,
        commit=its.commit,
        source=source,
        devices=its.devices,
    )


def _mapped(level: Level, made: Callable[[float], float]) -> Level:
    """Return the level with its value and range put through a function that only rises or only falls."""
    if level.low is None or level.high is None:
        return replace(level, value=made(level.value))
    low, high = sorted((made(level.low), made(level.high)))
    return replace(level, value=made(level.value), low=low, high=high)


# --- both sides -----------------------------------------------------------------------------------------------


def _quantity(kind: Kind, base: Iterable[Offer], head: Iterable[Offer], lacks: tuple[str, str]) -> Quantity:
    """Return the first values of both sides that are of the same thing; else the first of either, without a ratio."""
    base, head = list(filter(_is_finite, base)), list(filter(_is_finite, head))
    of_head = {offer.key: offer.level for offer in reversed(head)}
    both = next(((one.level, of_head[one.key]) for one in base if one.key in of_head), None)
    if both is not None:
        ratio = _ratio(kind, *both)
        return Quantity(kind, *both, ratio, () if ratio else ("there is no ratio of these",))
    levels = [offers[0].level if offers else None for offers in (base, head)]
    if levels[0] and levels[1]:
        return Quantity(kind, levels[0], levels[1], None, (_unlike(levels[0], levels[1]),))
    sides = zip(("base", "head"), levels, lacks, strict=True)
    why = tuple(f"{side}: {lack}" for side, level, lack in sides if level is None)
    return Quantity(kind, levels[0], levels[1], None, why)


def _is_finite(offer: Offer) -> bool:
    """Tell whether a value and its range are numbers: what is turned over, or a million of, may be beyond them."""
    level = offer.level
    return all(math.isfinite(end) for end in (level.value, level.low, level.high) if end is not None)


def _unlike(base: Level, head: Level) -> str:
    if base.per == head.per and base.metric == head.metric:
        return f"{base.unit} and {head.unit} are never changed into each other"
    return f"base has {_named(base)}, head {_named(head)}: not of the same thing"


def _named(level: Level) -> str:
    return f"{level.metric} [{level.unit}{' per ' if level.per else ''}{level.per}]"


def _ratio(kind: Kind, base: Level, head: Level) -> Ratio | None:
    """Return head over base; of speeds, where it is times that are known, base's time over head's."""
    above, below = (head, base) if head.better == kind.better else (base, head)
    value = _over(above.value, below.value)
    low, high = _over(above.low, below.high), _over(above.high, below.low)
    if value is None:
        return None
    return Ratio(value, low, high) if low and high else Ratio(value, None, None)


def _over(above: float | None, below: float | None) -> float | None:
    """Return a ratio of two numbers above zero, as far as it is one itself."""
    if above is None or below is None or min(above, below) <= 0:
        return None
    ratio = above / below
    return ratio if 0 < ratio < math.inf else None


def _mean(kind: Kind, quantities: Sequence[Quantity]) -> Mean:
    ratios = [its.ratio for its in quantities if its.ratio]
    if not ratios:
        return Mean(kind, 0, None, _commonest(quantities))
    lows = [one.low for one in ratios if one.low is not None]
    highs = [one.high for one in ratios if one.high is not None]
    has_range = len(lows) == len(highs) == len(ratios)
    mean = Ratio(
        _geometric([one.value for one in ratios]),
        _geometric(lows) if has_range else None,
        _geometric(highs) if has_range else None,
    )
    return Mean(kind, len(ratios), mean)


def _geometric(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _commonest(quantities: Sequence[Quantity]) -> str:
    """Return why most of them have no ratio."""
    if not quantities:
        return "no case is on both device classes"
    ((why, _),) = Counter("; ".join(its.why) for its in quantities).most_common(1)
    return why
