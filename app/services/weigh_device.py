"""What a job that looks after a device has shown: its grade, by a commit against itself, or that it is well again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from sqlalchemy.orm import Session

from app.analysis.grades import grade_of_device, smallest_effect
from app.analysis.health import HealthState
from app.analysis.judge import Grade
from app.domain.incidents import IncidentEnd
from app.domain.verdicts import Verdict
from app.services.device_purpose import Purpose, purpose_of
from app.services.follow_machine import health_of_device, may_get_well, result_of_device
from app.services.quarantine import release
from app.store.repositories import machines, runs
from app.store.tables import Device, Job, Run, SelfCheck
from workers.protocol import ControlResult

ALARMS = (Verdict.REGRESSED, Verdict.IMPROVED)
LOCKED = ("locked", "application")
"""Words of a clock policy that keeps the clocks where they are."""

STEADY = 0.01
"""A clock that moved by no more (highest over lowest, as a share) counts as locked."""

OTHERS = frozenset(("foreign_process", "host_cpu", "host_steal", "host_swap"))
"""Gates that say that somebody else was there."""

SHARED = 0.25
"""A device on which somebody else was seen in more of the invocations is not for measuring alone."""


def weigh_device(
    session: Session, job: Job, devices: Sequence[Device], run: Run, control: ControlResult | None
) -> None:
    """Store what a job that was for a device, and that came to its end, says of it; other jobs say nothing here."""
    purpose = purpose_of(job)
    if purpose is Purpose.SELF_CHECK and len(devices) == 1:
        _grade(session, devices[0], run)
    if purpose is Purpose.CALIBRATE and control is not None:
        for index, device in enumerate(devices):
            _release(session, device, result_of_device(control, index, len(devices)))


def _release(session: Session, device: Device, control: ControlResult) -> None:
    """End a quarantine if every probe is as it used to be."""
    found = [health.state for health in health_of_device(session, device, control).values()]
    is_well = bool(found) and HealthState.QUARANTINED not in found
    if is_well and may_get_well(session, device):
        release(session, device, IncidentEnd.CALIBRATION)


def _grade(session: Session, device: Device, run: Run) -> None:
    rows = [row for row, _ in runs.verdict_rows(session, run.id) if row.gating and row.kind == "sampled"]
    sigma = max((row.sigma_pair for row in rows if row.sigma_pair is not None), default=None)
    policy = (device.fingerprint.get("machine") or {}).get("clock_policy")
    locked = policy in LOCKED or clocks_stood(of_arm for _, of_arm in runs.telemetry_of(session, run.id))
    exclusive = not was_shared(machines.gates_seen(session, run.id))
    grade = grade_of_device(sigma, exclusive=exclusive, clocks_locked=locked)
    if grade is None:
        return  # no two pairs to tell by
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
            grade=grade,
        )
    )


def was_shared(gates: Sequence[Iterable[str]]) -> bool:
    """Tell whether somebody else was on the device, or kept its host busy, in too many invocations."""
    return sum(not OTHERS.isdisjoint(raised) for raised in gates) > SHARED * len(gates)


def clocks_stood(invocations: Iterable[Sequence[Any]]) -> bool:
    """Tell whether the clock of a run's devices stayed where it was, by the summaries of its invocations' telemetry.

    Not if it was ever untold: what nobody saw may have moved.
    """
    devices: dict[int, list[list[float]]] = {}
    for summaries in invocations:
        for index, summary in enumerate(summaries or [{}]):
            devices.setdefault(index, []).append(_clocks_hz(summary))
    return bool(devices) and all(_stood(of_device) for of_device in devices.values())


def _clocks_hz(summary: Any) -> list[float]:
    """Return the lowest, middle and highest clock of a summary; nothing where it tells none."""
    gauges = summary.get("gauges") if isinstance(summary, dict) else None
    told = gauges.get("sm_clock_hz") if isinstance(gauges, dict) else None
    return [hz for hz in told if isinstance(hz, int | float) and hz > 0] if isinstance(told, list) else []


def _stood(clocks_hz: Sequence[list[float]]) -> bool:
    return all(clocks_hz) and max(map(max, clocks_hz)) / min(map(min, clocks_hz)) - 1 <= STEADY


def grade_of_run(session: Session, run_id: int) -> Grade | None:
    """Return the worst grade that the newest self checks of the run's devices gave; None while one has none."""
    told = machines.grades_of_run(session, run_id)
    grades = [cast("Grade", grade) for grade in told if grade is not None]
    return max(grades) if grades and len(grades) == len(told) else None
