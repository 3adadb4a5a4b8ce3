"""The same work on several device classes as people read it: so many times a reference, of speed, energy and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.hardware import HardwareComparison, Kind, Mean
from app.domain.weekly_hardware import HardwareWeek
from app.reports import quantities
from app.reports.hardware_words import TITLES
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import Link, Rest, address, link, rest
from app.reports.words import count


@dataclass(frozen=True)
class RatioCell:
    """One ratio of a class to the reference, its range, over how many cases, or why there is none.

    `tone` is `improved` where the class is better for sure, `regressed` where the reference is, else empty.
    """

    title: str
    text: str
    note: str
    word: str
    tone: str


@dataclass(frozen=True)
class HardwareRow:
    """One device class; it leads to the comparison with the reference."""

    device_class: Link
    cases: str
    cells: tuple[RatioCell, ...]
    doubt: str


@dataclass(frozen=True)
class HardwareProject:
    """One project with its reference class."""

    project: Name
    reference: Link
    n_cases: str
    price: str
    rows: tuple[HardwareRow, ...]
    rest: Rest | None


@dataclass(frozen=True)
class HardwareView:
    """The section; empty without projects."""

    projects: tuple[HardwareProject, ...]
    titles: tuple[str, ...]


def hardware_view(weeks: Sequence[HardwareWeek], base: str) -> HardwareView:
    """Return the section with links to the service at `base`."""
    return HardwareView(tuple(_project(week, base) for week in weeks), tuple(TITLES[kind] for kind in Kind))


def _project(week: HardwareWeek, base: str) -> HardwareProject:
    where = address(base, "/compare", project=week.project)
    return HardwareProject(
        project=name(week.project),
        reference=link(week.reference, base, "/series", project=week.project, device_class=week.reference),
        n_cases=count(week.n_cases, "case"),
        price=_price(week.compared[0]) if week.compared else "",
        rows=tuple(_row(week, compared, base) for compared in week.compared),
        rest=rest(week.n_left_out, "class", "classes with fewer cases", where),
    )


def _price(compared: HardwareComparison) -> str:
    its = compared.base.price
    return (
        f"{quantities.trim(f'{its.hour:.10f}')} {plain(its.currency)} an hour as of {plain(its.day)}"
        if its
        else ""
    )


def _row(week: HardwareWeek, compared: HardwareComparison, base: str) -> HardwareRow:
    other = compared.head.device_class
    n = compared.n_of_two_commits
    return HardwareRow(
        device_class=link(other, base, "/compare", project=week.project, base=week.reference, head=other),
        cases=str(len(compared.cases)),
        cells=tuple(_cell(compared.mean(kind)) for kind in Kind),
        doubt=f"{count(n, 'case')} of two commits: code is in the ratio, too" if n else "",
    )


def _once(why: str) -> str:
    """Return what both sides lack once."""
    sides = [part.partition(": ")[2] for part in why.split("; ")]
    return f"both: {sides[0]}" if len(sides) == 2 and sides[0] and sides[0] == sides[1] else why


def _cell(mean: Mean) -> RatioCell:
    title = TITLES[mean.kind]
    if mean.ratio is None:
        return RatioCell(title, quantities.ABSENT, plain(_once(mean.why)), "", "")
    ends = quantities.factors(mean.ratio.low, mean.ratio.high)
    over = f"{ends}, {count(mean.n, 'case')}" if ends else count(mean.n, "case")
    word = {"head": "better", "base": "worse", None: "open"}[mean.best]
    tone = {"head": "improved", "base": "regressed", None: ""}[mean.best]
    return RatioCell(title, f"×{quantities.factor(mean.ratio.value)}", over, word, tone)
