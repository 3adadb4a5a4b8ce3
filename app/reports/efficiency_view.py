"""How well a suite uses its devices, as people read it: what holds each case back, beside its numbers and the roofline.

Rows that do not fit are counted: first come those that something else holds back on head, then what moved most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from app.domain.efficiency import (
    UNCLEAR,
    Activity,
    ArmEfficiency,
    CaseEfficiency,
    Place,
    SuiteEfficiency,
)
from app.domain.metrics import metric
from app.domain.results import CaseVerdict, SuiteResult, case_label
from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.device_states import TITLES
from app.reports.provenance import ProvenanceView, provenance_view
from app.reports.roofline import roofline_key, roofline_picture
from app.reports.roofline_view import Point, Roof, RooflineCase, RooflineView
from app.reports.text import Name, name, plain
from app.reports.words import listing

ROOM = 160_000
"""Bytes for the tables of all suites of a report."""

MOST_DRAWN = 12
"""Cases under one roofline: more cannot be told apart."""

_ROW_BYTES, _LINE_BYTES = 900, 40

COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("MFU", ("mfu",)),
    ("HFU", ("hfu",)),
    ("Bandwidth", ("bandwidth_util",)),
    ("Scaling", ("scaling_efficiency",)),
    ("Energy", ("energy_per_iter",)),
    ("Cost", ("cost_per_million_tokens", "cost_per_sample")),
)
"""Titles of columns, and the metrics that a cell may be of: the first that the case has."""

PER = {
    "energy_per_iter": ((1.0, "per iteration"),),
    "cost_per_million_tokens": ((1.0, "per million tokens"),),
    "cost_per_sample": ((1.0, "per sample"), (1e3, "per thousand samples"), (1e6, "per million samples")),
}
"""What numbers are per, below them in a cell; a cost too small to be read is told of more."""

DOUBTS = {"beyond_peak": "beyond the peak", "peak_not_verified": "peak not verified"}
"""Flags of a metric that stand below its number, too."""

_READABLE = 0.01
"""The smallest cost that people read as it is, in any currency."""

EXPLAINED = (
    "mfu",
    "hfu",
    "bandwidth_util",
    "scaling_efficiency",
    "energy_per_iter",
    "energy_net_per_iter",
    "perf_per_watt",
    "cost_per_million_tokens",
    "cost_per_sample",
)
"""Metrics whose numbers are explained in a row's fold, in this order."""

ACTIVITY = {
    **TITLES,
    "sm_occupancy": "Warps resident",
    "gr_engine_active": "Engine busy",
    "pcie_tx_b_s": "Sent over PCIe",
    "pcie_rx_b_s": "Received over PCIe",
    "nvlink_tx_b_s": "Sent over NVLink",
    "nvlink_rx_b_s": "Received over NVLink",
    "energy_j": "Energy",
    "throttled": "Held back",
}
"""What DCGM's numbers are called."""


@dataclass(frozen=True)
class Cell:
    """One number of both arms with its column's title, and what is to be said below it; empty where there is none."""

    title: str
    text: str = ""
    note: str = ""


@dataclass(frozen=True)
class ArmView:
    """What holds one arm back: the class, what else does, and each thing that is known, decisive ones marked."""

    role: str
    kind: str
    why: str
    also: str
    evidence: tuple[tuple[str, bool], ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Explained:
    """One number of the row: its title, both arms' values, and where it comes from."""

    title: str
    values: str
    provenance: ProvenanceView


@dataclass(frozen=True)
class EfficiencyRow:
    """One case; `was` is what held base back, where that is something else."""

    case: Name
    dtype: str
    kind: str
    was: str
    arms: tuple[ArmView, ...]
    cells: tuple[Cell, ...]
    explained: tuple[Explained, ...]

    @property
    def size(self) -> int:
        """Bytes of its HTML, about."""
        sentences = [text for arm in self.arms for text in (*(t for t, _ in arm.evidence), *arm.missing)]
        lines = sum(len(text.encode()) + _LINE_BYTES for text in sentences)
        return _ROW_BYTES + lines + sum(one.provenance.size for one in self.explained)


@dataclass(frozen=True)
class EfficiencySuite:
    """One suite: its rows, the roofline of its device with a key, and what is to be said of the peaks."""

    name: Name
    device_class: Name
    device: str
    columns: tuple[str, ...]
    rows: tuple[EfficiencyRow, ...]
    n_hidden: int
    picture: Markup
    key: Markup
    n_undrawn: int
    hint: str
    activity: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Bytes of its HTML, about."""
        return sum(row.size for row in self.rows) + len(self.picture.encode()) + len(self.key.encode())


def efficiency_views(suites: Iterable[SuiteResult]) -> tuple[EfficiencySuite, ...]:
    """Return the views of the suites of which something is known."""
    room, views = ROOM, []
    for suite in suites:
        if suite.efficiency is not None:
            views.append(_suite(suite, suite.efficiency, room))
            room = max(0, room - views[-1].size)
    return tuple(views)


def _suite(suite: SuiteResult, found: SuiteEfficiency, room: int) -> EfficiencySuite:
    metrics = _by_case(suite.cases)
    ranked = sorted(found.cases, key=lambda case: (not case.is_changed, -_moved(metrics.get(_key(case), {}))))
    columns = tuple(
        title for title, names in COLUMNS if any(_has(names, metrics.get(_key(case), {})) for case in ranked)
    )
    rows = [_row(case, metrics.get(_key(case), {}), columns) for case in ranked]
    drawn = [case for case in ranked if _is_placed(case)]
    view = _roofline(found, drawn[:MOST_DRAWN])
    picture = roofline_picture(view) if room else Markup("")
    left = room - len(picture.encode())
    shown = [
        row for row, used in zip(rows, accumulate(row.size for row in rows), strict=True) if used <= left
    ]
    return EfficiencySuite(
        name=name(suite.name),
        device_class=name(suite.device_class),
        device=plain(found.device),
        columns=columns,
        rows=tuple(shown),
        n_hidden=len(rows) - len(shown),
        picture=picture,
        key=roofline_key(view) if picture else Markup(""),
        n_undrawn=max(0, len(drawn) - MOST_DRAWN) if picture else 0,
        hint=plain(found.hint),
        activity=tuple(_activity(found.activity)),
    )


CaseKey = tuple[str, str]
Metrics = Mapping[str, CaseVerdict]


def _key(case: CaseEfficiency | CaseVerdict) -> CaseKey:
    return case.benchmark, repr(sorted(case.params.items(), key=lambda item: item[0]))


def _by_case(cases: Iterable[CaseVerdict]) -> Mapping[CaseKey, Metrics]:
    found: dict[CaseKey, dict[str, CaseVerdict]] = {}
    for case in cases:
        found.setdefault(_key(case), {})[case.metric] = case
    return found


def _moved(metrics: Metrics) -> float:
    """Return the largest change of a number of efficiency (ln units)."""
    levels = [(case.level("base"), case.level("head")) for case in map(metrics.get, EXPLAINED) if case]
    return max(
        (abs(math.log(head / base)) for base, head in levels if base and head and head / base > 0),
        default=0.0,
    )


def _has(names: Sequence[str], metrics: Metrics) -> bool:
    return any(_values(metrics.get(one)) for one in names)


# --- rows -----------------------------------------------------------------------------------------------------


def _row(case: CaseEfficiency, metrics: Metrics, columns: Sequence[str]) -> EfficiencyRow:
    arms = tuple(_arm(role, arm) for role, arm in (("base", case.base), ("head", case.head)) if arm)
    return EfficiencyRow(
        case=name(case_label(case.benchmark, case.params)),
        dtype=plain(case.dtype or ""),
        kind=arms[-1].kind if arms else UNCLEAR,
        was=arms[0].kind if case.is_changed else "",
        arms=arms,
        cells=tuple(_cell(title, names, metrics) for title, names in COLUMNS if title in columns),
        explained=tuple(_explained(metrics)),
    )


def _arm(role: str, arm: ArmEfficiency) -> ArmView:
    return ArmView(
        role=role,
        kind=plain(arm.bottleneck),
        why=plain(arm.decisive) or _undecided(arm),
        also=listing([plain(kind) for kind in arm.also]),
        evidence=tuple((plain(one.text), one.is_decisive) for one in arm.evidence),
        missing=tuple(map(plain, arm.missing)),
    )


def _undecided(arm: ArmEfficiency) -> str:
    return "nothing that is known reaches its threshold" if arm.evidence else "nothing is known of it"


def _cell(title: str, names: Sequence[str], metrics: Metrics) -> Cell:
    case = next((metrics[one] for one in names if _has([one], metrics)), None)
    if case is None:
        return Cell(title)
    times, per = _per(case)
    doubts = [words for flag, words in DOUBTS.items() if flag in case.flags]
    return Cell(title, _values(case, times), ", ".join(filter(None, [per, *doubts])))


def _per(case: CaseVerdict) -> tuple[float, str]:
    """Return how many of what a number is told of: the fewest of which it can be read."""
    choices = PER.get(case.metric, ((1.0, ""),))
    level = quantities.finite(case.level("head")) or quantities.finite(case.level("base")) or 1.0
    return next((choice for choice in choices if level * choice[0] >= _READABLE), choices[-1])


def _values(case: CaseVerdict | None, times: float = 1.0) -> str:
    """Return both arms' values, multiplied, or the only one's; an empty string without any."""
    levels = (case.level("base"), case.level("head")) if case else (None, None)
    base, head = (None if level is None else times * level for level in map(quantities.finite, levels))
    if case is None or (base is None and head is None):
        return ""
    if case.unit == "1":
        told = [quantities.percent(value) for value in (base, head) if value is not None]
        return " → ".join([told[0].removesuffix(" %"), told[1]] if len(told) > 1 else told)
    if base is None or head is None:
        return format_quantity(head if base is None else base, case.unit)
    return " → ".join(quantities.before_after(base, head, case.unit))


def _explained(metrics: Metrics) -> Iterable[Explained]:
    for one in EXPLAINED:
        case, entry = metrics.get(one), metric(one)
        provenance = provenance_view(case.provenance) if case else None
        if case is not None and provenance is not None:
            yield Explained(entry.title if entry else one, _values(case) or quantities.ABSENT, provenance)


# --- the roofline ---------------------------------------------------------------------------------------------


def _is_placed(case: CaseEfficiency) -> bool:
    return any(arm is not None and arm.place is not None for arm in (case.base, case.head))


def _roofline(found: SuiteEfficiency, cases: Iterable[CaseEfficiency]) -> RooflineView:
    bandwidth = found.bandwidth
    return RooflineView(
        device=found.device,
        roofs=[Roof(peak.name, peak.value, peak.is_verified) for peak in found.peaks],
        bandwidth=bandwidth.value if bandwidth else None,
        cases=[
            RooflineCase(
                case_label(case.benchmark, case.params),
                case.dtype or "",
                _point(case.base),
                _point(case.head),
            )
            for case in cases
        ],
        is_bandwidth_verified=bandwidth is None or bandwidth.is_verified,
    )


def _point(arm: ArmEfficiency | None) -> Point | None:
    place: Place | None = arm.place if arm else None
    return Point(place.intensity, place.achieved, place.share) if place else None


# --- what DCGM told of the run --------------------------------------------------------------------------------


def _activity(told: Iterable[Activity]) -> Iterable[tuple[str, str]]:
    """Return each number, as a range where devices differ."""
    by_name: dict[tuple[str, str], list[float]] = {}
    for one in told:
        by_name.setdefault((one.name, one.unit), []).append(one.value)
    for (title, unit), values in by_name.items():
        ends = dict.fromkeys(_number(value, unit) for value in (min(values), max(values)))
        yield ACTIVITY.get(title, plain(title.replace("_", " "))), plain(" … ".join(ends))


def _number(value: float, unit: str) -> str:
    return quantities.percent(value) if unit == "1" else format_quantity(value, unit)
