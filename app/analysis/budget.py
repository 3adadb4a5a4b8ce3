"""Budgets: is head beyond an absolute limit on a metric (p99 ≤ 50 ms)?

Asked once the relative question is settled, and answered as carefully: head's own values must lie beyond the
limit with the interval of `sequential.py` at the gate's level, not just by their median. Where base's median
is beyond it, head is not to blame, and medians say what is shown.

Absolute values wander more than differences within a pair do, so that many pairs promise more than they hold:
after `MAX_BUDGET_PAIRS` a budget that is still undecided stays so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from app.analysis.sequential import (
    MIN_PAIRS,
    PAIRS_PER_BLOCK,
    Moments,
    SequentialRule,
    half_width,
    running_moments,
)

MAX_BUDGET_PAIRS = 16
"""A budget keeps its case open no longer than this many valid pairs."""


class BudgetState(StrEnum):
    """What became of a budget; the values of all but `KEPT` are flags of a verdict, the gravest last."""

    KEPT = "budget_kept"
    UNDECIDED = "budget_undecided"
    ALREADY_BROKEN = "already_broken"
    BROKEN = "budget"


_GRAVITY = list(BudgetState)


@dataclass(frozen=True)
class Limit:
    """One absolute limit in the metric's unit: values above it break it, or below it if `is_minimum`."""

    value: float
    is_minimum: bool = False

    def broken_by(self, value: float) -> bool:
        """Tell whether `value` lies beyond the limit; on it is kept."""
        return value < self.value if self.is_minimum else value > self.value

    def excess(self, value: float) -> float:
        """Return how far `value` > 0 lies beyond a limit > 0 (ln units, positive = beyond)."""
        over = math.log(value) - math.log(self.value)
        return -over if self.is_minimum else over


def judge_exact_budget(base: Sequence[float], head: Sequence[float], limits: Sequence[Limit]) -> BudgetState:
    """Return what medians of exact values say of the limits; both arms have at least one value."""
    states = [BudgetState.KEPT]
    for limit in limits:
        if limit.broken_by(median(head)):
            already = limit.broken_by(median(base))
            states.append(BudgetState.ALREADY_BROKEN if already else BudgetState.BROKEN)
    return max(states, key=_GRAVITY.index)


def judge_budget(
    base: Sequence[float], head: Sequence[float], limits: Sequence[Limit], rule: SequentialRule, *, start: int
) -> BudgetState | None:
    """Return what sampled values say of the limits; None while more pairs are needed to tell.

    Args:
        base: positive values of base, in pair order.
        head: positive values of head, as many.
        limits: one or two limits.
        rule: the rule of this metric, for its levels and its prior.
        start: the number of pairs at which the relative question was settled: the first look here.
    """
    states = [_judge_limit(base, head, limit, rule, start) for limit in limits]
    settled = [state for state in states if state is not None]
    return max(settled, key=_GRAVITY.index) if len(settled) == len(states) else None


def _judge_limit(
    base: Sequence[float], head: Sequence[float], limit: Limit, rule: SequentialRule, start: int
) -> BudgetState | None:
    if limit.value <= 0:  # values are positive: all of them lie above it
        return judge_exact_budget(base, head, [limit])
    for moments in running_moments([*map(limit.excess, head)], PAIRS_PER_BLOCK):
        n = moments.n
        if n < max(start, MIN_PAIRS):
            continue
        if limit.broken_by(median(base[:n])):
            return judge_exact_budget(base[:n], head[:n], [limit])
        if (state := _look(moments, rule)) is not None:
            return state
    return None


def _look(moments: Moments, rule: SequentialRule) -> BudgetState | None:
    n, excess, sd = moments
    s = max(sd, rule.s_floor)
    if excess - half_width(n, s, rule.g, rule.alpha / rule.m) > 0:
        return BudgetState.BROKEN
    if excess + half_width(n, s, rule.g, rule.alpha_pass) < 0:
        return BudgetState.KEPT
    return BudgetState.UNDECIDED if n >= MAX_BUDGET_PAIRS else None
