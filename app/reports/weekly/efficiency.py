"""Efficiency as a reader sees it: one line a device class and metric, and the cases farthest from their roof."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from app.domain.results import Better
from app.domain.units import format_quantity
from app.domain.weekly import ClassEfficiency, Efficiency, Efficient, EfficientCase
from app.reports import quantities
from app.reports.text import Name, name, plain
from app.reports.weekly.naming import case_link, metric_title
from app.reports.weekly.parts import Link, address
from app.reports.weekly.pictures import share_picture, weeks_picture
from app.reports.words import count

SHARES = ("mfu", "hfu", "bandwidth_util")
"""Metrics that are told in percent."""

IN_TABLE = 5
"""Metrics of a case that are shown."""


@dataclass(frozen=True)
class ClassRow:
    """One metric over the cases of a device class."""

    metric: str
    level: str
    move: str
    tone: str
    cases: str


@dataclass(frozen=True)
class ClassBlock:
    """One device class."""

    name: Name
    href: str
    rows: tuple[ClassRow, ...]


@dataclass(frozen=True)
class MetricCell:
    """One metric of a case: now, against last week, against its best."""

    metric: str
    href: str
    level: str
    move: str
    tone: str
    best: str
    best_title: str


@dataclass(frozen=True)
class CaseRow:
    """One case on one device class."""

    case: Link
    project: Name | None
    device_class: Name
    roof: str
    roof_picture: Markup
    picture: Markup
    cells: tuple[MetricCell, ...]


@dataclass(frozen=True)
class EfficiencyView:
    """Both tables."""

    classes: tuple[ClassBlock, ...]
    cases: tuple[CaseRow, ...]
    more: str
    all_href: str


def efficiency_view(efficiency: Efficiency, base: str, project: str) -> EfficiencyView:
    """Return the view of a week's efficiency; `project` is empty where the report is of several."""
    blocks = groupby(efficiency.classes, key=lambda row: row.device_class)
    more = efficiency.n_cases - len(efficiency.cases)
    return EfficiencyView(
        classes=tuple(
            ClassBlock(
                name(device_class),
                address(base, "/series", project=project, device_class=device_class),
                tuple(map(_class_row, rows)),
            )
            for device_class, rows in blocks
        ),
        cases=tuple(_case_row(case, base, project) for case in efficiency.cases),
        more=f"and {count(more, 'case')} nearer to what their devices can" if more > 0 else "",
        all_href=address(base, "/series", project=project, metric="mfu"),
    )


def level_text(metric: str, value: float, unit: str) -> str:
    """Return a level: shares in percent, all else with its unit."""
    return quantities.percent(value) if metric in SHARES else format_quantity(value, unit)


def move_tone(ratio: float | None, better: Better) -> str:
    """Return the tone of a change from last week; what is below half a percent has none."""
    if ratio is None or abs(ratio - 1) < 0.005:
        return ""
    return "improved" if (ratio > 1) == (better == "higher") else "regressed"


def _class_row(row: ClassEfficiency) -> ClassRow:
    return ClassRow(
        metric=metric_title(row.metric),
        level=level_text(row.metric, row.median, row.unit),
        move="" if row.ratio is None else quantities.change(row.ratio - 1),
        tone=move_tone(row.ratio, row.better),
        cases=count(row.n, "case"),
    )


def _case_row(case: EfficientCase, base: str, project: str) -> CaseRow:
    return CaseRow(
        case=case_link(base, case.metrics[0].series.id, case.benchmark, case.params),
        project=None if project else name(case.project, 60),
        device_class=name(case.device_class),
        roof="" if case.roof is None else quantities.percent(case.roof),
        roof_picture=Markup("") if case.roof is None else share_picture(case.roof),
        picture=weeks_picture(case.metrics[0].weeks),
        cells=tuple(_cell(metric, base) for metric in case.metrics[:IN_TABLE]),
    )


def _cell(its: Efficient, base: str) -> MetricCell:
    series = its.series
    ratio = its.now.median / its.last.median if its.last and its.last.median > 0 else None
    return MetricCell(
        metric=metric_title(series.metric),
        href=f"{base}/series/{series.id}",
        level=level_text(series.metric, its.now.median, series.unit),
        move="" if ratio is None else quantities.change(ratio - 1),
        tone=move_tone(ratio, series.better),
        best=level_text(series.metric, its.best, series.unit),
        best_title=f"best point: {plain(its.best_commit[:10])}",
    )
