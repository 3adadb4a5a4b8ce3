"""The right to measure: claim, heartbeat and finish of a lease, and the sweep that ends lost ones.

A finish publishes what the attempt measured, ends the job and writes what follows to the outbox in one
transaction; a lease that was swept before can change nothing any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import ConflictError, StaleLeaseError
from app.domain.jobs import JobState, Outcome, backoff_s
from app.services.access import Principal, Scope
from app.services.ask_activity import want_activity
from app.services.check_moved import show_awaited
from app.services.device_purpose import Purpose, purpose_of
from app.services.follow_machine import note_control
from app.services.judge_run import judge_run
from app.services.metrics.catalogue import LEASE_EXPIRIES, PREFLIGHT_FAILURES
from app.services.metrics.counted import count, observe_claim
from app.services.publish import publish_run
from app.services.quarantine import QUARANTINED
from app.services.weigh_device import weigh_device
from app.store.repositories import (
    access,
    awaiting,
    clock,
    fleet,
    jobs,
    leases,
    notify,
    outbox,
    restorations,
    runs,
)
from app.store.repositories import checks as check_rows
from app.store.repositories.leases import Held
from app.store.tables import Attempt, Device, Job, Run, Worker
from workers import logs, protocol

_SWEEP_BATCH = 100

MEASURED = (Outcome.OK, Outcome.BENCH_FAILED)
"""How an attempt ends that says something of the commits."""

UNFIT = ("device_busy", "device_quarantined", "disk_full", "no_sandbox", "no_such_device")
"""Reasons of attempts that ended before anything was measured because the machine was not as it has to be."""

REFUSED = {
    "outcome": "infra_failed",
    "reason": "device_quarantined",
    "message": "the control workload was off what the device usually shows, so nothing was measured on it",
    "retryable": True,
}
"""What is made of the end of a run whose own start put its device into quarantine."""


def claim_job(
    session: Session, settings: ServiceSettings, principal: Principal, message: protocol.Claim
) -> protocol.Lease | None:
    """Return a lease on the next job that the agent's free devices can measure, or None; none while it is observed.

    Which pool's jobs it may have is what its token says now, whatever it said when the agent registered.
    """
    logs.bind(worker=message.worker_id)
    worker = _worker(session, message)
    if worker.left_at is not None:  # the claim was on its way when the agent signed off
        return None
    note_pools(worker, principal)
    fleet.touch(session, worker.id)
    if restorations.is_observing(session):
        return None
    pools = leases.Pools(
        worker.takes_trusted, worker.takes_untrusted and worker.sandbox >= fleet.LEAST_SANDBOX
    )
    lost = leases.unbeaten(session, worker.id, message.hardware_ids, pools)
    if lost is not None:
        return _lease_message(lost, leases.hardware_of_lease(session, lost.attempt.lease_id))
    free = leases.free_devices(session, worker.id, message.hardware_ids)
    for device_class in dict.fromkeys(device.device_class for device in free):
        devices = [device for device in free if device.device_class == device_class]
        job = leases.next_claimable(session, device_class, [device.id for device in devices], pools)
        if job is not None:
            named = [device for device in devices if job.device_id in (None, device.id)]
            return _lease(session, settings, job, worker, named[: job.devices_needed])
    return _calibration(session, settings, worker, message)


def note_pools(worker: Worker, principal: Principal) -> None:
    """Note whose code the worker may be given, by its token."""
    worker.takes_trusted = principal.may(Scope.WORKER)
    worker.takes_untrusted = principal.may(Scope.WORKER_UNTRUSTED)


def sign_off(session: Session, message: protocol.SignOff) -> None:
    """Note that an agent ends because it was stopped: it gets no job any more, and nobody misses it.

    Raises ConflictError where another start of it has registered since.
    """
    worker = _worker(session, message)
    fleet.touch(session, worker.id)
    worker.left_at = clock.in_time()


def _calibration(
    session: Session, settings: ServiceSettings, worker: Worker, message: protocol.Claim
) -> protocol.Lease | None:
    """Return a lease on the calibration that a device in quarantine is due for, or None."""
    suspended = leases.free_devices(session, worker.id, message.hardware_ids, health=QUARANTINED)
    job = jobs.calibration_of(session, [device.id for device in suspended]) if suspended else None
    if job is None:
        return None
    return _lease(session, settings, job, worker, [d for d in suspended if d.id == job.device_id])


def beat(
    session: Session, settings: ServiceSettings, lease_id: str, message: protocol.Heartbeat
) -> protocol.HeartbeatAnswer:
    """Extend the lease and note what the agent is doing. Raises StaleLeaseError when the lease has ended."""
    job = leases.extend(session, lease_id, settings.lease_ttl)
    if job is None:
        raise stale(lease_id)
    attempt = require_lease(session, lease_id).attempt
    changed = (attempt.phase, attempt.detail) != (str(message.phase), message.detail)
    attempt.phase, attempt.detail, attempt.device_s = str(message.phase), message.detail, message.device_s
    fleet.touch(session, attempt.worker_id)
    if changed:
        announce(session, job)
    assert job.lease_until is not None
    return protocol.HeartbeatAnswer(lease_until=job.lease_until, cancel=job.cancel_requested_at is not None)


def finish_lease(session: Session, lease_id: str, message: protocol.Finish) -> None:
    """End the attempt as the agent says. Finishing twice with one lease changes nothing the second time.

    Raises StaleLeaseError when the lease was swept before.
    """
    held = leases.held_by(session, lease_id)
    if held is None and _has_finished(session, lease_id):
        return
    if held is None:
        raise stale(lease_id)
    job, attempt, run = held
    logs.bind(job_id=job.id, run_id=run.id, worker=attempt.worker_id)
    devices = fleet.devices_of_lease(session, lease_id)
    if message.outcome in MEASURED and _was_refused(job, run, devices):
        message = message.model_copy(update=REFUSED)
        job.max_attempts += 1  # it was the machine that failed, and each fails so only once
    outcome = Outcome(message.outcome)
    attempt.device_s = max(attempt.device_s, message.device_s)
    _end_attempt(attempt, outcome, message.reason, message.message, message.log_tail)
    want_activity(session, run, devices)
    job.log_tail = message.log_tail or None
    note_control(session, devices, run, "end", message.control)
    if job.cancel_requested_at is not None:
        end_job(session, job, JobState.CANCELLED, reason=message.reason or "cancelled")
    elif outcome in MEASURED:
        _publish(session, held, devices, message.control)
        end_job(session, job, JobState.SUCCEEDED, reason=message.reason, message=message.message)
    elif outcome in (Outcome.INFRA_FAILED, Outcome.CONTAMINATED) and message.retryable:
        leases.release_devices(session, lease_id)
        _requeue_or_fail(session, job, message.reason, message.message)
    else:
        end_job(session, job, JobState.FAILED, reason=message.reason, message=message.message)
    if outcome is Outcome.INFRA_FAILED and message.reason in UNFIT and run.n_gating is None:
        count(session, PREFLIGHT_FAILURES)


def sweep_leases(session: Session, settings: ServiceSettings) -> int:
    """End leases that ran out and jobs that waited past their deadline; return how many."""
    lost = leases.expired(session, _SWEEP_BATCH)
    for job in lost:
        _end_lost(
            session, settings, job, "worker_lost", "the worker was not heard of before its lease ran out"
        )
    patience = settings.lease_ttl + timedelta(seconds=settings.reassign_grace_s)
    stuck = leases.overdue(session, _SWEEP_BATCH, patience)
    for job in stuck:
        _end_lost(session, settings, job, "attempt_too_long", "the attempt did not end in its time")
    waited = [] if restorations.is_observing(session) else jobs.past_deadline(session, _SWEEP_BATCH)
    for job in waited:
        end_job(session, job, JobState.EXPIRED, reason="queue_deadline", message=_why_not_in_time(job))
    count(session, LEASE_EXPIRIES, len(lost) + len(stuck))
    return len(lost) + len(stuck) + len(waited)


def _why_not_in_time(job: Job) -> str:
    if job.reason == "device_quarantined":
        return f"no device was free in time: those of class {job.device_class} were in quarantine"
    return "no device was free in time"


def require_lease(session: Session, lease_id: str) -> Held:
    """Lock and return what the lease is of. Raises StaleLeaseError when it has ended."""
    held = leases.held_by(session, lease_id)
    if held is None:
        raise stale(lease_id)
    logs.bind(job_id=held.job.id, worker=held.attempt.worker_id)
    return held


def stale(lease_id: str) -> StaleLeaseError:
    """Return the error that tells an agent to stop."""
    return StaleLeaseError(f"the lease {lease_id} has ended: stop measuring and drop the job")


def end_job(session: Session, job: Job, state: JobState, *, reason: str = "", message: str = "") -> None:
    """Move the job to a terminal state and have its checks looked at."""
    job.state, job.reason, job.message = state, reason or None, message or None
    job.finished_at, job.lease_until = clock.in_time(), None
    session.flush()
    if job.lease_id is not None:
        leases.release_devices(session, job.lease_id)
    woken = awaiting.wake_of_job(session, job.id)
    for check in woken:
        outbox.put_again(session, "check.conclude", f"check.conclude/{check.id}", {"check_id": check.id})
    show_awaited(session, woken)


def announce(session: Session, job: Job) -> None:
    """Tell whoever watches the job's checks that something moved."""
    show_awaited(session, awaiting.wake_of_job(session, job.id))


def hint(session: Session, job: Job, *, delay_s: float = 0.0) -> None:
    """Wake agents for a job: through the outbox to the broker, and the waiting claims directly."""
    payload = {"job_id": job.id, "device_class": job.device_class}
    outbox.put_again(session, "job.hint", f"job.hint/{job.id}", payload, delay_s=delay_s)
    notify.job_queued(session, job.device_class)


def _worker(session: Session, message: protocol.Claim | protocol.SignOff) -> Worker:
    worker = fleet.worker(session, message.worker_id)
    if worker is None or worker.instance != message.instance:
        raise ConflictError(
            "another start of this worker has registered since: this agent must end", code="superseded_agent"
        )
    return worker


def _lease(
    session: Session, settings: ServiceSettings, job: Job, worker: Worker, devices: list[Device]
) -> protocol.Lease:
    longest = timedelta(seconds=settings.attempt_limit_s)
    attempt = leases.lease(session, job, worker, devices, settings.lease_ttl, longest)
    run = Run(project_id=job.project_id, job_id=job.id, attempt_id=attempt.id)
    session.add(run)
    session.flush()
    check_rows.begin(session, job.id)
    announce(session, job)
    observe_claim(session, job, attempt)
    return _lease_message(Held(job, attempt, run), [device.hardware_id for device in devices])


def _lease_message(held: Held, hardware_ids: list[str]) -> protocol.Lease:
    job, attempt, run = held
    spec = protocol.JobSpec(
        job_id=job.id,
        device_class=job.device_class,
        hardware_ids=hardware_ids,
        budget_s=job.budget_s,
        max_pairs=job.max_pairs,
        **job.spec,
    )
    return protocol.Lease(lease_id=attempt.lease_id, run_id=run.id, attempt=attempt.number, job=spec)


def _has_finished(session: Session, lease_id: str) -> bool:
    """Tell whether the lease ended by its agent's own word, which may just have been committed."""
    attempt = leases.attempt_of_lease(session, lease_id)
    return attempt is not None and attempt.outcome not in (None, Outcome.LOST)


def _end_attempt(attempt: Attempt, outcome: Outcome, reason: str, message: str, log_tail: str) -> None:
    attempt.outcome, attempt.reason = str(outcome), reason or None
    attempt.message, attempt.log_tail = message or None, log_tail or None
    attempt.ended_at = clock.in_time()


def _was_refused(job: Job, run: Run, devices: Sequence[Device]) -> bool:
    """Tell whether nothing was measured because the run's start put one of its devices into quarantine."""
    return (
        purpose_of(job) is not Purpose.CALIBRATE
        and run.prepared_at is not None
        and run.n_gating is None
        and any(device.health == QUARANTINED for device in devices)
    )


def _publish(
    session: Session, held: Held, devices: Sequence[Device], control: protocol.ControlResult | None
) -> None:
    """Publish what was measured; no more pairs will come for what the agent left open.

    A self check is no point of a history: it would tell every commit that it is made of twice, and on quiet nights.
    """
    job, attempt, run = held
    if attempt.outcome == Outcome.OK:
        judge_run(session, job, run, ended=attempt.reason or "agent_ended")
        weigh_device(session, job, devices, run, control)
    if purpose_of(job) not in (Purpose.SELF_CHECK, Purpose.CALIBRATE):
        publish_run(session, run)


def _requeue_or_fail(
    session: Session, job: Job, reason: str, message: str, *, wait_s: float | None = None
) -> None:
    if job.attempt >= job.max_attempts:
        end_job(session, job, JobState.FAILED, reason=reason or "attempts_used_up", message=message)
        return
    delay = backoff_s(job.attempt) if wait_s is None else wait_s
    job.state, job.lease_id, job.lease_until = JobState.QUEUED, None, None
    job.reason, job.message = reason or None, message or None
    job.not_before = clock.in_time(timedelta(seconds=delay))
    session.flush()
    hint(session, job, delay_s=delay)
    announce(session, job)


def _end_lost(session: Session, settings: ServiceSettings, job: Job, reason: str, message: str) -> None:
    assert job.lease_id is not None
    assert job.lease_until is not None
    lease_id = job.lease_id
    attempt = leases.attempt_of_lease(session, lease_id)
    assert attempt is not None
    _end_attempt(attempt, Outcome.LOST, reason, message, "")
    run = runs.of_attempt(session, attempt.id)
    assert run is not None
    want_activity(session, run, fleet.devices_of_lease(session, lease_id))
    # An agent that still beats holds on until its next heartbeat is refused, at most self-fence from now.
    rest_until = max(job.lease_until, clock.now(session)) + timedelta(seconds=settings.reassign_grace_s)
    leases.release_devices(session, lease_id, rest_until=rest_until)
    access.audit(session, "sweeper", "lease.expired", lease_id, job=job.id, attempt=attempt.number)
    if job.cancel_requested_at is not None:
        end_job(session, job, JobState.CANCELLED, reason="cancelled")
    else:
        _requeue_or_fail(session, job, reason, message, wait_s=settings.reassign_grace_s)
