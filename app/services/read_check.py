"""Assemble everything that is known of a check into plain values, for JSON, report and pages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, cast

from sqlalchemy.orm import Session

from app.analysis.judge import Levels
from app.domain.errors import NotFoundError
from app.domain.jobs import TERMINAL, JobState
from app.domain.results import (
    CaseVerdict,
    CheckResult,
    Estimate,
    Look,
    Note,
    SuiteResult,
    Written,
)
from app.domain.verdicts import Conclusion, Verdict
from app.services.find_unmatched import find_unmatched
from app.services.follow_machine import drifted
from app.services.list_checks import commit_ref
from app.services.plan_run import better_of
from app.services.read_devices import control_probes, device_states
from app.services.read_efficiency import read_efficiency
from app.services.run_summary import RunSummary, summary_of
from app.services.voids import is_void
from app.store.repositories import checks, jobs, runs
from app.store.repositories.runs import ArmValue
from app.store.tables import BenchmarkCase, Check, Environment, Job, Run
from app.store.tables import Verdict as VerdictRow

TIMING_DOUBTS = ("few_batches", "processor_contended", "processor_shared", "warmup_not_converged")
"""What an invocation may say of how well it timed a case, that whoever reads a verdict on its times should know."""

TIMED = ("latency_p50", "latency_p90", "latency_p99", "samples_per_s", "tokens_per_s")
"""The metrics that are made of the timed batches."""

VALUES_GONE = Note(
    "values_not_kept",
    "single values are older than this service keeps them, so that pictures of them are missing; verdicts, intervals "
    "and medians are as they were",
)

_LOOK = frozenset(field.name for field in fields(Look))


def read_check(session: Session, check_id: int) -> CheckResult:
    """Return the check as it stands. Raises NotFoundError for an unknown one."""
    found = checks.with_context(session, check_id)
    if found is None:
        raise NotFoundError(f"there is no check {check_id}")
    check, project, base, head = found
    its_jobs = jobs.of_request(session, check.request_id)
    suites = tuple(_suite(session, job) for job in its_jobs)
    return CheckResult(
        id=check.id,
        project=project.name,
        base=commit_ref(base),
        head=commit_ref(head),
        state=cast("Literal['queued', 'running', 'complete']", check.state),
        suites=suites,
        conclusion=Conclusion(check.conclusion) if check.conclusion else None,
        reason=next((suite.reason for suite in suites if suite.reason and not suite.cases), None),
        title=check.title,
        alpha=check.alpha,
        minimum_effect=check.settings["minimum_effect"],
        tolerance=check.settings["tolerance"],
        created_at=check.created_at,
        concluded_at=check.concluded_at,
        reproduce=check.reproduce,
        notes=(*_unmatched(check, its_jobs, suites), *_values_gone(session, its_jobs)),
    )


def _unmatched(check: Check, its_jobs: Sequence[Job], suites: tuple[SuiteResult, ...]) -> tuple[Note, ...]:
    return find_unmatched(its_jobs[0].policy, check.settings.get("suites"), suites) if its_jobs else ()


def _values_gone(session: Session, its_jobs: Sequence[Job]) -> tuple[Note, ...]:
    return (VALUES_GONE,) if runs.any_summed_up(session, [job.id for job in its_jobs]) else ()


def _suite(session: Session, job: Job) -> SuiteResult:
    run = runs.latest_of_job(session, job.id)
    if run is None:
        return SuiteResult(
            name=job.suite,
            device_class=job.device_class,
            state=job.state,
            job=job.id,
            reason=_reason(session, job),
            budget_s=job.budget_s,
        )
    attempt, worker = runs.attempt_of(session, run)
    values = runs.arm_values(session, run.id)
    summary = summary_of(session, run, values)
    environment = runs.environment_of(session, run)
    cases = _cases(session, run, job, values, summary)
    return SuiteResult(
        name=job.suite,
        device_class=job.device_class,
        state=job.state,
        cases=cases,
        reason=_reason(session, job),
        job=job.id,
        run=run.id,
        worker=worker.name,
        phase=" ".join(filter(None, (attempt.phase, attempt.detail)))
        if job.state == JobState.RUNNING
        else None,
        environment=_flat(environment),
        software_changes=_software_changes(environment),
        void_pairs=summary.void_pairs,
        device_states=device_states(session, attempt.lease_id, run.id),
        control=control_probes(session, run.id),
        pairs_done=summary.pairs,
        device_s=run.device_s,
        budget_s=job.budget_s,
        log_tail=job.log_tail,
        started_at=attempt.started_at,
        finished_at=job.finished_at,
        efficiency=read_efficiency(session, job, run, attempt.lease_id, cases, summary.work),
    )


def _reason(session: Session, job: Job) -> str | None:
    if job.state == JobState.SUCCEEDED:
        return None
    if job.state == JobState.QUEUED and job.reason is None:
        return f"waiting for a device, place {jobs.queue_place(session, job) + 1}"
    return ": ".join(filter(None, (job.reason, job.message))) or None


def _cases(
    session: Session, run: Run, job: Job, values: Sequence[ArmValue], summary: RunSummary
) -> tuple[CaseVerdict, ...]:
    by_case: dict[int, list[ArmValue]] = defaultdict(list)
    for value in values:
        by_case[value.case_id].append(value)
    usual, drift = summary.usual_flags, ("run_drift",) if drifted(session, run.id) else ()
    sources = {name: Written(**where) for name, where in (run.sources or {}).items()}
    unpublished = job.state in TERMINAL and job.state != JobState.SUCCEEDED
    return tuple(
        _case(
            row,
            case,
            tuple(_estimate(value) for value in by_case[case.id] if value.metric == row.metric),
            summary.levels.get(row.id, Levels()),
            doubts=(*_timing_doubts(row, usual.get(case.id, ())), *(drift if row.kind == "sampled" else ())),
            unpublished=unpublished,
            written=sources.get(case.benchmark),
        )
        for row, case in runs.verdict_rows(session, run.id)
    )


def _timing_doubts(row: VerdictRow, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of a case's usual flags concern this metric: those about timing, if it is made of times."""
    return tuple(flag for flag in TIMING_DOUBTS if flag in usual and row.metric in TIMED)


def _case(
    row: VerdictRow,
    case: BenchmarkCase,
    estimates: tuple[Estimate, ...],
    levels: Levels,
    *,
    doubts: tuple[str, ...],
    unpublished: bool,
    written: Written | None,
) -> CaseVerdict:
    known = Verdict(row.verdict) if row.verdict else None
    verdict = Verdict.NOT_MEASURED if unpublished else known
    looks = tuple(map(_look, row.looks))
    return CaseVerdict(
        benchmark=case.benchmark,
        params=case.params,
        metric=row.metric,
        unit=row.unit,
        better=better_of(row),
        gating=row.gating,
        verdict=verdict,
        reason="infra" if unpublished else row.reason,
        change=row.change,
        worse=row.worse,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        ci_level=row.ci_level,
        bound_pass=looks[-1].bound_pass if looks else None,
        n_pairs=row.n_pairs,
        n_void=row.n_void,
        device_s=row.device_s,
        log_e=row.log_e,
        could_hide=None if row.could_hide is None else math.expm1(row.could_hide),
        sigma_pair=row.sigma_pair,
        grade=row.grade,
        flags=(*row.flags, *doubts),
        attribution=tuple(row.attribution),
        exploratory=row.exploratory,
        kind=cast("Literal['sampled', 'exact']", row.kind),
        minimum_effect=row.plan["tau0"],
        tolerance=row.plan["tau"],
        base_median=levels.base_median,
        head_median=levels.head_median,
        base_geomean=levels.base_geomean,
        head_geomean=levels.head_geomean,
        estimates=estimates,
        looks=looks,
        log_tail=row.log_tail,
        provenance=row.provenance,
        written=written,
    )


def _estimate(value: ArmValue) -> Estimate:
    assert value.value is not None
    return Estimate(
        pair=value.pair_index,
        arm=cast("Literal['base', 'head']", value.arm),
        position=value.position,
        value=value.value,
        void=is_void(value),
        void_reason=value.void_reason,
    )


def _look(stored: dict[str, Any]) -> Look:
    """Return a stored look; what a later release may have added to it is passed over."""
    return Look(**{name: value for name, value in stored.items() if name in _LOOK})


def _flat(environment: Environment | None) -> dict[str, str]:
    """Return the machine's fingerprint as text pairs, nested names joined by dots."""
    if environment is None:
        return {}
    flat: dict[str, str] = {}
    _flatten("", environment.machine, flat)
    return flat


def _flatten(prefix: str, value: Any, into: dict[str, str]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _flatten(f"{prefix}.{name}" if prefix else name, inner, into)
    elif value not in (None, "", []):
        into[prefix] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _software_changes(environment: Environment | None) -> tuple[tuple[str, str | None, str | None], ...]:
    if environment is None or set(environment.software) < {"base", "head"}:
        return ()
    base, head = environment.software["base"], environment.software["head"]
    names = sorted(base.keys() | head.keys())
    return tuple((n, base.get(n), head.get(n)) for n in names if base.get(n) != head.get(n))
