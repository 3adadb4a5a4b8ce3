"""The whole weekly report as one document that loads nothing, and as a letter for mail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from app.analysis.monthly import total
from app.domain.weekly import Monthly
from app.domain.weekly_fleet import FleetWeek
from app.domain.weekly_report import WeeklyReport
from app.reports import quantities
from app.reports.html import report_environment
from app.reports.text import Name, name, plain
from app.reports.weekly.alerts import AlertsView, alerts_view
from app.reports.weekly.bottlenecks import BottlenecksView, bottlenecks_view
from app.reports.weekly.changes import ChangesView, changes_view
from app.reports.weekly.efficiency import EfficiencyView, efficiency_view
from app.reports.weekly.fleet import FleetView, fleet_view
from app.reports.weekly.hardware import HardwareView, hardware_view
from app.reports.weekly.headline import headline, second_sentence
from app.reports.weekly.naming import metric_title
from app.reports.weekly.parts import address, hours, moneys
from app.reports.weekly.scaling import ScalingView, scaling_view
from app.reports.words import count

IN_LETTER = 5
"""Rows of each table that a letter has; the page has the others."""


@dataclass(frozen=True)
class Tile:
    """One number of the week, with what it is above and what to know of it below; it leads to its section."""

    title: str
    number: str
    note: str
    section: str
    tone: str = ""


@dataclass(frozen=True)
class WeeklyView:
    """The whole report."""

    title: str
    project: Name | None
    week: str
    days: str
    made_at: str
    is_over: bool
    headline: str
    second: str
    tone: str
    href: str
    tiles: tuple[Tile, ...]
    changes: ChangesView
    efficiency: EfficiencyView
    bottlenecks: BottlenecksView
    hardware: HardwareView
    scaling: ScalingView
    fleet: FleetView
    alerts: AlertsView
    coverage: str


def weekly_view(report: WeeklyReport, base: str) -> WeeklyView:
    """Return the view of a report; `base` is the address of the service's pages, without a slash at its end."""
    changes = changes_view(report.changes, base, report.project)
    efficiency = efficiency_view(report.efficiency, base, report.project)
    of = f"of {plain(report.project)}" if report.project else "of all projects"
    return WeeklyView(
        title=f"Week {report.week} {of}",
        project=name(report.project, 80) if report.project else None,
        week=str(report.week),
        days=_days(report),
        made_at=quantities.moment(report.made_at),
        is_over=report.is_over,
        headline=headline(report),
        second=second_sentence(report),
        tone="regressed" if report.changes.n_waste else "open" if report.changes.n_drifts else "improved",
        href=weekly_address(report, base),
        tiles=tuple(_tiles(report, changes, efficiency)),
        changes=changes,
        efficiency=efficiency,
        bottlenecks=bottlenecks_view(report.bottlenecks, base),
        hardware=hardware_view(report.hardware, base),
        scaling=scaling_view(report.scaling, base),
        fleet=fleet_view(report.fleet, base),
        alerts=alerts_view(report.alerts, base),
        coverage=_coverage(report),
    )


def render_weekly(report: WeeklyReport, base: str) -> str:
    """Return the page: complete in itself, light and dark, for a screen, a phone and paper."""
    return weekly_environment().get_template("weekly/page.html").render(view=weekly_view(report, base))


def render_letter(report: WeeklyReport, base: str) -> str:
    """Return the letter: tables and inline styles alone, since mail programs know little else."""
    view = weekly_view(report, base)
    return weekly_environment().get_template("weekly/letter.html").render(view=view, most=IN_LETTER)


@cache
def weekly_environment() -> Environment:
    """Return the templates, with the style sheets that the page has in it."""
    environment = report_environment().overlay()
    environment.globals = dict(environment.globals)
    static = files("dashboards").joinpath("static")
    templates = files("app.reports").joinpath("templates")
    sheets = (static.joinpath("ratchet.css"), templates.joinpath("weekly", "weekly.css"))
    environment.globals["style"] = Markup("\n".join(sheet.read_text("utf-8") for sheet in sheets))  # noqa: S704
    return environment


def weekly_address(report: WeeklyReport, base: str) -> str:
    """Return where the page of a report is to be seen."""
    return address(base, f"/weekly/{report.week}", project=report.project)


def _days(report: WeeklyReport) -> str:
    monday, sunday = report.week.monday, report.week.sunday
    first = f"{monday:%-d}" if monday.month == sunday.month else f"{monday:%-d %B}"
    return f"{first}\u2009–\u2009{sunday:%-d %B %Y}"


def _tiles(report: WeeklyReport, changes: ChangesView, efficiency: EfficiencyView) -> Iterable[Tile]:
    yield _losses(report, changes)
    yield _gains(report, changes)
    yield from _utilisation(efficiency)
    yield from _accelerators(report)
    if report.alerts.n_open:
        unowned = report.alerts.n_unowned
        note = "everybody's taken on" if not unowned else f"{unowned} of them nobody's"
        yield Tile("Open alerts", str(report.alerts.n_open), note, "alerts")


def _losses(report: WeeklyReport, changes: ChangesView) -> Tile:
    its, told = report.changes, changes.waste_total
    new = f"{its.n_new} new"
    note = f"a month; {count(its.n_waste, 'loss', 'losses')}, {new}" if told else new
    return Tile(
        "Losses that stand",
        told[0] if told else str(its.n_waste),
        note,
        "losses",
        "regressed" if its.n_waste else "",
    )


def _gains(report: WeeklyReport, changes: ChangesView) -> Tile:
    n, told = report.changes.n_gains, changes.gains_total
    note = f"a month; {count(n, 'change')}" if told else f"change{'' if n == 1 else 's'} for the better"
    return Tile("Won in this week", told[0] if told else str(n), note, "gains", "improved" if n else "")


def _utilisation(efficiency: EfficiencyView) -> Iterable[Tile]:
    """Yield the share of its peak that the first device class which tells it is used to."""
    for block in efficiency.classes:
        for row in block.rows:
            if row.metric == metric_title("mfu"):
                note = f"median of {row.cases} on {block.name.shown}"
                yield Tile(row.metric, row.level, note, "efficiency", row.tone)
                return


def _accelerators(report: WeeklyReport) -> Iterable[Tile]:
    """Yield how much of their time devices were held, and what the rest cost, where the report is of all devices."""
    there = sum(its.there_s or 0.0 for its in report.fleet.classes)
    if not there:
        return
    idle = [its.idle_cost for its in report.fleet.classes if its.idle_cost is not None]
    idle_h = hours(sum(its.idle_s or 0.0 for its in report.fleet.classes))
    spent = total(Monthly(money=(each,)) for each in idle)
    note = f"of their time; idle{_by(report.fleet)}: {idle_h}" + (
        f", {moneys(spent.money)}" if spent and spent.money else ""
    )
    share = sum(its.held_s for its in report.fleet.classes) / there
    yield Tile("Accelerators held", quantities.percent(share), note, "fleet")


def _by(fleet: FleetWeek) -> str:
    """Return who says what was idle, where that is not leases alone."""
    if not fleet.is_seen:
        return ""
    return " by DCGM and leases" if fleet.has_unseen else " by DCGM"


def _coverage(report: WeeklyReport) -> str:
    its = report.coverage
    checks = ", ".join(f"{n} {conclusion.replace('_', ' ')}" for conclusion, n in its.checks)
    text = (
        f"{its.n_measured} of {count(its.n_series, 'series', 'series')} have points of this week: "
        f"{count(its.n_points, 'point')} of {count(its.n_commits, 'commit')}."
    )
    return f"{text} Checks: {checks}." if checks else text
