"""How well the devices were used: by device class, and the cases that are farthest from what their devices can."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from sqlalchemy.orm import Session

from app.domain.weekly import ClassEfficiency, Efficiency, Efficient, EfficientCase, Level, SeriesRef
from app.services.weekly.changes import quarter
from app.services.weekly.levels import Weeks
from app.services.weekly.scope import Scope
from app.store.repositories import weekly
from workers.protocol import params_key

ROOF = ("mfu", "bandwidth_util")
"""Shares of the roofs: the larger is the share of the roof that the work lies under (docs/efficiency.md)."""

SHOWN_METRICS = (
    *ROOF,
    "hfu",
    "perf_per_watt",
    "energy_per_iter",
    "cost_per_million_tokens",
    "cost_per_sample",
    "tokens_per_s",
    "samples_per_s",
    "requests_per_s",
)
"""What is told of a case, in this order; rates beside what makes them efficient."""

MAKES_EFFICIENT = SHOWN_METRICS[: SHOWN_METRICS.index("tokens_per_s")]
"""Metrics of which a case has one at least."""

SHOWN = 12
"""Cases that are told each by itself; the others are counted."""

Case = tuple[str, str, str, str]
"""Project, benchmark, parameters and device class."""


def read_efficiency_of(session: Session, scope: Scope, its: Weeks) -> Efficiency:
    """Return the efficiency of a week."""
    series = weekly.series_with(session, scope.project_ids, SHOWN_METRICS)
    now = {series_id: its.levels[series_id] for series_id in series if series_id in its.levels}
    last = its.before
    cases = _by_case(series[series_id] for series_id in now)
    told = sorted(cases.values(), key=lambda rows: _order(rows, now))
    shown = [_case(rows, now, last) for rows in told[:SHOWN]]
    return Efficiency(
        classes=tuple(_classes((series[series_id] for series_id in now), now, last)),
        cases=tuple(_completed(session, shown, its)),
        n_cases=len(cases),
    )


def _by_case(series: Iterable[SeriesRef]) -> Mapping[Case, list[SeriesRef]]:
    """Return the series of each case that has a metric of efficiency."""
    found: dict[Case, list[SeriesRef]] = defaultdict(list)
    for one in series:
        found[one.project, one.benchmark, params_key(one.params), one.device_class].append(one)
    return {case: rows for case, rows in found.items() if any(one.metric in MAKES_EFFICIENT for one in rows)}


def _order(rows: Sequence[SeriesRef], now: Mapping[int, Level]) -> tuple[object, ...]:
    """Have those farthest from their roof first, and those without a roof last."""
    roof = roof_share(rows, now)
    first = rows[0]
    names = first.project, first.benchmark, params_key(first.params), first.device_class
    return (roof is None, roof or 0.0, *names)


def roof_share(rows: Iterable[SeriesRef], levels: Mapping[int, Level]) -> float | None:
    """Return the share of the roof that is nearer; None where no share is known."""
    shares = [levels[one.id].median for one in rows if one.metric in ROOF and one.id in levels]
    return max(shares) if shares else None


def _case(rows: Sequence[SeriesRef], now: Mapping[int, Level], last: Mapping[int, Level]) -> EfficientCase:
    first = rows[0]
    ordered = sorted(rows, key=lambda one: (SHOWN_METRICS.index(one.metric), one.id))
    return EfficientCase(
        project=first.project,
        benchmark=first.benchmark,
        params=first.params,
        device_class=first.device_class,
        metrics=tuple(
            Efficient(one, now[one.id], last.get(one.id), now[one.id].median, "") for one in ordered
        ),
        roof=roof_share(rows, now),
        roof_last=roof_share(rows, last),
    )


def _completed(session: Session, cases: Sequence[EfficientCase], its: Weeks) -> Iterable[EfficientCase]:
    """Add what takes a look at whole histories, of the cases that are shown alone: the best point, and the picture."""
    ids = [metric.series.id for case in cases for metric in case.metrics]
    best = weekly.best_points(session, ids, its.week.end)
    pictures = weekly.weekly_medians(
        session, [case.metrics[0].series.id for case in cases], quarter(its.week)
    )
    for case in cases:
        metrics = [
            replace(
                metric,
                best=best[metric.series.id].value,
                best_commit=best[metric.series.id].sha,
                weeks=pictures.get(metric.series.id, ()),
            )
            for metric in case.metrics
        ]
        yield replace(case, metrics=tuple(metrics))


def _classes(
    series: Iterable[SeriesRef], now: Mapping[int, Level], last: Mapping[int, Level]
) -> Iterable[ClassEfficiency]:
    """Yield each metric of efficiency over the cases of each device class; money of each currency by itself."""
    groups: dict[tuple[str, int, str], list[SeriesRef]] = defaultdict(list)
    for one in series:
        if one.metric in MAKES_EFFICIENT:
            groups[one.device_class, SHOWN_METRICS.index(one.metric), one.unit].append(one)
    for device_class, place, unit in sorted(groups):
        rows = groups[device_class, place, unit]
        ratios = [
            math.log(now[one.id].median / last[one.id].median)
            for one in rows
            if one.id in last and now[one.id].median > 0 and last[one.id].median > 0
        ]
        yield ClassEfficiency(
            device_class=device_class,
            metric=rows[0].metric,
            unit=unit,
            better=rows[0].better,
            n=len(rows),
            median=median(now[one.id].median for one in rows),
            ratio=math.exp(sum(ratios) / len(ratios)) if ratios else None,
            n_compared=len(ratios),
        )
