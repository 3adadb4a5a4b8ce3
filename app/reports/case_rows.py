"""One line of the report's tables: every number as text, and the bar of its interval."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from app.domain.results import CaseVerdict, CheckResult
from app.domain.verdicts import Verdict
from app.reports import bars, quantities
from app.reports.case_folds import Fold
from app.reports.case_text import interval_text
from app.reports.ranking import Finding, spans_jobs
from app.reports.scale import EffectScale
from app.reports.text import NAME_WIDTH, Name, name, plain, shorten
from app.reports.titles import could_hide
from app.reports.words import Word, word_of

_FIXED_BYTES = 620
"""Bytes of a row's HTML without the names in it."""


@dataclass(frozen=True)
class CaseRow:
    """One line of a table, ready to print."""

    word: Word
    case: Name
    metric: Name
    hint: str
    place: str
    base: str
    head: str
    change: str
    bar: Markup
    interval: str
    pairs: int
    void: int
    grade: str
    note: str
    fold: Fold | None
    is_quiet: bool

    @property
    def size(self) -> int:
        """Bytes of its HTML with its fold, about."""
        names = (
            f"{self.case.shown}{self.case.full}{self.metric.shown}{self.metric.full}{self.place}{self.note}"
        )
        return _FIXED_BYTES + len(names.encode()) + (self.fold.size if self.fold else 0)


def case_row(
    result: CheckResult, finding: Finding, scale: EffectScale, fold: Fold | None, common: frozenset[str]
) -> CaseRow:
    """Return the row of a finding; flags in `common` are told elsewhere, once for all rows."""
    case = finding.case
    base, head = quantities.before_after(*case.levels, case.unit)
    low, high = finding.bounds
    return CaseRow(
        word=word_of(case.verdict),
        case=name(finding.label),
        metric=name(case.metric, 60),
        hint="higher is better" if case.better == "higher" else "",
        place=_place(result, finding),
        base=base,
        head=head,
        change=quantities.change(case.change),
        bar=bars.interval_bar(
            scale, finding.effect, low, high, bound=finding.bound, is_exact=case.kind == "exact"
        ),
        interval=interval_text(case),
        pairs=case.n_pairs,
        void=case.n_void,
        grade=case.grade or "–",
        note=_note(case, frozenset(case.flags) if fold else common),
        fold=fold,
        is_quiet=case.verdict is Verdict.NO_REGRESSION,
    )


def _place(result: CheckResult, finding: Finding) -> str:
    if not spans_jobs(result):
        return ""
    return shorten(plain(f"{finding.suite.name} on {finding.suite.device_class}"), NAME_WIDTH)


def _note(case: CaseVerdict, told: frozenset[str]) -> str:
    """Return what the row itself must say: what an open case could hide, and flags that are told nowhere else."""
    parts = [could_hide(case.could_hide)] if case.verdict is Verdict.INCONCLUSIVE else []
    if "budget" in case.flags:
        parts.append("over its budget")
    parts += [flag.replace("_", " ") for flag in case.flags if flag not in told and flag != "budget"]
    return plain(", ".join(parts))
