"""Judge a run as it stands after a block: every open case, all its metrics, by the rules of `app.analysis`.

A verdict that is set is never touched again. A case is settled when its gating metrics are; what is shown
beside them gets its verdict then. When pairs or device time run out, what is open becomes inconclusive, and its
reason says which of them it was.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from sqlalchemy.orm import Session

from app.analysis.attribution import Seen, attribute
from app.analysis.discoveries import count_discoveries
from app.analysis.evidence import Pair
from app.analysis.judge import Examination, Grade, Judgement, Kind, MetricPlan, case_settled, examine
from app.analysis.validity import Arm, ArmOutcome, Failure, failure_of
from app.domain.results import Better
from app.domain.verdicts import Verdict
from app.services.voids import is_void
from app.services.weigh_device import grade_of_run
from app.store.repositories import clock, runs
from app.store.repositories.runs import ArmValue
from app.store.tables import Job, Run
from app.store.tables import Verdict as VerdictRow

_KEPT = tuple(
    "change worse ci_low ci_high ci_level n_pairs n_void log_e could_hide sigma_pair grade kind".split()
)
"""Fields of a judgement that its row keeps under the same name."""


def judge_run(session: Session, job: Job, run: Run, *, ended: str | None = None) -> None:
    """Judge every open case of the run and store what was settled.

    `ended` is why no more pairs will come, where its agent says so; nothing is open afterwards.
    """
    by_case: dict[int, list[VerdictRow]] = defaultdict(list)
    for row, _ in runs.verdict_rows(session, run.id, only_open=True):
        by_case[row.case_id].append(row)
    if not by_case:
        return
    values: dict[int, list[ArmValue]] = defaultdict(list)
    for value in runs.arm_values(session, run.id, by_case):
        values[value.case_id].append(value)
    now = clock.now(session)
    cases = []
    for case_id, rows in by_case.items():
        failure = failure_of(_outcomes(values[case_id]))
        if failure is not None:
            _fail(session, run, rows, failure, now)
        else:
            cases.append(_examine(job, run, rows, values[case_id], ended))
    found = _discoveries(session, job, run, cases)
    attribution = attribute(Seen(cast("Arm", arm), gates) for arm, gates in runs.gates_of(session, run.id))
    grade = grade_of_run(session, run.id)
    # No query from here on: it would flush half of a row, and a settled row stays as it is.
    for case in cases:
        _judge_case(run, case, found, _Machine(grade, attribution), now)


@dataclass(frozen=True)
class _Machine:
    """How good the run's devices are by their own A/A, None where one has none yet; and what held an arm back."""

    grade: Grade | None
    attribution: list[str]


@dataclass(frozen=True)
class _OpenCase:
    """A case with what its pairs show of each of its open metrics; `ended` is why it gets no more of them."""

    metrics: list[tuple[VerdictRow, Examination]]
    ended: str | None


def _examine(
    job: Job, run: Run, rows: list[VerdictRow], values: list[ArmValue], ended: str | None
) -> _OpenCase:
    pairs = pairs_of(values)
    metrics = [(row, _examine_metric(job, run, row, _plan(row, values), pairs)) for row in rows]
    return _OpenCase(metrics, ended or _ended(job, run, values))


def _examine_metric(
    job: Job, run: Run, row: VerdictRow, plan: MetricPlan, pairs: dict[str, list[Pair]]
) -> Examination:
    return examine(
        plan,
        pairs[plan.metric],
        alpha=job.policy["alpha"],
        alpha_pass=job.policy["alpha_pass"],
        m=run.n_gating or 1,
        known=row.looks[-1]["n_pairs"] if row.looks else 0,
    )


def _ended(job: Job, run: Run, values: list[ArmValue]) -> str | None:
    """Return why a case with these values gets no more pairs; None where it does."""
    if run.device_s >= job.budget_s:
        return "device_time"
    return "max_pairs" if len({v.pair_index for v in values if not is_void(v)}) >= job.max_pairs else None


def _discoveries(session: Session, job: Job, run: Run, cases: list[_OpenCase]) -> int:
    """Return how many metrics of the run changed, those that were settled before among them."""
    return count_discoveries(
        [examination.log_e for case in cases for _, examination in case.metrics],
        alpha=job.policy["alpha"],
        m=run.n_gating or 1,
        settled=runs.settled_discoveries(session, run.id),
    )


def _judge_case(run: Run, case: _OpenCase, found: int, machine: _Machine, now: datetime) -> None:
    exhausted = case.ended is not None
    judged = [(row, shown.judge(found=found, exhausted=exhausted)) for row, shown in case.metrics]
    if not exhausted and case_settled([judgement for _, judgement in judged]):
        judged = [
            (row, known if row.gating else shown.judge(exhausted=True))
            for (row, shown), (_, known) in zip(case.metrics, judged, strict=True)
        ]
    for row, judgement in judged:
        if machine.grade is not None and judgement.grade is not None:
            judgement = replace(judgement, grade=machine.grade)
        row.attribution = machine.attribution
        _store(run, row, judgement, case.ended, now)


def _plan(row: VerdictRow, values: list[ArmValue]) -> MetricPlan:
    return MetricPlan(
        metric=row.metric,
        unit=row.unit,
        better=cast("Better", row.better),
        kind=_planned_kind(row),
        gating=row.gating,
        timer_floor=_timer_floor(row, values),
        **row.plan,
    )


def _planned_kind(row: VerdictRow) -> Kind:
    """Return how the metric was to be compared; the row says how it was, once it is judged."""
    return "exact" if "kind_sampled" in row.flags else cast("Kind", row.kind)


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
    spoilt = [value for value in (*base, *head) if value.metric in (metric, None) and is_void(value)]
    void = spoilt[0] if spoilt else None
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
        if not is_void(value):
            seen[value.invocation_id] = ArmOutcome(cast("Arm", value.arm), value.status != "ok")
    return list(seen.values())


def _fail(session: Session, run: Run, rows: list[VerdictRow], failure: Failure, now: datetime) -> None:
    arm = "base" if failure.verdict is Verdict.BASE_FAILS else "head"
    told = runs.last_failure(session, run.id, rows[0].case_id, arm)
    for row in rows:
        row.verdict = failure.verdict.value
        row.reason = ": ".join(filter(None, (failure.reason, told.reason if told else None))) or None
        row.log_tail = told.log_tail if told else None
        row.settled_at, row.device_s = now, run.device_s


def _store(run: Run, row: VerdictRow, found: Judgement, ended: str | None, now: datetime) -> None:
    for name in _KEPT:
        setattr(row, name, getattr(found, name))
    row.flags = list(dict.fromkeys([*row.flags, *found.flags]))
    row.looks = _all_looks(row.looks, found)
    if found.verdict is not None:
        row.verdict = found.verdict.value
        row.reason = ended if found.verdict is Verdict.INCONCLUSIVE else found.reason
        row.settled_at, row.device_s = now, run.device_s


def _all_looks(known: list[Any], found: Judgement) -> list[dict[str, Any]]:
    """Return the looks that were known before the judgement, and its own in the place of the same and later ones."""
    if found.kind == "exact":
        return []
    new = [dict(vars(look)) for look in found.looks]
    first = new[0]["n_pairs"] if new else math.inf
    return [*(look for look in known if look["n_pairs"] < first), *new]
