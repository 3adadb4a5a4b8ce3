"""What a run will measure and judge, stored before its first pair: cases, metrics, M, thresholds, priors.

Nothing of it changes afterwards: the sequential rule is only valid so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from app.analysis.past_noise import past_noise
from app.analysis.sequential import MIN_PAIRS, g_from_history
from app.domain.results import Better
from app.domain.verdicts import Verdict
from app.services.derive_values import Circumstances, circumstances, derived_metrics
from app.services.follow_machine import note_control, note_machine
from app.services.lease_jobs import announce, require_lease
from app.services.open_cases import open_cases
from app.services.plan_cases import PlannedCase, plan_cases
from app.services.quarantine import QUARANTINED
from app.settings import budget_for
from app.store.repositories import clock, fleet, projects, runs
from app.store.tables import BenchmarkCase, Job, Run
from app.store.tables import Verdict as VerdictRow
from workers import logs
from workers.protocol import MetricDecl, OpenCases, Prepared

DEFAULT_GATE = ("latency_p50", "peak_memory", "peak_device_memory")
"""What gates a case of a benchmark file, unless the suite says otherwise; a command's first metric gates."""

Noise = dict[tuple[int, str], list[float]]
"""(case, metric) -> pair standard deviations in earlier runs (ln units)."""

_BUILD_METRIC = MetricDecl(metric="wall_time", unit="s", better="lower")
"""Stands in for the metrics of a case that was never measured."""


def plan_run(session: Session, lease_id: str, message: Prepared) -> OpenCases:
    """Store how the arms were prepared and the plan of every case; return what is to be measured.

    Posting it again changes nothing. Raises StaleLeaseError when the lease has ended.
    """
    job, _, run = require_lease(session, lease_id)
    logs.bind(run_id=run.id)
    if run.prepared_at is None:
        planned = plan_cases(job.suite, message)
        _store_preparation(session, run, message)
        devices = fleet.devices_of_lease(session, lease_id)
        note_machine(session, devices, run, message)
        note_control(session, devices, run, "start", message.control)
        if not any(device.health == QUARANTINED for device in devices):
            given = circumstances(job, devices, message.idle)
            _store_plan(session, job, run, _some(planned, job.policy.get("most_cases")), given)
        session.flush()
        announce(session, job)
    return open_cases(session, job, run, runs.planned(session, run.id).cases)


def _some(planned: list[PlannedCase], most: int | None) -> list[PlannedCase]:
    """Return the cases, or where only some are wanted, first those that can be measured in pairs."""
    return planned if most is None else sorted(planned, key=lambda case: case.verdict is not None)[:most]


def _store_preparation(session: Session, run: Run, message: Prepared) -> None:
    software: dict[str, Any] = {report.arm: report.software for report in message.arms}
    environment = projects.environment(session, message.machine_hash, message.fingerprint, software)
    run.environment_id = environment.id
    run.idle = message.idle
    run.order_seed, run.device_s = message.order_seed, message.device_s
    run.prepared_at = clock.in_time()
    keep = {"status", "reason", "log_tail", "software"}
    run.arms = {report.arm: report.model_dump(include=keep) for report in message.arms}


def _with_derived(job: Job, given: Circumstances, case: PlannedCase) -> PlannedCase:
    """Return a case with the metrics that are made of its others, after those."""
    named = frozenset([*(job.policy["gate"] or ()), *(budget["metric"] for budget in job.policy["budgets"])])
    reported = {metric.metric for metric in case.metrics}
    found = derived_metrics(given, case.listing, named)
    derived = [one for one in found if one.metric.metric not in reported]
    if not case.metrics:
        return case
    return replace(
        case,
        metrics=(*case.metrics, *(one.metric for one in derived)),
        lacking={one.metric.metric: one.lack for one in derived if one.lack},
    )


def _store_plan(
    session: Session, job: Job, run: Run, planned: list[PlannedCase], given: Circumstances
) -> None:
    wanted = [(case.listing.benchmark, case.listing.params) for case in planned]
    rows = projects.cases(session, job.project_id, wanted)
    case_ids = [row.id for row in rows.values()]
    noise = runs.pair_noise(session, job.device_class, case_ids, fewest_pairs=MIN_PAIRS)
    planned = [_with_derived(job, given, case) for case in planned]
    gate = _gate_of(job, planned)
    gating = 0
    for case in planned:
        verdicts = _verdict_rows(job, run, rows[case.listing.case.key], case, gate, noise)
        gating += sum(v.gating for v in verdicts)
        session.add_all(verdicts)
    run.n_gating = max(1, gating)
    run.sources = {
        case.listing.benchmark: {"file": case.listing.file, "line": case.listing.line}
        for case in planned
        if case.listing.file
    }


@dataclass(frozen=True)
class Gate:
    """Which metrics gate: those that the suite names, else the defaults.

    A gate none of whose metrics any case reports is not obeyed, or a slip of the pen would pass everything. Verdicts
    carry a flag when it names even one that no case reports.
    """

    named: frozenset[str] | None
    is_command: bool
    flags: tuple[str, ...] = ()

    def has(self, metric: str, metrics: list[MetricDecl]) -> bool:
        """Say whether the metric gates a case that reports these."""
        if self.named is not None:
            return metric in self.named
        return metric == metrics[0].metric if self.is_command else metric in DEFAULT_GATE


def _gate_of(job: Job, planned: list[PlannedCase]) -> Gate:
    named = job.policy["gate"] and frozenset(job.policy["gate"])
    is_command = bool(job.spec["suite"]["command"])
    reported = {metric.metric for case in planned for metric in case.metrics}
    if not named or not reported:
        return Gate(None, is_command)
    flags = () if named <= reported else ("gate_unmatched",)
    return Gate(named if named & reported else None, is_command, flags)


def _verdict_rows(
    job: Job, run: Run, row: BenchmarkCase, case: PlannedCase, gate: Gate, noise: Noise
) -> list[VerdictRow]:
    metrics = [_as_declared(job, metric) for metric in case.metrics or _stand_in(job)]
    plans = [_plan_of_metric(job.policy, row, metric, noise) for metric in metrics]
    return [
        _verdict_row(run, row, case, metric, plan, gate if gate.has(metric.metric, metrics) else None)
        for metric, plan in zip(metrics, plans, strict=True)
    ]


def _as_declared(job: Job, metric: MetricDecl) -> MetricDecl:
    """Return the metric with the direction that the settings give it, where they do."""
    better: Better | None = job.policy["metrics"].get(metric.metric, {}).get("better")
    return metric.model_copy(update={"better": better}) if better else metric


def _stand_in(job: Job) -> tuple[MetricDecl, ...]:
    if job.spec["suite"]["command"]:
        return (_BUILD_METRIC,)
    return (MetricDecl(metric="latency_p50", unit="s", better="lower"),)


def _verdict_row(
    run: Run,
    row: BenchmarkCase,
    case: PlannedCase,
    metric: MetricDecl,
    plan: dict[str, Any],
    gate: Gate | None,
) -> VerdictRow:
    verdict, reason = _known_before(case, metric.metric)
    return VerdictRow(
        run_id=run.id,
        case_id=row.id,
        metric=metric.metric,
        unit=metric.unit,
        better=metric.better,
        kind=metric.kind,
        gating=gate is not None,
        exploratory=gate is None,
        plan=plan,
        series_version=case.listing.file_digest,
        verdict=verdict.value if verdict else None,
        reason=reason or None,
        log_tail=case.log_tail or None,
        flags=[*case.flags, *(gate.flags if gate else ())],
        attribution=[],
        looks=[],
    )


def _known_before(case: PlannedCase, metric: str) -> tuple[Verdict | None, str]:
    """Return the verdict that a metric has before anything is measured, and its reason; None where pairs will tell."""
    if metric in case.mismatched:
        return Verdict.NOT_MEASURED, "unit_mismatch"
    if case.verdict is None and metric in case.lacking:
        return Verdict.NOT_MEASURED, case.lacking[metric]
    return case.verdict, case.reason


def _plan_of_metric(
    policy: dict[str, Any], row: BenchmarkCase, metric: MetricDecl, noise: Noise
) -> dict[str, Any]:
    thresholds = policy["metrics"].get(metric.metric, policy["default"])
    budget = budget_for(policy["budgets"], row.benchmark, metric.metric) or {}
    sds = noise.get((row.id, metric.metric), [])
    past = past_noise(sds)
    return {
        "tau0": thresholds["tau0"],
        "tau": thresholds["tau"],
        "g": g_from_history(past.sd if sds else None, thresholds["tau"]),
        "past_sd": past.sd,
        "past_freedom": past.freedom,
        "budget_max": budget.get("max"),
        "budget_min": budget.get("min"),
    }


def better_of(row: VerdictRow) -> Better:
    """Return the row's direction, typed."""
    return "higher" if row.better == "higher" else "lower"
