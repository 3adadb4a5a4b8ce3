"""Judge a run as it stands after a block: every open case, all its metrics, by the rules of `app.analysis`.

A verdict that is set is never touched again. A case is settled when its gating metrics are; what is shown
beside them gets its verdict then. When pairs or device time run out, what is open becomes inconclusive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from sqlalchemy.orm import Session

from app.analysis.evidence import Pair
from app.analysis.judge import Judgement, Kind, MetricPlan, case_settled, judge_case
from app.analysis.validity import Arm, ArmOutcome, Failure, failure_of
from app.domain.results import Better
from app.domain.verdicts import Verdict
from app.store.repositories import clock, runs
from app.store.repositories.runs import ArmValue
from app.store.tables import Job, Run
from app.store.tables import Verdict as VerdictRow

_KEPT = tuple(
    "change worse ci_low ci_high ci_level n_pairs n_void log_e could_hide sigma_pair grade kind".split()
)
"""Fields of a judgement that its row keeps under the same name."""


def judge_run(session: Session, job: Job, run: Run) -> None:
    """Judge every open case of the run and store what was settled."""
    by_case: dict[int, list[VerdictRow]] = defaultdict(list)
    for row, _ in runs.verdict_rows(session, run.id, only_open=True):
        by_case[row.case_id].append(row)
    if not by_case:
        return
    values: dict[int, list[ArmValue]] = defaultdict(list)
    for value in runs.arm_values(session, run.id, by_case):
        values[value.case_id].append(value)
    for case_id, rows in by_case.items():
        _judge_case(session, job, run, rows, values[case_id])


def _judge_case(session: Session, job: Job, run: Run, rows: list[VerdictRow], values: list[ArmValue]) -> None:
    failure = failure_of(_outcomes(values))
    if failure is not None:
        _fail(session, run, rows, failure)
        return
    pairs = pairs_of(values)
    exhausted = (
        run.device_s >= job.budget_s or len({v.pair_index for v in values if not v.void}) >= job.max_pairs
    )
    plans = {row.id: _plan(row, values) for row in rows}

    def judge(row: VerdictRow, *, exhausted: bool) -> Judgement:
        return _judge(job, run, plans[row.id], pairs, exhausted=exhausted)

    judged = [(row, judge(row, exhausted=exhausted)) for row in rows]
    if not exhausted and case_settled([judgement for _, judgement in judged]):
        judged = [(row, found if row.gating else judge(row, exhausted=True)) for row, found in judged]
    for row, judgement in judged:
        _store(session, run, row, judgement)


def _judge(
    job: Job, run: Run, plan: MetricPlan, pairs: dict[str, list[Pair]], *, exhausted: bool
) -> Judgement:
    return judge_case(
        plan,
        pairs[plan.metric],
        alpha=job.policy["alpha"],
        alpha_pass=job.policy["alpha_pass"],
        m=run.n_gating or 1,
        exhausted=exhausted,
    )


def _plan(row: VerdictRow, values: list[ArmValue]) -> MetricPlan:
    return MetricPlan(
        metric=row.metric,
        unit=row.unit,
        better=cast("Better", row.better),
        kind=cast("Kind", row.kind),
        gating=row.gating,
        timer_floor=_timer_floor(row, values),
        **row.plan,
    )


def _timer_floor(row: VerdictRow, values: list[ArmValue]) -> float:
    """Return the timer's resolution over the shortest duration that it timed: no noise below it is believed."""
    if row.unit != "s":
        return 0.0
    timed = ((v, v.value) for v in values if v.metric == row.metric)
    return max((v.timer_resolution_s / (v.k * s) for v, s in timed if s is not None and s > 0), default=0.0)


def pairs_of(values: Sequence[ArmValue]) -> dict[str, list[Pair]]:
    """Return the finished pairs of one case by metric, in time order; unknown metrics have none.

    A pair is finished when both its invocations are in. One that failed has no metrics of its own, so it stands
    in the pairs of every metric.
    """
    invocations: dict[int, dict[str, list[ArmValue]]] = defaultdict(lambda: defaultdict(list))
    for value in values:
        invocations[value.pair_index][value.arm].append(value)
    metrics = {value.metric for value in values if value.metric is not None}
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for index in sorted(invocations):
        arms = invocations[index]
        if set(arms) >= {"base", "head"}:
            for metric in metrics:
                pairs[metric].append(_pair(index, arms["base"], arms["head"], metric))
    return pairs


def _pair(index: int, base: list[ArmValue], head: list[ArmValue], metric: str) -> Pair:
    void = next((value for value in (*base, *head) if value.void), None)
    return Pair(
        pair_index=index,
        block=base[0].block,
        base=_value(base, metric),
        head=_value(head, metric),
        void=void is not None,
        void_reason=void.void_reason if void else None,
        base_failed=base[0].status != "ok",
        head_failed=head[0].status != "ok",
        void_arm=cast("Arm", void.arm) if void else None,
    )


def _value(values: list[ArmValue], metric: str) -> float | None:
    return next((value.value for value in values if value.metric == metric), None)


def _outcomes(values: Sequence[ArmValue]) -> list[ArmOutcome]:
    seen: dict[int, ArmOutcome] = {}
    for value in values:
        if not value.void:
            seen[value.invocation_id] = ArmOutcome(cast("Arm", value.arm), value.status != "ok")
    return list(seen.values())


def _fail(session: Session, run: Run, rows: list[VerdictRow], failure: Failure) -> None:
    arm = "base" if failure.verdict is Verdict.BASE_FAILS else "head"
    told = runs.last_failure(session, run.id, rows[0].case_id, arm)
    now = clock.now(session)
    for row in rows:
        row.verdict = failure.verdict.value
        row.reason = ": ".join(filter(None, (failure.reason, told.reason if told else None))) or None
        row.log_tail = told.log_tail if told else None
        row.settled_at, row.device_s = now, run.device_s


def _store(session: Session, run: Run, row: VerdictRow, found: Judgement) -> None:
    # The time is asked first: a query would flush half of the row, and a settled row stays as it is.
    now = clock.now(session)
    for name in _KEPT:
        setattr(row, name, getattr(found, name))
    row.flags = list(dict.fromkeys([*row.flags, *found.flags]))
    row.looks = [asdict(look) for look in found.looks]
    if found.verdict is not None:
        row.verdict, row.reason = found.verdict.value, found.reason
        row.settled_at, row.device_s = now, run.device_s
