"""What holds cases back as people read it: how many by class, those with most to win, and what to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.domain.efficiency import UNCLEAR
from app.domain.results import case_label
from app.domain.weekly_bottlenecks import Advice, CaseBottleneck
from app.reports import quantities
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import MOST, Link, Rest, address, link, rest, share_bar, stacked_bar

CLASSES = ("input", "communication", "launch", "power", "unclear", "memory", "compute")
"""Classes in the order in which they are shown: lost time first, then what is far from every roof, then near ones."""

LOST = ("input", "communication", "launch")
ADVICE = 2
"""Things to try that are told of each case."""

ROOFS = {"mfu": "MFU", "bandwidth_util": "bandwidth"}


@dataclass(frozen=True)
class AdviceLine:
    """Something to try, the number that speaks for it, and what must hold; said in short where it was said before."""

    text: str
    evidence: str
    holds_if: str


@dataclass(frozen=True)
class BottleneckRow:
    """One case: `kind` with why, the share of the roof with a picture, and what to try."""

    case: Link
    where: Name
    project: str
    kind: str
    why: str
    also: str
    roof: str
    roof_of: str
    bar: Markup
    advice: tuple[AdviceLine, ...]
    run: str
    commit: str


@dataclass(frozen=True)
class BottlenecksView:
    """The section; empty without rows."""

    n: int
    counts: tuple[tuple[str, int, int], ...]
    """Class, how many cases, and its place in the picture."""
    picture: Markup
    rows: tuple[BottleneckRow, ...]
    rest: Rest | None
    n_stored_alone: int


def bottlenecks_view(cases: Sequence[CaseBottleneck], base: str) -> BottlenecksView:
    """Return the section with links to the service at `base`: the cases with most to win first."""
    counts = Counter(case.found.bottleneck for case in cases)
    kinds = [*CLASSES, *sorted(counts.keys() - set(CLASSES))]
    several = len({case.project for case in cases}) > 1
    ranked = sorted(cases, key=_to_win)
    told: set[str] = set()
    only = cases[0].project if cases and not several else ""
    return BottlenecksView(
        n=len(cases),
        counts=tuple((plain(kind), counts[kind], place) for place, kind in enumerate(kinds) if counts[kind]),
        picture=stacked_bar(((kind, counts[kind]) for kind in kinds), label="cases by what holds them back"),
        rows=tuple(_row(case, base, told, several=several) for case in ranked[:MOST]),
        rest=rest(len(cases) - MOST, "case", "cases", address(base, "/series", project=only)),
        n_stored_alone=sum(not case.has_timings for case in cases),
    )


def _to_win(case: CaseBottleneck) -> tuple[int, float, str, str]:
    """Order cases: lost time first, the most of it before the rest, then what is furthest below its roof."""
    kind, label = case.found.bottleneck, case_label(case.benchmark, case.params)
    if kind in LOST:
        lost = max(
            (one.value for one in case.found.evidence if one.is_decisive and one.kind == kind), default=0.0
        )
        return 0, -lost, case.project, label
    below = 1 - case.roof[1] if case.roof else 0.0
    return 1 if kind == "power" else 2 if kind == UNCLEAR else 3, -below, case.project, label


def _row(case: CaseBottleneck, base: str, told: set[str], *, several: bool) -> BottleneckRow:
    roof = case.roof
    series = case.series.get(roof[0] if roof else "") or next(iter(case.series.values()))
    share = roof[1] if roof else None
    return BottleneckRow(
        case=link(case_label(case.benchmark, case.params), base, f"/series/{series}"),
        where=name(case.device_class, 40),
        project=plain(case.project) if several else "",
        kind=plain(case.found.bottleneck),
        why=plain(case.found.decisive) or _undecided(case),
        also=", ".join(plain(kind) for kind in case.found.also),
        roof=quantities.percent(share),
        roof_of=ROOFS[roof[0]] if roof else "",
        bar=share_bar(share, label=f"{quantities.percent(share)} of the roof"),
        advice=tuple(_advice(its, told) for its in case.advice[:ADVICE]),
        run=address(base, f"/runs/{case.run}"),
        commit=plain(case.commit)[:10],
    )


def _undecided(case: CaseBottleneck) -> str:
    return "nothing that is known reaches its threshold" if case.found.evidence else "nothing is known of it"


def _advice(its: Advice, told: set[str]) -> AdviceLine:
    text = plain(its.text)
    text = text[:1].upper() + text[1:]
    if its.code in told:
        return AdviceLine(text.partition(":")[0], plain(its.evidence), "")
    told.add(its.code)
    return AdviceLine(text, plain(its.evidence), plain(its.holds_if))
