"""The judge of one metric of one case, asked after every block: plain values in, one judgement out.

It replays the blocks in time order and answers as of the first that settled the metric, so that a verdict,
once there, stays the same when it is asked for again with more pairs; the caller stores it and never
overwrites it. Failing arms are judged apart (`validity.failure_of`), as they concern all metrics of a case.

No database, no clock. The rules and their sources: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, median
from typing import Literal, NamedTuple

from app.analysis.budget import BudgetState, Limit, judge_budget, judge_exact_budget
from app.analysis.effect import is_measurable, pair_effect, raw_change, raw_interval
from app.analysis.evidence import Evidence, Pair, gather
from app.analysis.exact import MIN_VALUES, compare_exact, is_countable
from app.analysis.sequential import (
    ALPHA,
    ALPHA_PASS,
    MIN_PAIRS,
    MINIMUM_EFFECT,
    PRIOR_WITHOUT_HISTORY,
    TOLERANCE,
    Decision,
    SequentialRule,
)
from app.analysis.validity import Stop
from app.domain.results import Better, Look
from app.domain.verdicts import Verdict

__all__ = [
    "Grade",
    "Judgement",
    "Kind",
    "Levels",
    "MetricPlan",
    "Pair",
    "case_settled",
    "grade_of",
    "judge_case",
    "levels_of",
]

Kind = Literal["sampled", "exact"]
Grade = Literal["A", "B", "C"]

GRADE_A_SD = 0.005
"""Largest pair standard deviation of a grade A measurement, clocks locked (ln units)."""

GRADE_B_SD = 0.02
"""Largest pair standard deviation of a grade B measurement (ln units)."""


@dataclass(frozen=True)
class MetricPlan:
    """How one metric of one case is to be judged; fixed before pair 1.

    `tau0` and `tau` (minimum effect, tolerance) are in ln units; an exact metric has `tau` as its tolerance.
    `g` is the variance of the prior (`sequential.g_from_history`), `timer_floor` the timer's resolution over
    the duration that it times. Budgets are in the metric's unit.
    """

    metric: str
    unit: str
    better: Better
    kind: Kind = "sampled"
    gating: bool = True
    tau0: float = MINIMUM_EFFECT
    tau: float = TOLERANCE
    g: float = PRIOR_WITHOUT_HISTORY
    budget_max: float | None = None
    budget_min: float | None = None
    timer_floor: float = 0.0

    @property
    def smallest_change(self) -> float:
        """The effect that a verdict must exceed (ln units): of an exact metric, sampled or not, its tolerance.

        Else a metric that varies a little would fail a check by less than one that does not vary at all may.
        """
        return self.tau if self.kind == "exact" else self.tau0

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The budgets that are set."""
        ends = ((self.budget_max, False), (self.budget_min, True))
        return tuple(Limit(value, is_minimum) for value, is_minimum in ends if value is not None)


@dataclass(frozen=True)
class Judgement:
    """What is known of one metric of one case; `verdict` is None while it is open.

    `change` and the interval (at `ci_level`) are head/base − 1, signed and raw, None where unbounded. An
    exact comparison has the interval of a point, and no level. `could_hide` and `sigma_pair` are in ln units.
    Once settled, all numbers are as of the block that settled the metric.
    """

    metric: str
    unit: str
    better: Better
    kind: Kind
    gating: bool
    verdict: Verdict | None = None
    reason: str | None = None
    change: float | None = None
    worse: bool | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_level: float | None = None
    n_pairs: int = 0
    n_void: int = 0
    log_e: float | None = None
    could_hide: float | None = None
    sigma_pair: float | None = None
    grade: Grade | None = None
    base_median: float | None = None
    head_median: float | None = None
    flags: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()

    @property
    def exploratory(self) -> bool:
        """Outside the gate: shown, and no part of the conclusion."""
        return not self.gating


def judge_case(
    plan: MetricPlan,
    pairs: Iterable[Pair],
    *,
    alpha: float = ALPHA,
    m: int = 1,
    alpha_pass: float = ALPHA_PASS,
    exhausted: bool = False,
    clocks_locked: bool = False,
) -> Judgement:
    """Return the judgement of one metric of one case from all its pairs so far.

    Args:
        plan: how the metric is judged.
        pairs: every finished pair of the case, void ones included, in any order.
        alpha: error level of the job.
        m: gating (case, metric) pairs of the job; a metric outside the gate is judged by itself (m = 1).
        alpha_pass: level of the interval that `no_regression` rests on.
        exhausted: no more pairs will come, as device time or `sequential.MAX_PAIRS` is spent or the case has
            ended: what is open becomes inconclusive, and a metric outside the gate gets its verdict.
        clocks_locked: the device ran at fixed clocks, without which nothing is graded A.
    """
    known = list(pairs)
    rule = SequentialRule(
        alpha=alpha,
        m=m if plan.gating else 1,
        alpha_pass=alpha_pass,
        tau0=plan.smallest_change,
        tau=plan.tau,
        g=plan.g,
        s_floor=plan.timer_floor,
    )
    if plan.kind == "exact":
        exact = _judge_exact(plan, gather(known, is_countable), exhausted=exhausted)
        if exact is not None:
            return exact
    sampled = _judge_sampled(plan, gather(known, is_measurable), rule, exhausted=exhausted)
    return replace(sampled, grade=grade_of(sampled.sigma_pair, clocks_locked=clocks_locked))


def case_settled(judgements: Iterable[Judgement]) -> bool:
    """Tell whether a case needs no more pairs: all its gating metrics are settled.

    A case with nothing in the gate is measured until each metric has as many pairs as a verdict needs.
    """
    metrics = list(judgements)
    if any(judgement.gating for judgement in metrics):
        return all(judgement.verdict is not None for judgement in metrics if judgement.gating)
    return all(judgement.verdict is not None or judgement.n_pairs >= MIN_PAIRS for judgement in metrics)


def grade_of(sigma_pair: float | None, *, clocks_locked: bool) -> Grade | None:
    """Return how well a case could be measured, from the noise of its own pairs; None if that is unknown."""
    if sigma_pair is None:
        return None
    if clocks_locked and sigma_pair <= GRADE_A_SD:
        return "A"
    return "B" if sigma_pair <= GRADE_B_SD else "C"


class Levels(NamedTuple):
    """What both arms' values are, each in one number in the metric's unit; None without a value.

    The geometric means are those whose ratio is the change of a sampled metric, to the last digit; its medians need
    not agree with it. An exact metric is compared by its medians, and has no others.
    """

    base_median: float | None = None
    head_median: float | None = None
    base_geomean: float | None = None
    head_geomean: float | None = None


def levels_of(pairs: Iterable[Pair], kind: Kind, n: int | None) -> Levels:
    """Return the levels of the first `n` pairs that count, those that a judgement of `n` pairs rests on; all for None.

    `kind` is the judgement's: how the metric was compared in the end.
    """
    is_exact = kind == "exact"
    evidence = gather(pairs, is_countable if is_exact else is_measurable)
    base, head = evidence.base[:n], evidence.head[:n]
    if not base:
        return Levels()
    medians = median(base), median(head)
    return Levels(*medians) if is_exact else Levels(*medians, geometric_mean(base), geometric_mean(head))


class _Ruling(NamedTuple):
    verdict: Verdict | None
    reason: str | None = None
    flags: tuple[str, ...] = ()


def _judge_exact(plan: MetricPlan, evidence: Evidence, *, exhausted: bool) -> Judgement | None:
    """Return the judgement of an exact metric, or None if it varies and has to be sampled."""
    if len(evidence.base) < MIN_VALUES:
        return _draft(plan, evidence, _unsettled(plan, evidence.stop, exhausted=exhausted))
    if plan.gating:
        evidence = evidence.at(MIN_VALUES)
    found = compare_exact(evidence.base, evidence.head, plan.better, plan.tau)
    if found is None:
        return None
    ruling = _Ruling(found.verdict, flags=("from_zero",) if found.from_zero else ())
    ruling = _with_budget(ruling, judge_exact_budget(evidence.base, evidence.head, plan.limits))
    if not (plan.gating or exhausted):
        ruling = ruling._replace(verdict=None)
    change = found.change
    draft = _draft(plan, evidence, ruling)
    return replace(draft, change=change, ci_low=change, ci_high=change, worse=found.effect > 0)


def _judge_sampled(
    plan: MetricPlan, evidence: Evidence, rule: SequentialRule, *, exhausted: bool
) -> Judgement:
    effects = [pair_effect(*values, plan.better) for values in zip(evidence.base, evidence.head, strict=True)]
    seen = rule.settle(effects) if plan.gating else tuple(rule.looks(effects))
    last = seen[-1] if seen else None
    ruling = _relative_ruling(plan, last, evidence.stop, exhausted=exhausted)
    if last is not None and plan.limits and ruling.verdict not in (None, Verdict.NOT_MEASURED):
        budget = judge_budget(evidence.base, evidence.head, plan.limits, rule, start=last.n)
        ended = exhausted or evidence.stop is not None or ruling.verdict is Verdict.REGRESSED
        waiting = budget is None and not ended
        ruling = ruling._replace(verdict=None) if waiting else _with_budget(ruling, budget)
    if plan.gating and last is not None and last.verdict is not None:
        evidence = evidence.at(last.n)
    draft = replace(_draft(plan, evidence, ruling, n=last.n if last else None), kind="sampled")
    return draft if last is None else _with_numbers(draft, seen, rule.level)


def _relative_ruling(
    plan: MetricPlan, last: Decision | None, stop: Stop | None, *, exhausted: bool
) -> _Ruling:
    """Return what the sequential rule says; outside the gate it speaks only at the end."""
    varies = ("kind_sampled",) if plan.kind == "exact" else ()
    if last is not None and plan.gating and last.verdict is not None:
        return _Ruling(last.verdict, flags=varies)
    if last is not None and exhausted and stop is None:
        return _Ruling(last.final, flags=varies)
    return _unsettled(plan, stop, exhausted=exhausted)._replace(flags=varies)


def _unsettled(plan: MetricPlan, stop: Stop | None, *, exhausted: bool) -> _Ruling:
    """Return what to say of a metric whose values settled nothing."""
    if stop is not None and (plan.gating or exhausted):
        return _Ruling(Verdict.NOT_MEASURED, stop.reason)
    return _Ruling(Verdict.INCONCLUSIVE if exhausted else None)


def _with_budget(ruling: _Ruling, budget: BudgetState | None) -> _Ruling:
    state = budget or BudgetState.UNDECIDED
    if state is BudgetState.KEPT:
        return ruling
    verdict = Verdict.REGRESSED if state is BudgetState.BROKEN else ruling.verdict
    return ruling._replace(verdict=verdict, flags=(*ruling.flags, state.value))


def _draft(plan: MetricPlan, evidence: Evidence, ruling: _Ruling, *, n: int | None = None) -> Judgement:
    """Return what a judgement says however its metric is compared; values are of the first `n` pairs."""
    base, head = evidence.base[:n], evidence.head[:n]
    return Judgement(
        metric=plan.metric,
        unit=plan.unit,
        better=plan.better,
        kind=plan.kind,
        gating=plan.gating,
        verdict=ruling.verdict,
        reason=ruling.reason,
        n_pairs=len(base),
        n_void=evidence.n_void,
        base_median=median(base) if base else None,
        head_median=median(head) if head else None,
        flags=(*ruling.flags, *evidence.flags),
    )


def _with_numbers(draft: Judgement, seen: Sequence[Decision], level: float) -> Judgement:
    last = seen[-1]
    looks = tuple(_as_look(look, draft.better) for look in seen if _is_shown(look, draft.better))
    return replace(
        draft,
        change=_finite(raw_change(last.mean, draft.better)),
        worse=last.mean > 0,
        ci_low=looks[-1].low if looks else None,
        ci_high=looks[-1].high if looks else None,
        ci_level=level,
        log_e=last.log_e,
        could_hide=last.could_hide if draft.verdict is Verdict.INCONCLUSIVE else None,
        sigma_pair=last.sd,
        looks=looks,
    )


def _is_shown(decision: Decision, better: Better) -> bool:
    """Tell whether the change has a number: values of 1e-300 and 1e300 are compared, but their ratio is none."""
    return math.isfinite(raw_change(decision.mean, better))


def _as_look(decision: Decision, better: Better) -> Look:
    change = raw_change(decision.mean, better)
    bound_pass = None if math.isinf(decision.half_pass) else _finite(raw_change(decision.hi_pass, better))
    if math.isinf(decision.half):
        return Look(decision.n, change, None, None, bound_pass)
    low, high = raw_interval(decision.low, decision.high, better)
    return Look(decision.n, change, low, _finite(high), bound_pass)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
