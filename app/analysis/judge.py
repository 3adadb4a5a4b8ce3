"""The judge of one metric of one case, asked after every block: plain values in, one judgement out.

It replays the blocks in time order and answers as of the first that settled the metric, so that a verdict,
once there, stays the same when it is asked for again with more pairs; the caller stores it and never
overwrites it. Failing arms are judged apart (`validity.failure_of`), as they concern all metrics of a case.

Metrics of a job that change together need less evidence each: whoever judges a whole job examines all that is open,
counts the discoveries (`discoveries.py`) and judges with their number. Only the newest look may profit; earlier ones
had their chance when they were new.

No database, no clock. The rules and their sources: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any, Literal, NamedTuple

from app.analysis.budget import BudgetState, Limit, judge_budget, judge_exact_budget
from app.analysis.effect import is_measurable, pair_effects, raw_change
from app.analysis.evidence import Evidence, Pair, gather
from app.analysis.exact import MIN_VALUES, ExactComparison, compare_exact, is_countable
from app.analysis.looks import shown_looks
from app.analysis.past_noise import PastNoise
from app.analysis.sequential import (
    ALPHA,
    ALPHA_PASS,
    MIN_PAIRS,
    MINIMUM_EFFECT,
    PAIRS_PER_BLOCK,
    PRIOR_WITHOUT_HISTORY,
    TOLERANCE,
    Decision,
    SequentialRule,
)
from app.analysis.validity import Stop
from app.domain.results import Better, Look
from app.domain.verdicts import Verdict

__all__ = [
    "Examination",
    "Grade",
    "Judgement",
    "Kind",
    "Levels",
    "MetricPlan",
    "Pair",
    "case_settled",
    "examine",
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
    `g` is the variance of the prior (`sequential.g_from_history`), `past_sd` and `past_freedom` what earlier checks
    say of the noise (`past_noise.PastNoise`), `timer_floor` the timer's resolution over the duration that it times.
    Budgets are in the metric's unit.
    """

    metric: str
    unit: str
    better: Better
    kind: Kind = "sampled"
    gating: bool = True
    tau0: float = MINIMUM_EFFECT
    tau: float = TOLERANCE
    g: float = PRIOR_WITHOUT_HISTORY
    past_sd: float = 0.0
    past_freedom: float = 0.0
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


@dataclass(frozen=True)
class Examination:
    """What the pairs of one metric of one case show, before it is known how many metrics of the job changed.

    `seen` are the looks of a sampled metric: up to the one that settled it, all of them outside the gate.
    """

    plan: MetricPlan
    rule: SequentialRule
    evidence: Evidence
    is_exact: bool
    seen: tuple[Decision, ...] = ()

    @property
    def log_e(self) -> float:
        """The evidence for a change that the metric lends to the others of its job (logarithm of an e-value).

        −∞ where it lends none, and takes none: outside the gate, without noise, with a budget of its own, ended by
        void pairs, or settled at an earlier look.
        """
        if not self.seen or not self.plan.gating or self.plan.limits or self.evidence.stop is not None:
            return -math.inf
        last = self.seen[-1]
        is_newest = last.n + PAIRS_PER_BLOCK > len(self.evidence.base)
        return last.log_e_beyond(self.rule.tau0) if is_newest else -math.inf

    def judge(self, *, found: int = 1, exhausted: bool = False, clocks_locked: bool = False) -> Judgement:
        """Return the judgement; arguments as of `judge_case`."""
        if self.is_exact:
            return _judge_exact(self.plan, self.evidence, exhausted=exhausted)
        seen = self.seen
        if found > 1 and math.isfinite(self.log_e):
            seen = (*seen[:-1], self.rule.as_one_of(found, seen[-1]))
        return _judge_sampled(self, seen, exhausted=exhausted, clocks_locked=clocks_locked)


def examine(
    plan: MetricPlan,
    pairs: Iterable[Pair],
    *,
    alpha: float = ALPHA,
    m: int = 1,
    alpha_pass: float = ALPHA_PASS,
    known: int = 0,
) -> Examination:
    """Return what all pairs so far show of one metric of one case; arguments as of `judge_case`."""
    pairs = list(pairs)
    rule = SequentialRule(
        alpha=alpha,
        m=m if plan.gating else 1,
        alpha_pass=alpha_pass,
        tau0=plan.smallest_change,
        tau=plan.tau,
        g=plan.g,
        s_floor=plan.timer_floor,
        past=PastNoise(plan.past_sd, plan.past_freedom),
    )
    if plan.kind == "exact":
        exact = _first_block(plan, gather(pairs, is_countable))
        if _compare(plan, exact) is not None or len(exact.base) < MIN_VALUES:
            return Examination(plan, rule, exact, is_exact=True)
    evidence = gather(pairs, is_measurable)
    effects = pair_effects(evidence.base, evidence.head, plan.better)
    seen = rule.settle(effects, known) if plan.gating else tuple(rule.looks(effects, known))
    return Examination(plan, rule, evidence, is_exact=False, seen=seen)


def judge_case(
    plan: MetricPlan,
    pairs: Iterable[Pair],
    *,
    alpha: float = ALPHA,
    m: int = 1,
    found: int = 1,
    alpha_pass: float = ALPHA_PASS,
    known: int = 0,
    exhausted: bool = False,
    clocks_locked: bool = False,
) -> Judgement:
    """Return the judgement of one metric of one case from all its pairs so far.

    Args:
        plan: how the metric is judged.
        pairs: every finished pair of the case, void ones included, in any order.
        alpha: error level of the job.
        m: gating (case, metric) pairs of the job; a metric outside the gate is judged by itself (m = 1).
        found: how many of them changed, by `discoveries.count_discoveries`; at the newest look the interval is held
            against the minimum effect at alpha · found/m. 1 is always valid.
        alpha_pass: level of the interval that `no_regression` rests on.
        known: pairs of the newest look that the caller has; those before it left the metric open, are not judged
            again, and are missing from the judgement's `looks`. 0 without any.
        exhausted: no more pairs will come, as device time or `sequential.MAX_PAIRS` is spent or the case has
            ended: what is open becomes inconclusive, and a metric outside the gate gets its verdict.
        clocks_locked: the device ran at fixed clocks, without which nothing is graded A.
    """
    examination = examine(plan, pairs, alpha=alpha, m=m, alpha_pass=alpha_pass, known=known)
    return examination.judge(found=found, exhausted=exhausted, clocks_locked=clocks_locked)


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


def _first_block(plan: MetricPlan, evidence: Evidence) -> Evidence:
    """Return what an exact metric is judged by: in the gate the first values that suffice."""
    return evidence.at(MIN_VALUES) if plan.gating and len(evidence.base) >= MIN_VALUES else evidence


def _compare(plan: MetricPlan, evidence: Evidence) -> ExactComparison | None:
    """Return the exact comparison, None where the metric varies or has too few values."""
    if len(evidence.base) < MIN_VALUES:
        return None
    return compare_exact(evidence.base, evidence.head, plan.better, plan.tau)


def _judge_exact(plan: MetricPlan, evidence: Evidence, *, exhausted: bool) -> Judgement:
    found = _compare(plan, evidence)
    if found is None:
        ruling = _unsettled(plan, evidence.stop, exhausted=exhausted)
        return Judgement(kind="exact", **_draft(plan, evidence, ruling))
    ruling = _Ruling(found.verdict, flags=("from_zero",) if found.from_zero else ())
    ruling = _with_budget(ruling, judge_exact_budget(evidence.base, evidence.head, plan.limits))
    if not (plan.gating or exhausted):
        ruling = ruling._replace(verdict=None)
    change, worse = found.change, found.effect > 0
    draft = _draft(plan, evidence, ruling)
    return Judgement(kind="exact", change=change, ci_low=change, ci_high=change, worse=worse, **draft)


def _judge_sampled(
    shown: Examination, seen: Sequence[Decision], *, exhausted: bool, clocks_locked: bool
) -> Judgement:
    plan, evidence = shown.plan, shown.evidence
    last = seen[-1] if seen else None
    ruling = _relative_ruling(plan, last, evidence.stop, exhausted=exhausted)
    if last is not None and plan.limits and ruling.verdict not in (None, Verdict.NOT_MEASURED):
        budget = judge_budget(evidence.base, evidence.head, plan.limits, shown.rule, start=last.n)
        ended = exhausted or evidence.stop is not None or ruling.verdict is Verdict.REGRESSED
        waiting = budget is None and not ended
        ruling = ruling._replace(verdict=None) if waiting else _with_budget(ruling, budget)
    if plan.gating and last is not None and last.verdict is not None:
        evidence = evidence.at(last.n)
    draft = _draft(plan, evidence, ruling, n=last.n if last else None)
    grade = grade_of(last.sd if last else None, clocks_locked=clocks_locked)
    return Judgement(kind="sampled", grade=grade, **draft, **_numbers(plan, ruling, seen))


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


def _draft(plan: MetricPlan, evidence: Evidence, ruling: _Ruling, *, n: int | None = None) -> dict[str, Any]:
    """Return the fields that a judgement has however its metric is compared; values are of the first `n` pairs."""
    base, head = evidence.base[:n], evidence.head[:n]
    return {
        "metric": plan.metric,
        "unit": plan.unit,
        "better": plan.better,
        "gating": plan.gating,
        "verdict": ruling.verdict,
        "reason": ruling.reason,
        "n_pairs": len(base),
        "n_void": evidence.n_void,
        "base_median": median(base) if base else None,
        "head_median": median(head) if head else None,
        "flags": (*ruling.flags, *evidence.flags),
    }


def _numbers(plan: MetricPlan, ruling: _Ruling, seen: Sequence[Decision]) -> dict[str, Any]:
    """Return the fields that the looks at a sampled metric fill; none without a look."""
    if not seen:
        return {}
    last, looks = seen[-1], shown_looks(seen, plan.better)
    change = raw_change(last.mean, plan.better)
    return {
        "change": change if math.isfinite(change) else None,
        "worse": last.mean > 0,
        "ci_low": looks[-1].low if looks else None,
        "ci_high": looks[-1].high if looks else None,
        "ci_level": 1 - last.alpha,
        "log_e": last.log_e,
        "could_hide": last.could_hide if ruling.verdict is Verdict.INCONCLUSIVE else None,
        "sigma_pair": last.sd,
        "looks": looks,
    }
