"""The report's tables: which rows there are, and which of them get pictures.

A report has to stay small whatever the check. With few rows everything is drawn; else what is not `no_regression`
and the largest effects are, most pressing first, until the room for pictures is used up. Rows that do not fit are
counted, the quietest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.domain.results import CheckResult
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.case_folds import Fold, case_fold
from app.reports.case_rows import CaseRow, case_row
from app.reports.case_text import BOUND_LEVEL
from app.reports.ranking import WITHOUT_EFFECT, Finding, most_pressing, worst_first
from app.reports.scale import EffectScale, effect_scale
from app.reports.words import explain_flag

DRAW_ALL_UP_TO = 60
"""With more rows than this, quiet ones are drawn only if they are among as many largest effects."""

PICTURE_ROOM = 250_000
"""Bytes that all folds of a table may take together."""

FOLD_QUIET_FROM = 20
"""With more rows than this, those without regression get a table of their own, folded."""


@dataclass(frozen=True)
class CaseTable:
    """The rows of a table; `quiet` are those without regression where there are many."""

    rows: tuple[CaseRow, ...]
    quiet: tuple[CaseRow, ...]
    level: str
    bound_level: str
    """The level of the bounds that rows have; empty where none has any."""
    common_notes: tuple[str, ...]
    n_undrawn: int
    n_hidden: int

    @property
    def n_rows(self) -> int:
        """Rows shown, folded ones included."""
        return len(self.rows) + len(self.quiet)


def case_table(
    result: CheckResult, found: Iterable[Finding], scale: EffectScale, room: int, *, with_pictures: bool
) -> CaseTable:
    """Return the table of all findings that have a change to show or are still being measured, worst first.

    Where they do not all fit into `room` bytes of HTML, the quietest are counted and not shown.
    """
    ranked = _with_effect(found)
    common = _common_flags(ranked)
    folds = _folds(result, ranked, common) if with_pictures else {}
    rows = {id(f): case_row(result, f, scale, folds.get(id(f)), common) for f in ranked}
    shown = _keep(ranked, rows, room)
    loud, quiet = _split([rows[id(f)] for f in shown])
    return CaseTable(
        rows=loud,
        quiet=quiet,
        level=_common_level(shown),
        bound_level=BOUND_LEVEL if any(f.bound is not None for f in shown) else "",
        common_notes=tuple(explain_flag(flag) for flag in sorted(common)),
        n_undrawn=len(shown) - len(folds) if with_pictures else 0,
        n_hidden=len(ranked) - len(shown),
    )


def common_scale(result: CheckResult, found: Iterable[Finding]) -> EffectScale:
    """Return the scale on which all these findings can be drawn."""
    shown = _with_effect(found)
    effects = [f.effect for f in shown if f.effect is not None]
    bounds = [bound for f in shown for bound in f.bounds if bound is not None]
    return effect_scale(result.tolerance, effects, bounds)


def _with_effect(found: Iterable[Finding]) -> list[Finding]:
    return [f for f in worst_first(found) if f.case.verdict not in WITHOUT_EFFECT]


def _keep(ranked: Sequence[Finding], rows: Mapping[int, CaseRow], room: int) -> list[Finding]:
    """Return as many findings as fit into `room` bytes, the most interesting ones, in the order given."""
    interesting = _by_interest(ranked)
    n_kept = sum(used <= room for used in accumulate(rows[id(f)].size for f in interesting))
    kept = {id(f) for f in interesting[:n_kept]}
    return [f for f in ranked if id(f) in kept]


def _split(rows: Sequence[CaseRow]) -> tuple[tuple[CaseRow, ...], tuple[CaseRow, ...]]:
    """Return the rows to show at once and those to fold away: the many without regression, where others exist."""
    loud = tuple(row for row in rows if not row.is_quiet)
    quiet = tuple(row for row in rows if row.is_quiet)
    return (loud, quiet) if loud and len(rows) > FOLD_QUIET_FROM else (tuple(rows), ())


def _by_interest(found: Sequence[Finding]) -> list[Finding]:
    """Sort by verdict, those without regression by the size of their effect in either direction."""
    loud = [f for f in found if f.case.verdict is not Verdict.NO_REGRESSION]
    quiet = [f for f in found if f.case.verdict is Verdict.NO_REGRESSION]
    return most_pressing(loud) + sorted(quiet, key=lambda f: -abs(f.effect or 0.0))


def _common_flags(shown: Sequence[Finding]) -> frozenset[str]:
    """Return the flags that every row has: said once, not in each row."""
    if len(shown) < 2:
        return frozenset()
    return frozenset.intersection(*(frozenset(f.case.flags) for f in shown))


def _common_level(shown: Sequence[Finding]) -> str:
    """Return the level of the intervals, the lowest where they differ: what changed with many others needs less."""
    levels = {f.case.ci_level for f in shown if quantities.finite(f.case.ci_level) is not None}
    if not levels:
        return ""
    lowest = quantities.level(min(level for level in levels if level is not None))
    return lowest if len(levels) == 1 else f"{lowest} or more"


def _folds(result: CheckResult, ranked: Sequence[Finding], common: frozenset[str]) -> dict[int, Fold]:
    """Return the folds by identity of their finding, for as many as there is room for."""
    folds: dict[int, Fold] = {}
    room = PICTURE_ROOM
    for finding in _worth_drawing(ranked):
        fold = case_fold(
            result, finding, common, is_open=not folds and finding.case.verdict is Verdict.REGRESSED
        )
        room -= fold.size
        if room < 0:
            break
        folds[id(finding)] = fold
    return folds


def _worth_drawing(shown: Sequence[Finding]) -> list[Finding]:
    ordered = _by_interest(shown)
    if len(ordered) <= DRAW_ALL_UP_TO:
        return ordered
    largest = {id(f) for f in sorted(ordered, key=lambda f: -abs(f.effect or 0.0))[:DRAW_ALL_UP_TO]}
    return [f for f in ordered if f.case.verdict is not Verdict.NO_REGRESSION or id(f) in largest]
