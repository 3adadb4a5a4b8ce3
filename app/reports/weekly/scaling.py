"""Scaling efficiency as people read it: now, last week, and over how many devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.domain.results import case_label
from app.domain.weekly_scaling import ScalingCase
from app.reports import quantities
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import MOST, Link, Rest, address, link, rest, share_bar


@dataclass(frozen=True)
class ScalingRow:
    """One series."""

    case: Link
    where: Name
    project: str
    devices: str
    now: str
    last: str
    change: str
    bar: Markup
    run: str


@dataclass(frozen=True)
class ScalingView:
    """The section; empty without rows."""

    rows: tuple[ScalingRow, ...]
    rest: Rest | None


def scaling_view(cases: Sequence[ScalingCase], base: str) -> ScalingView:
    """Return the section with links to the service at `base`: the worst first."""
    several = len({case.project for case in cases}) > 1
    return ScalingView(
        rows=tuple(_row(case, base, several=several) for case in cases[:MOST]),
        rest=rest(
            len(cases) - MOST,
            "series, which scales better",
            "series, which scale better",
            address(base, "/series", metric="scaling_efficiency"),
        ),
    )


def _row(case: ScalingCase, base: str, *, several: bool) -> ScalingRow:
    return ScalingRow(
        case=link(case_label(case.benchmark, case.params), base, f"/series/{case.series_id}"),
        where=name(case.device_class, 40),
        project=plain(case.project) if several else "",
        devices=str(case.devices) if case.devices else quantities.ABSENT,
        now=quantities.percent(case.now),
        last=quantities.percent(case.last),
        change=quantities.change(case.change),
        bar=share_bar(
            case.now, label=f"{quantities.percent(case.now)} of the best", low=case.low, high=case.high
        ),
        run=address(base, f"/runs/{case.run}"),
    )
