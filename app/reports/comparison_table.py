"""Compared benchmarks as a table for people: a line a benchmark, the worst change first.

Where there are many, of those without regression only the largest changes are shown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.analysis.comparison.results import Comparison
from app.domain.results import Better
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.grid import (
    LEAST_WIDTH,
    Column,
    Paint,
    column,
    verdict_table,
    without_quietest,
    wrapped,
)
from app.reports.numerals import probability
from app.reports.ranking import worse_bounds, worse_ln
from app.reports.scale import EffectScale, effect_scale
from app.reports.text import plain
from app.reports.words import count, word_of

_ORDER = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.INCONCLUSIVE, Verdict.NO_REGRESSION)

_PICTURE = 25
"""Characters of an interval's picture; odd, so that zero has one."""


@dataclass(frozen=True)
class ComparisonRule:
    """What the verdicts rest on: the direction, and the limits as shares."""

    better: Better
    minimum_effect: float
    tolerance: float


def render_comparisons(
    compared: Sequence[Comparison], rule: ComparisonRule, *, seconds: float, width: int | None, color: bool
) -> str:
    """Return the table of a file's benchmarks, at least one, as text that ends in a newline.

    Args:
        compared: the benchmarks in any order.
        rule: what the verdicts rest on.
        seconds: how long it took [s].
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    room = None if width is None else max(width, LEAST_WIDTH)
    paint = Paint(color)
    ranked = sorted(compared, key=lambda one: -_harm(one, rule))
    shown = without_quietest(ranked, lambda one: one.verdict, lambda one: worse_ln(one.change, rule.better))
    verdicts = [one.verdict for one in shown]
    lines = verdict_table(_table_columns(shown, rule), verdicts, len(ranked) - len(shown), room, paint)
    return "\n".join([*lines, "", *_summary(compared, rule, seconds, room)]) + "\n"


def _harm(one: Comparison, rule: ComparisonRule) -> float:
    """Return the change in ln units, positive = worse; minus infinity where there is none."""
    effect = worse_ln(one.change, rule.better)
    return -math.inf if effect is None else effect


def _table_columns(shown: Sequence[Comparison], rule: ComparisonRule) -> list[Column]:
    scale = _scale(shown, rule)
    return [
        column("", (word_of(one.verdict).mark for one in shown)),
        column("benchmark", (plain(one.benchmark) for one in shown)),
        column("change", (quantities.change(one.change) for one in shown), right=True),
        column("95 % interval", (_interval(one) for one in shown), right=True, expendable=4),
        column(
            "← better   worse →".center(_PICTURE), (_picture(one, rule, scale) for one in shown), expendable=1
        ),
        column("q", (probability(one.q_value) for one in shown), right=True, expendable=3),
        column("n", (_counts(one) for one in shown), right=True, expendable=2),
        column("verdict", (word_of(one.verdict).name for one in shown)),
    ]


def _interval(one: Comparison) -> str:
    if quantities.finite(one.change) is None:
        return one.note or quantities.ABSENT
    return quantities.interval(one.ci_low, one.ci_high)


def _counts(one: Comparison) -> str:
    return str(one.n_base) if one.n_base == one.n_head else f"{one.n_base}/{one.n_head}"


def _scale(shown: Sequence[Comparison], rule: ComparisonRule) -> EffectScale:
    effects = [worse_ln(one.change, rule.better) for one in shown]
    bounds = [bound for one in shown for bound in worse_bounds(one.ci_low, one.ci_high, rule.better)]
    return effect_scale(
        math.log1p(rule.tolerance), *([e for e in found if e is not None] for found in (effects, bounds))
    )


def _picture(one: Comparison, rule: ComparisonRule, scale: EffectScale) -> str:
    """Return the interval as a line and the change as a dot, on one scale for all; dots mark the tolerance."""
    cells = [" "] * _PICTURE
    for effect in (-scale.tolerance, scale.tolerance):
        cells[_place(effect, scale)] = "┊"
    cells[_PICTURE // 2] = "│"
    change = worse_ln(one.change, rule.better)
    if change is None:
        return "".join(cells)
    bottom, top = worse_bounds(one.ci_low, one.ci_high, rule.better)
    low = 0 if bottom is None else _place(bottom, scale)
    high = _PICTURE - 1 if top is None else _place(top, scale)
    for place in range(low, high + 1):
        cells[place] = "─" if cells[place] == " " else "┼"
    cells[_place(change, scale)] = "●"
    return "".join(cells)


def _place(effect: float, scale: EffectScale) -> int:
    return round(_PICTURE // 2 * (1 + scale.position(effect)))


def _summary(
    compared: Sequence[Comparison], rule: ComparisonRule, seconds: float, room: int | None
) -> list[str]:
    verdicts = Counter(one.verdict for one in compared)
    told = ", ".join(f"{verdicts[v]} {word_of(v).name}" for v in _ORDER if verdicts[v])
    limits = (
        f"{rule.better} is better, minimum effect {quantities.threshold(rule.minimum_effect)}, "
        f"tolerance {quantities.threshold(rule.tolerance)}"
    )
    what = f"{count(len(compared), 'benchmark')} compared in {quantities.duration(seconds)}: {told}"
    return [*wrapped(what, room), *wrapped(f"({limits})", room)]
