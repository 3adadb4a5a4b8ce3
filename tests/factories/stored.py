"""Rows as the service stores them, for tests of what reads the database: checks of `results`, workers, single runs.

A stored check has everything behind it: request, jobs, attempts, runs, invocations with raw timings, verdicts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy.orm import Session

from app.domain.results import CaseVerdict, CheckResult, CommitRef, SuiteResult
from app.domain.results import Estimate as EstimateValue
from app.reports.titles import check_title
from app.store.repositories import projects
from app.store.tables import (
    Attempt,
    AuditLog,
    BenchmarkCase,
    Check,
    Commit,
    Device,
    Estimate,
    Invocation,
    Job,
    LeaseDevice,
    Request,
    RequestJob,
    Run,
    Timing,
    Verdict,
    Worker,
)
from tests.factories import results
from workers.protocol import params_key

MACHINE = {
    "machine": {
        "cpu_model": "Intel Xeon Platinum 8488C",
        "threads": 8,
        "kernel": "6.8.0-49-generic",
        "memory_b": 66_571_993_088,
        "clock_policy": "intel_pstate",
        "operating_system": "Ubuntu 24.04.1 LTS",
    },
    "identity": {"host": "bench-01.lab"},
    "soft": {
        "governor": "performance",
        "turbo": False,
        "uptime_s": 1_204_233.0,
        "free_memory_b": 58_112_000_000,
        "environment": {"OMP_NUM_THREADS": "8"},
    },
    "unavailable": ["power_limit_w", "firmware"],
}
SOFTWARE = {"python": "3.11.7", "numpy": "2.1.3", "torch": "2.5.1", "pillow": "11.0.0"}

Found = list[tuple[CaseVerdict, BenchmarkCase, EstimateValue]]
"""What one invocation says, case by case."""

_HELD = ("leased", "running")
_ENDED_WELL = ("succeeded",)


def now() -> datetime:
    return datetime.now(UTC)


def worker(
    session: Session,
    name: str = "bench-01",
    *,
    seen: timedelta = timedelta(seconds=3),
    version: str = "0.1.0",
) -> Worker:
    """A worker that was heard of `seen` ago."""
    found = session.query(Worker).filter_by(name=name).one_or_none()
    if found is None:
        found = Worker(name=name, host=f"{name}.lab", instance=uuid4().hex, agent_version=version)
        session.add(found)
    found.last_seen_at = now() - seen
    session.flush()
    return found


def device(session: Session, owner: Worker, device_class: str, **fields: Any) -> Device:
    """A device of this worker."""
    given: dict[str, Any] = {
        "hardware_id": f"{device_class}/{uuid4().hex[:8]}",
        "kind": device_class.partition("-")[0],
        "model": "Intel Xeon Platinum 8488C",
        "machine_hash": "9f3c2a7b51d0",
        "fingerprint": MACHINE,
    }
    row = Device(worker_id=owner.id, device_class=device_class, **(given | fields))
    session.add(row)
    session.flush()
    return row


def put_away(session: Session, its_device: Device, seen: dict[str, Any], *, ago: timedelta) -> None:
    """Have a device be in quarantine as a release left it that noted no incidents: in the audit log alone."""
    its_device.health = "quarantined"
    its = {"actor": "service", "action": "device.quarantined", "object": f"device/{its_device.id}"}
    session.add(AuditLog(**its, detail=seen, created_at=now() - ago))


def check(session: Session, result: CheckResult, *, ago: timedelta = timedelta(minutes=9)) -> Check:
    """Store the check with all that is behind it, asked for `ago` before now; its id is the database's."""
    asked = now() - ago
    took = (result.concluded_at - result.created_at) if result.concluded_at and result.created_at else None
    project = projects.project(session, result.project)
    base, head = (_commit(session, project.id, commit) for commit in (result.base, result.head))
    request = Request(project_id=project.id, key=uuid4().hex, trigger="manual")
    session.add(request)
    session.flush()
    row = Check(
        project_id=project.id,
        request_id=request.id,
        base_commit_id=base.id,
        head_commit_id=head.id,
        settings={"minimum_effect": result.minimum_effect, "tolerance": result.tolerance},
        alpha=result.alpha,
        state=result.state,
        conclusion=result.conclusion,
        title=check_title(result) if result.conclusion else None,
        reproduce=result.reproduce,
        created_at=asked,
        concluded_at=asked + took if took else None,
    )
    session.add(row)
    session.flush()
    for suite in result.suites:
        job = _job(session, row, suite, asked)
        session.add(RequestJob(request_id=request.id, job_id=job.id))
        if suite.worker is not None:
            _run(session, job, suite, asked)
    session.flush()
    return row


def _commit(session: Session, project_id: int, commit: CommitRef) -> Commit:
    return projects.commit(
        session, project_id, commit.sha, subject=commit.subject, author=commit.author, authored_at=commit.date
    )


def _job(session: Session, row: Check, suite: SuiteResult, asked: datetime) -> Job:
    job = Job(
        project_id=row.project_id,
        key=uuid4().hex,
        suite=suite.name,
        device_class=suite.device_class,
        base_commit_id=row.base_commit_id,
        head_commit_id=row.head_commit_id,
        spec={},
        policy={},
        budget_s=suite.budget_s if math.isfinite(suite.budget_s) else 0.0,
        max_pairs=96,
        reason=suite.reason,
        log_tail=suite.log_tail,
        created_at=asked,
        finished_at=_moved(suite.finished_at, asked),
    )
    session.add(job)
    session.flush()
    _walk(session, job, suite.state)
    return job


def _walk(session: Session, job: Job, state: str) -> None:
    """Move the job to its state by the steps that its trigger allows."""
    through = ["leased"] if state in ("leased", "running", "succeeded", "failed") else []
    through += ["running"] if state in ("running", "succeeded") else []
    for step in (*through, state):
        if job.state != step:
            job.state = step
            session.flush()


def _moved(moment: datetime | None, asked: datetime) -> datetime | None:
    """Move a time of the examples, which begin at 11:19, to the time at which this check was asked for."""
    return moment and asked + (moment - datetime(2026, 11, 21, 11, 19, tzinfo=UTC))


def _run(session: Session, job: Job, suite: SuiteResult, asked: datetime) -> Run:
    assert suite.worker is not None
    its_worker = worker(session, suite.worker)
    lease_id, held = str(uuid4()), job.state in _HELD
    attempt = Attempt(
        job_id=job.id,
        number=1,
        lease_id=lease_id,
        worker_id=its_worker.id,
        phase="measuring" if suite.phase else "",
        detail="",
        outcome=None if held else "ok" if job.state in _ENDED_WELL else "infra_failed",
        reason=None if job.state in (*_HELD, *_ENDED_WELL) else suite.reason,
        started_at=_moved(suite.started_at, asked) or asked,
        ended_at=None if held else _moved(suite.finished_at, asked),
    )
    session.add(attempt)
    session.flush()
    if held:
        job.lease_id, job.lease_until, job.attempt = lease_id, now() + timedelta(minutes=1), 1
    owned = session.query(Device).filter_by(device_class=suite.device_class, worker_id=its_worker.id).first()
    if owned is not None and not (held and _is_leased(session, owned)):
        session.add(LeaseDevice(lease_id=lease_id, device_id=owned.id, active=held))
    software = {"base": SOFTWARE | {"torch": "2.5.0"}, "head": SOFTWARE}
    environment = projects.environment(session, "9f3c2a7b51d0" * 4, MACHINE, software)
    arms = {
        arm: {"status": "ok", "reason": "", "log_tail": "", "software": software[arm]} for arm in software
    }
    run = Run(
        project_id=job.project_id,
        job_id=job.id,
        attempt_id=attempt.id,
        environment_id=environment.id,
        order_seed=4711,
        arms=arms,
        n_gating=max(1, sum(case.gating for case in suite.cases)),
        device_s=suite.device_s if math.isfinite(suite.device_s) else 0.0,
        prepared_at=asked,
    )
    session.add(run)
    session.flush()
    _measurements(session, run, suite, attempt.started_at)
    return run


def _is_leased(session: Session, its_device: Device) -> bool:
    return session.query(LeaseDevice).filter_by(device_id=its_device.id, active=True).first() is not None


def _measurements(session: Session, run: Run, suite: SuiteResult, began: datetime) -> None:
    wanted = [(case.benchmark, _storable(case.params)) for case in suite.cases]
    known = projects.cases(session, run.project_id, wanted)
    rows = [known[f"{name} {params_key(params)}"] for name, params in wanted]
    session.add_all(_verdict(run, case, row) for case, row in zip(suite.cases, rows, strict=True))
    values: dict[tuple[int, str], Found] = {}
    for case, row in zip(suite.cases, rows, strict=True):
        for estimate in case.estimates:
            if math.isfinite(estimate.value):
                values.setdefault((estimate.pair, estimate.arm), []).append((case, row, estimate))
    ordered = sorted(values.values(), key=lambda found: (found[0][2].pair, found[0][2].position))
    rows_in_order = [_invocation(run, number, found[0][2], began) for number, found in enumerate(ordered)]
    session.add_all(rows_in_order)
    session.flush()
    for invocation, found in zip(rows_in_order, ordered, strict=True):
        session.add_all(_estimates(invocation, found))
        session.add_all(_timing(invocation, its_case, seconds) for its_case, seconds in _timed(found))


def _storable(params: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in params.items()}


def _verdict(run: Run, case: CaseVerdict, row: BenchmarkCase) -> Verdict:
    same = {name: value for name, value in vars(case).items() if name in Verdict.__table__.columns}
    stored = {
        "could_hide": None if case.could_hide is None else math.log1p(case.could_hide),
        "flags": list(case.flags),
        "attribution": list(case.attribution),
        "looks": [asdict(look) for look in case.looks if math.isfinite(look.change)],
    }
    plan = {"tau0": results.TAU0, "tau": results.TAU}
    return Verdict(run_id=run.id, case_id=row.id, plan=plan, **(same | stored))


def _invocation(run: Run, number: int, first: EstimateValue, began: datetime) -> Invocation:
    after_s = 20 + 4.1 * number
    return Invocation(
        run_id=run.id,
        key=f"{run.id}/{first.pair}/{first.arm}/0",
        body_digest="",
        arm=first.arm,
        block=first.pair // 2,
        pair_index=first.pair,
        position=first.position,
        block_complete=False,
        status="ok",
        void=first.void,
        void_reason=first.void_reason,
        flags=["control_unavailable"] if number == 0 else [],
        device_s=1.0,
        started_at=began + timedelta(seconds=after_s),
        t_start_ns=int(after_s * 1e9),
        duration_ns=int(3.9e9),
        exit_code=0,
        detail={},
    )


def _estimates(invocation: Invocation, found: Found) -> Iterable[Estimate]:
    for case, row, estimate in found:
        yield Estimate(invocation_id=invocation.id, case_id=row.id, metric=case.metric, value=estimate.value)


def _timed(found: Found) -> Iterable[tuple[BenchmarkCase, float]]:
    """Return each case once with the time of an iteration: its latency, or the same for all where there is none."""
    seconds = {its_case.id: (its_case, 0.02) for _, its_case, _ in found}
    seconds |= {row.id: (row, e.value) for case, row, e in found if case.metric == "latency_p50"}
    return seconds.values()


def _timing(invocation: Invocation, case: BenchmarkCase, seconds: float) -> Timing:
    draw = random.Random(f"{invocation.id}{case.id}")
    k = max(1, round(0.001 / seconds))
    batches = [round(k * seconds * 1e9 * math.exp(abs(draw.gauss(0, 0.004)))) for _ in range(30)]
    spike = [11] if draw.random() < 0.1 else []
    for index in spike:
        batches[index] *= 3
    return Timing(
        invocation_id=invocation.id,
        case_id=case.id,
        status="ok",
        k=k,
        clock="host",
        n_warmup=20,
        warmup_converged=True,
        first_call_s=seconds * 4,
        host_ns=batches,
        device_ns=[],
        spike=spike,
        thinned=1,
        flags=[],
    )
