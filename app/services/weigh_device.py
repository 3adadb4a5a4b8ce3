"""What a job that looks after a device has shown: its grade, by a commit against itself, or that it is well again."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.analysis.grades import grade_of_device, smallest_effect
from app.analysis.health import HealthState
from app.domain.verdicts import Verdict
from app.services.device_purpose import Purpose, purpose_of
from app.services.follow_machine import health_of_device
from app.store.repositories import access, fleet, machines, runs
from app.store.tables import Attempt, Device, Job, Run, SelfCheck
from app.store.tables import Verdict as VerdictRow
from workers.protocol import ControlResult

ALARMS = (Verdict.REGRESSED, Verdict.IMPROVED)
LOCKED = ("locked", "application")
"""Words of a clock policy that keeps the clocks where they are."""


def weigh_device(
    session: Session, job: Job, attempt: Attempt, run: Run | None, control: ControlResult | None
) -> None:
    """Store what a job that was for a device says of it; other jobs say nothing here."""
    purpose = purpose_of(job)
    for device in fleet.devices_of_lease(session, attempt.lease_id):
        if purpose is Purpose.CALIBRATE and control is not None:
            _release(session, device, control)
        elif purpose is Purpose.SELF_CHECK and run is not None:
            _grade(session, device, run)


def _release(session: Session, device: Device, control: ControlResult) -> None:
    """End a quarantine if every probe is as it used to be."""
    found = [health.state for _, health in health_of_device(session, device, control)]
    if device.health == "quarantined" and found and HealthState.QUARANTINED not in found:
        device.health = "good"
        access.audit(session, "service", "device.released", f"device/{device.id}", by="calibration")


def _grade(session: Session, device: Device, run: Run) -> None:
    rows = [row for row, _ in runs.verdict_rows(session, run.id) if row.gating and row.kind == "sampled"]
    sigma = max((row.sigma_pair for row in rows if row.sigma_pair is not None), default=None)
    machine = device.fingerprint.get("machine", {})
    locked = machine.get("clock_policy") in LOCKED
    exclusive = not _was_shared(rows)
    session.add(
        SelfCheck(
            device_id=device.id,
            run_id=run.id,
            sigma_pair=sigma,
            n_verdicts=len(rows),
            false_alarms=sum(row.verdict in ALARMS for row in rows),
            mde=None if sigma is None else smallest_effect(sigma),
            clocks_locked=locked,
            is_exclusive=exclusive,
            grade=grade_of_device(sigma, exclusive=exclusive, clocks_locked=locked),
        )
    )


def _was_shared(rows: list[VerdictRow]) -> bool:
    """Tell whether pairs were lost to other programs so often that the device is not for measuring alone."""
    return any(row.reason == "invalid_environment" or row.n_void > row.n_pairs for row in rows)


def latest_grade(session: Session, device_ids: list[int]) -> str | None:
    """Return the worst grade that these devices' newest self checks gave; None while one has none."""
    checks = [machines.last_self_check(session, device_id) for device_id in device_ids]
    grades = [check.grade for check in checks if check is not None]
    return max(grades) if grades and len(grades) == len(checks) else None
