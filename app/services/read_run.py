"""Everything that is known of one run: its results, how its arms were prepared, its invocations, their raw timings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.results import CommitRef, case_label
from app.reports.activity_tables import ActivityView, activity_views
from app.reports.device_states import ControlView, DeviceStateView, control_views, state_views
from app.reports.fingerprints import FactGroup, fact_groups
from app.services.environment_change import EnvironmentChange, since_run_before
from app.services.list_checks import commit_ref
from app.services.list_runs import RunLine, run_line
from app.services.read_devices import ReadingStrip, control_probes, device_states, reading_strips
from app.services.read_samples import SamplePage, read_samples
from app.services.voids import is_wholly_void
from app.store.repositories import checks, fleet, runs
from app.store.repositories.runs import InvocationCounts, RunContext, TimingStrip
from app.store.tables import Invocation

CASES_PER_PAGE = 12
POINTS = 24
"""Batches of one invocation that are read for its picture."""


@dataclass(frozen=True)
class ArmPreparation:
    """How one arm was made ready: check-out, set-up, listing of its cases."""

    arm: str
    commit: CommitRef | None
    status: str
    reason: str
    log_tail: str
    software: tuple[tuple[str, str, bool], ...]
    """Name, version, and whether the other arm has another one (or none)."""


@dataclass(frozen=True)
class InvocationLine:
    """One fresh process of one arm; `after_s` counts from the start of the run."""

    number: int
    arm: str
    pair: int
    block: int
    position: int
    status: str
    reason: str
    log_tail: str
    is_void: bool
    void_reason: str | None
    flags: tuple[str, ...]
    started_at: datetime
    after_s: float
    duration_s: float
    exit_code: int | None


@dataclass(frozen=True)
class Burst:
    """One invocation's batches of one case, in time order: seconds for one iteration."""

    arm: str
    is_void: bool
    status: str
    n_batches: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class CaseTimings:
    """The raw timings of one case over the run."""

    label: str
    clock: str
    k: int
    bursts: tuple[Burst, ...]

    @property
    def n_batches(self) -> int:
        """Batches that were stored, drawn or not."""
        return sum(burst.n_batches for burst in self.bursts)

    @property
    def n_failed(self) -> int:
        """Invocations in which this case did not come to its end."""
        return sum(burst.status != "ok" for burst in self.bursts)


@dataclass(frozen=True)
class RunDetail:
    """One run with everything that its page shows."""

    line: RunLine
    checks: tuple[int, ...]
    job: int
    job_state: str
    devices: tuple[tuple[str, str], ...]
    """Model and hardware id of each."""
    order_seed: int | None
    n_gating: int | None
    log_tail: str | None
    arms: tuple[ArmPreparation, ...]
    environment: tuple[FactGroup, ...]
    machine_hash: str
    since_before: EnvironmentChange | None
    """What differs since the run before; None where there is none to hold it against."""
    results: SamplePage
    device_states: tuple[DeviceStateView, ...]
    readings: tuple[ReadingStrip, ...]
    control: tuple[ControlView, ...]
    activity: tuple[ActivityView, ...]
    invocations: tuple[InvocationLine, ...]
    cases: tuple[CaseTimings, ...]
    n_cases: int
    page: int
    n_pages: int
    is_summed_up: bool
    """Whether its raw timings are no longer kept."""


def read_run(
    session: Session,
    run_id: int,
    *,
    project_ids: Collection[int] | None = None,
    page: int = 1,
    results_page: int = 1,
) -> RunDetail:
    """Return the run with page `page` (from 1) of its cases' raw timings, and `results_page` of its results.

    Raises NotFoundError for an unknown run, and for one of none of the projects, where `project_ids` names some.
    """
    context = runs.with_context(session, run_id)
    if context is None or (project_ids is not None and context.run.project_id not in project_ids):
        raise NotFoundError(f"there is no run {run_id}")
    found = runs.invocations(session, run_id)
    environment = runs.environment_of(session, context.run)
    labels = _case_labels(session, run_id)
    devices = fleet.devices_of_lease(session, context.attempt.lease_id)
    first = (page - 1) * CASES_PER_PAGE
    is_summed_up = context.run.summary is not None
    wanted = {} if is_summed_up else dict(list(labels.items())[first : first + CASES_PER_PAGE])
    return RunDetail(
        line=run_line(context, _counts(found)),
        checks=tuple(check.id for check in checks.of_job(session, context.job.id)),
        job=context.job.id,
        job_state=context.job.state,
        devices=tuple((device.model or device.device_class, device.hardware_id) for device in devices),
        order_seed=context.run.order_seed,
        n_gating=context.run.n_gating,
        log_tail=context.attempt.log_tail,
        arms=tuple(_arms(context)),
        environment=fact_groups(environment.machine) if environment else (),
        machine_hash=environment.machine_hash if environment else "",
        since_before=since_run_before(session, context, environment),
        results=read_samples(session, "run_id", run_id, results_page),
        device_states=state_views(device_states(session, context.attempt.lease_id, run_id)),
        readings=reading_strips(session, context.attempt.lease_id, run_id),
        control=control_views(control_probes(session, run_id)),
        activity=activity_views(context.run.activity, [device.hardware_id for device in devices]),
        invocations=tuple(_invocations(found)),
        cases=tuple(_cases(session, run_id, wanted, found)),
        n_cases=len(labels),
        page=page,
        n_pages=max(1, -(-len(labels) // CASES_PER_PAGE)),
        is_summed_up=is_summed_up,
    )


def _counts(found: Collection[Invocation]) -> InvocationCounts:
    return InvocationCounts(
        len(found), sum(map(is_wholly_void, found)), sum(one.status == "ok" for one in found)
    )


def _case_labels(session: Session, run_id: int) -> dict[int, str]:
    """Return the planned cases by id, in the order of the plan."""
    return {
        case.id: case_label(case.benchmark, case.params) for _, case in runs.verdict_rows(session, run_id)
    }


def _arms(context: RunContext) -> Iterable[ArmPreparation]:
    reports: dict[str, Any] = context.run.arms or {}
    commits = {"base": commit_ref(context.base) if context.base else None, "head": commit_ref(context.head)}
    for arm in ("base", "head"):
        if arm in reports:
            other = reports.get("head" if arm == "base" else "base", {}).get("software", {})
            yield _arm(arm, commits[arm], reports[arm], other)


def _arm(arm: str, commit: CommitRef | None, report: dict[str, Any], other: dict[str, str]) -> ArmPreparation:
    software = report.get("software", {})
    return ArmPreparation(
        arm=arm,
        commit=commit,
        status=report["status"],
        reason=report.get("reason", ""),
        log_tail=report.get("log_tail", ""),
        software=tuple(
            (name, version, bool(other) and other.get(name) != version)
            for name, version in sorted(software.items())
        ),
    )


def _invocations(found: Sequence[Invocation]) -> Iterable[InvocationLine]:
    for number, row in enumerate(found, start=1):
        yield InvocationLine(
            number=number,
            arm=row.arm,
            pair=row.pair_index + 1,
            block=row.block + 1,
            position=row.position + 1,
            status=row.status,
            reason=row.reason,
            log_tail=row.log_tail,
            is_void=is_wholly_void(row),
            void_reason=row.void_reason,
            flags=tuple(row.flags),
            started_at=row.started_at,
            after_s=(row.t_start_ns - found[0].t_start_ns) / 1e9,
            duration_s=row.duration_ns / 1e9,
            exit_code=row.exit_code,
        )


def _cases(
    session: Session, run_id: int, labels: dict[int, str], found: Sequence[Invocation]
) -> Iterable[CaseTimings]:
    strips: dict[int, list[TimingStrip]] = defaultdict(list)
    for strip in runs.timing_strips(session, run_id, labels, points=POINTS) if labels else ():
        strips[strip.case_id].append(strip)
    invocations = {invocation.id: invocation for invocation in found}
    for case_id, label in labels.items():
        its = strips[case_id]
        yield CaseTimings(
            label=label,
            clock=its[-1].clock if its else "",
            k=its[-1].k if its else 1,
            bursts=tuple(_burst(strip, invocations[strip.invocation_id]) for strip in its),
        )


def _burst(strip: TimingStrip, invocation: Invocation) -> Burst:
    return Burst(
        arm=invocation.arm,
        is_void=is_wholly_void(invocation),
        status=strip.status,
        n_batches=strip.n_batches,
        seconds=tuple(ns / strip.k / 1e9 for ns in strip.ns),
    )
