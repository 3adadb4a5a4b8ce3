"""What opens under a row of the report: both pictures, the numbers behind them, and what the flags mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from app.domain.results import CaseVerdict, CheckResult
from app.reports import pictures, quantities
from app.reports.case_text import BOUND_LEVEL, deciding_bound, interval_text
from app.reports.provenance import ProvenanceView, provenance_view
from app.reports.ranking import Finding
from app.reports.scale import Thresholds, case_limits, check_limits
from app.reports.text import plain
from app.reports.words import GRADES, explain, explain_flag, word_of

_TEXT_BYTES = 1_300
"""Bytes of a fold's HTML without its pictures."""


@dataclass(frozen=True)
class Fold:
    """What opens under a row: pictures, facts as name and value, sentences about flags, and how the value is made."""

    samples: Markup
    has_void: bool
    looks: Markup
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    provenance: ProvenanceView | None = None
    is_open: bool = False

    @property
    def size(self) -> int:
        """Bytes of its HTML, about."""
        explained = self.provenance.size if self.provenance else 0
        return _TEXT_BYTES + len(self.samples.encode()) + len(self.looks.encode()) + explained


def case_fold(result: CheckResult, finding: Finding, common: frozenset[str], *, is_open: bool) -> Fold:
    """Return the fold of a row; flags in `common` are told elsewhere, once for all rows."""
    case = finding.case
    return Fold(
        samples=_samples(finding),
        has_void=any(estimate.void for estimate in case.estimates),
        looks=_looks(finding, case_limits(result, case)),
        facts=tuple(_facts(result, case)),
        notes=tuple(_notes(case, common)),
        provenance=provenance_view(case.provenance),
        is_open=is_open,
    )


def _samples(finding: Finding) -> Markup:
    case = finding.case
    levels = f"{_level_name(case)}: {_both_arms(case, *case.levels)}"
    label = f"Values of both arms in time order; {levels}; {case.n_void} pairs void."
    return pictures.samples_picture(case.estimates, case.unit, *case.levels, label)


def _looks(finding: Finding, limits: Thresholds) -> Markup:
    case = finding.case
    label = (
        f"Interval of the change after each block; after {case.n_pairs} pairs "
        f"{quantities.change(case.change)}, {_interval(case)}."
    )
    bound = deciding_bound(case)
    if bound is not None:
        label += f" Not worse than {quantities.change(bound)} at {BOUND_LEVEL}."
    return pictures.looks_picture(case.looks, case.better, limits, label, with_bounds=bound is not None)


def _facts(result: CheckResult, case: CaseVerdict) -> Iterable[tuple[str, str]]:
    yield "Verdict", f"{word_of(case.verdict).name}: {word_of(case.verdict).meaning}"
    if case.reason:
        yield "Reason", plain(explain(case.reason))
    yield _level_name(case).capitalize(), _both_arms(case, *case.levels)
    if case.base_geomean is not None:
        yield "Medians", _both_arms(case, case.base_median, case.head_median)
    yield "Change", f"{quantities.change(case.change)}, {_interval(case)}"
    bound = deciding_bound(case)
    if bound is not None:
        yield "No worse than", f"{quantities.change(bound)} at {BOUND_LEVEL}, short of the tolerance"
    if quantities.finite(case.sigma_pair) is not None:
        yield (
            "Spread of pairs",
            f"{quantities.percent(case.sigma_pair)} standard deviation",
        )
    limits = case_limits(result, case)
    if limits != check_limits(result):
        tau0, tau = quantities.threshold(limits.minimum_effect), quantities.threshold(limits.tolerance)
        yield "Own limits", f"minimum effect {tau0}, tolerance {tau}"
    if quantities.finite(case.device_s) is not None:
        yield "Device time", quantities.duration(case.device_s)
    if case.grade:
        yield "Grade", GRADES.get(case.grade, case.grade)


def _notes(case: CaseVerdict, common: frozenset[str]) -> Iterable[str]:
    yield from (plain(explain_flag(flag)) for flag in case.flags if flag not in common)
    yield from (f"While it ran: {plain(explain(cause))}" for cause in case.attribution)


def _level_name(case: CaseVerdict) -> str:
    return "medians" if case.base_geomean is None else "geometric means"


def _both_arms(case: CaseVerdict, base: float | None, head: float | None) -> str:
    before, after = quantities.before_after(base, head, case.unit)
    unit = after.partition(" ")[2]
    return f"base {before} {unit}".strip() + f", head {after}"


def _interval(case: CaseVerdict) -> str:
    """Return the two-sided interval with its level, whatever the verdict rests on."""
    if case.kind == "exact" or quantities.finite(case.change) is None:
        return interval_text(case)
    text = quantities.interval(case.ci_low, case.ci_high)
    return text if case.ci_level is None else f"{text} at {quantities.level(case.ci_level)}"
