"""What is known of devices as machines: epochs, results of the control workload, self checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Row, Select, func, select, tuple_
from sqlalchemy.orm import Session

from app.domain.incidents import IncidentEnd
from app.domain.jobs import TERMINAL
from app.store.tables import (
    Attempt,
    AuditLog,
    Control,
    Epoch,
    Invocation,
    Job,
    LeaseDevice,
    Result,
    Run,
    SelfCheck,
)


def last_epoch(session: Session, device_id: int) -> Epoch | None:
    """Return the device's newest epoch."""
    return session.scalars(
        select(Epoch).where(Epoch.device_id == device_id).order_by(Epoch.id.desc()).limit(1)
    ).one_or_none()


def last_epochs(session: Session) -> dict[int, Epoch]:
    """Return every device's newest epoch, by the device's id."""
    newest = select(func.max(Epoch.id)).group_by(Epoch.device_id)
    return {row.device_id: row for row in session.scalars(select(Epoch).where(Epoch.id.in_(newest)))}


def epochs_until(
    session: Session, device_ids: Sequence[int], until: datetime, *, most: int
) -> Sequence[Epoch]:
    """Return the last epochs that had begun for one of these devices by then, oldest first."""
    found = session.scalars(
        select(Epoch)
        .where(Epoch.device_id.in_(device_ids), Epoch.began_at <= until)
        .order_by(Epoch.id.desc())
        .limit(most)
    ).all()
    return found[::-1]


UNDISTURBED = ~Control.unavailable.has_key("disturbed")
"""Of a result of the control: that nothing else was on the machine meanwhile."""


def add_control(session: Session, run_id: int, device_id: int, moment: str, result: dict[str, Any]) -> None:
    """Store a result of the control workload; what disturbed it stands with what is unavailable: a word on health."""
    disturbed = result.pop("disturbed")
    if disturbed:
        result["unavailable"] = {**result["unavailable"], "disturbed": disturbed}
    session.add(Control(run_id=run_id, device_id=device_id, moment=moment, **result))


def control_history(
    session: Session, device_id: int, version: str, backend: str, probe: str, *, since: datetime
) -> list[float]:
    """Return what a probe took at the starts of the device's runs since then [s], oldest first."""
    rows = session.scalars(
        select(Control.probes[probe]["seconds"].as_float())
        .where(
            Control.device_id == device_id,
            Control.moment == "start",
            Control.version == version,
            Control.backend == backend,
            Control.measured_at > since,
            UNDISTURBED,
        )
        .order_by(Control.measured_at, Control.id)
    )
    return [seconds for seconds in rows if seconds is not None]


def controls_of_run(session: Session, run_id: int, *, undisturbed: bool = False) -> Sequence[Control]:
    """Return the run's results of the control, in time order; or only those that nothing disturbed."""
    query = select(Control).where(Control.run_id == run_id).order_by(Control.id)
    return session.scalars(query.where(UNDISTURBED) if undisturbed else query).all()


def devices_of_runs(session: Session, run_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the ids of the devices of each run."""
    rows = session.execute(
        select(Run.id, LeaseDevice.device_id)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .join(LeaseDevice, LeaseDevice.lease_id == Attempt.lease_id)
        .where(Run.id.in_(run_ids))
        .order_by(Run.id, LeaseDevice.device_id)
    )
    found: dict[int, list[int]] = {}
    for run_id, device_id in rows:
        found.setdefault(run_id, []).append(device_id)
    return found


def grades_of_run(session: Session, run_id: int) -> Sequence[str | None]:
    """Return the grade of each of the run's devices by its newest A/A, None where it has none."""
    newest = (
        select(SelfCheck.grade)
        .where(SelfCheck.device_id == LeaseDevice.device_id)
        .order_by(SelfCheck.id.desc())
        .limit(1)
    )
    return session.scalars(
        select(newest.scalar_subquery())
        .select_from(Run)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .join(LeaseDevice, LeaseDevice.lease_id == Attempt.lease_id)
        .where(Run.id == run_id)
    ).all()


def last_self_checks(session: Session) -> dict[int, SelfCheck]:
    """Return every device's newest A/A, by the device's id."""
    newest = select(func.max(SelfCheck.id)).group_by(SelfCheck.device_id)
    rows = session.scalars(select(SelfCheck).where(SelfCheck.id.in_(newest)))
    return {row.device_id: row for row in rows}


def quarantine_of(session: Session, device_id: int) -> AuditLog | None:
    """Return what the audit log has of the device's newest quarantine: since when, and why."""
    return session.scalars(_newest(device_id, "device.quarantined")).one_or_none()


def quarantines_of(session: Session, device_ids: Collection[int]) -> dict[int, AuditLog]:
    """Return the same of several devices, by their ids, in one statement."""
    objects = {f"device/{device_id}": device_id for device_id in device_ids}
    which = AuditLog.object.in_(objects), AuditLog.action == "device.quarantined"
    newest = select(func.max(AuditLog.id)).where(*which).group_by(AuditLog.object)
    rows = session.scalars(select(AuditLog).where(AuditLog.id.in_(newest)))
    return {objects[row.object]: row for row in rows}


def released_by(session: Session, device_id: int) -> IncidentEnd | None:
    """Return what ended the device's newest quarantine that is over."""
    entry = session.scalars(_newest(device_id, "device.released")).one_or_none()
    return None if entry is None else IncidentEnd(entry.detail["by"])


def given_back_at(session: Session, device_id: int) -> datetime | None:
    """Return when an administrator last ended a quarantine of the device."""
    by_hand = AuditLog.detail["by"].astext == "administrator"
    entry = session.scalars(_newest(device_id, "device.released").where(by_hand)).one_or_none()
    return None if entry is None else entry.created_at


def _newest(device_id: int, action: str) -> Select[AuditLog]:
    which = (AuditLog.object == f"device/{device_id}", AuditLog.action == action)
    return select(AuditLog).where(*which).order_by(AuditLog.id.desc()).limit(1)


def jobs_since_quarantine(session: Session, device_id: int) -> Sequence[Job]:
    """Return the calibrations that were asked for since the device was put into quarantine, oldest first."""
    entry = quarantine_of(session, device_id)
    query = select(Job).where(Job.device_id == device_id, Job.policy["purpose"].astext == "calibrate")
    if entry is not None:
        query = query.where(Job.created_at >= entry.created_at)
    return session.scalars(query.order_by(Job.id)).all()


def has_unfinished(session: Session, device_id: int, purpose: str) -> bool:
    """Tell whether a job of the device's own for this purpose waits or is going on."""
    query = select(Job.id).where(
        Job.device_id == device_id,
        Job.policy["purpose"].astext == purpose,
        Job.state.not_in([str(state) for state in TERMINAL]),
    )
    return session.scalars(query.limit(1)).one_or_none() is not None


def job_of_run(session: Session, run_id: int) -> Job:
    """Return the job that the run was of."""
    return session.scalars(select(Job).join(Run, Run.job_id == Job.id).where(Run.id == run_id)).one()


def last_commit_before(session: Session, like: Job, when: datetime) -> tuple[int, str] | None:
    """Return the last commit of a history, as it was then, that jobs like this one measured, and the branch."""
    newest = session.execute(
        select(Result.series_id, Result.branch)
        .join(Run, Run.id == Result.run_id)
        .join(Job, Job.id == Run.job_id)
        .where(
            Job.project_id == like.project_id,
            Job.device_class == like.device_class,
            Job.suite == like.suite,
            ~Job.is_untrusted,
            Result.branch.is_not(None),
            Result.measured_at < when,
        )
        .order_by(Result.id.desc())
        .limit(1)
    ).one_or_none()
    if newest is None:
        return None
    series_id, branch = newest
    assert branch is not None
    commit_id = session.scalars(
        select(Result.commit_id)
        .where(
            Result.series_id == series_id,
            Result.branch == branch,
            Result.run_id.is_not(None),
            Result.measured_at < when,
        )
        .order_by(Result.place.desc().nulls_last(), Result.id.desc())
        .limit(1)
    ).one()
    return commit_id, branch


class MeasuredPoint(NamedTuple):
    """A point of a history that a run of ours measured; the value is in the series' unit."""

    run_id: int
    measured_at: datetime
    value: float


def points_around(
    session: Session, series_id: int, branch: str, result_id: int, most: int
) -> tuple[list[MeasuredPoint], list[MeasuredPoint]]:
    """Return the measured points before a result of a history, and those from it on, each in the history's order."""
    place = session.scalar(select(Result.place).where(Result.id == result_id))
    if place is None:
        return [], []
    here = (Result.series_id == series_id, Result.branch == branch, Result.run_id.is_not(None))
    is_before = tuple_(Result.place, Result.id) < tuple_(place, result_id)
    columns = select(Result.run_id, Result.measured_at, Result.value)
    before = session.execute(
        columns.where(*here, is_before).order_by(Result.place.desc(), Result.id.desc()).limit(most)
    )
    after = session.execute(columns.where(*here, ~is_before).order_by(Result.place, Result.id).limit(most))
    return _measured(before)[::-1], _measured(after)


def _measured(rows: Iterable[Row[int | None, datetime, float]]) -> list[MeasuredPoint]:
    return [MeasuredPoint(row[0], row[1], row[2]) for row in rows if row[0] is not None]


def control_times(session: Session, run_ids: Sequence[int]) -> dict[tuple[int, str, str], list[float]]:
    """Return what the control took at the starts of these runs [s], by device, probe, and version with backend."""
    rows = session.scalars(
        select(Control)
        .where(Control.run_id.in_(run_ids), Control.moment == "start", UNDISTURBED)
        .order_by(Control.measured_at, Control.id)
    )
    times: dict[tuple[int, str, str], list[float]] = {}
    for row in rows:
        for probe, shown in row.probes.items():
            key = (row.device_id, probe, f"{row.version} {row.backend}")
            times.setdefault(key, []).append(shown["seconds"])
    return times


def gates_seen(session: Session, run_id: int) -> Sequence[list[str]]:
    """Return the gates that each invocation of the run raised, void ones too."""
    query = select(Invocation.detail["gates"]).where(Invocation.run_id == run_id).order_by(Invocation.id)
    return [gates or [] for gates in session.scalars(query)]
