"""Rows of a made-up week, written as they are stored: who held which device when, and which numbers there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy.orm import Session

from app.domain.week import Week, week_of
from app.services.weekly.scope import Scope
from app.store.repositories import projects
from app.store.tables import (
    Attempt,
    BenchmarkCase,
    Commit,
    Device,
    Invocation,
    Job,
    LeaseDevice,
    Project,
    Request,
    RequestJob,
    Result,
    Run,
    Series,
    Worker,
)
from tests.factories import stored
from workers.protocol import params_key

WEEK = week_of(datetime(2026, 10, 21, tzinfo=UTC))
"""Long enough ago that nothing of it lies in the future."""

HOUR = timedelta(hours=1)


def at(days: float = 0.0, hours: float = 0.0, week: Week = WEEK) -> datetime:
    """Return a moment of the week, from its Monday's midnight on."""
    return week.start + timedelta(days=days, hours=hours)


@dataclass
class Rows:
    """Stores rows of one project, and others where they are named."""

    session: Session
    name: str = "acme/vision"
    made: dict[str, int] = field(default_factory=dict)

    @property
    def project(self) -> Project:
        """The project."""
        return projects.project(self.session, self.name)

    def scope(self, *others: str, whole: bool = False) -> Scope:
        """Return the scope of the project, or of the whole installation with the projects that are named."""
        if not whole:
            return Scope(self.name, (self.project,))
        return Scope("", tuple(projects.project(self.session, name) for name in (self.name, *others)))

    # --- devices and who held them ---

    def device(
        self,
        device_class: str,
        *,
        worker: str = "bench-01",
        since: datetime | None = None,
        seen: datetime | None = None,
        **fields: Any,
    ) -> Device:
        """A device that was registered at `since` (weeks ago), and whose worker was last seen at `seen` (now)."""
        owner = stored.worker(self.session, worker)
        owner.last_seen_at = seen or stored.now()
        device = stored.device(self.session, owner, device_class, created_at=since or at(-30), **fields)
        self.session.flush()
        return device

    def job(
        self,
        device_class: str,
        *,
        created: datetime,
        suite: str = "inference",
        trigger: str = "push",
        project: str = "",
        **fields: Any,
    ) -> Job:
        """A job that a request asked for, and that nobody has begun."""
        its = projects.project(self.session, project or self.name)
        head = projects.commit(self.session, its.id, uuid4().hex + "0" * 8)
        request = Request(project_id=its.id, key=uuid4().hex, trigger=trigger)
        given: dict[str, Any] = {"spec": {}, "policy": {}, "budget_s": 60.0, "max_pairs": 96}
        job = Job(
            project_id=its.id, key=uuid4().hex, suite=suite, device_class=device_class, head_commit_id=head.id,
            created_at=created, **(given | fields),
        )  # fmt: skip
        self.session.add_all([request, job])
        self.session.flush()
        self.session.add(RequestJob(request_id=request.id, job_id=job.id))
        self.session.flush()
        return job

    def attempt(
        self,
        job: Job,
        devices: Sequence[Device],
        start: datetime,
        end: datetime | None,
        *,
        outcome: str | None = "ok",
        reason: str | None = None,
        number: int = 1,
    ) -> Attempt:
        """An attempt at the job that held these devices."""
        lease = str(uuid4())
        attempt = Attempt(
            job_id=job.id, number=number, lease_id=lease, worker_id=devices[0].worker_id, phase="", detail="",
            outcome=outcome if end else None, reason=reason, started_at=start, ended_at=end,
        )  # fmt: skip
        self.session.add(attempt)
        self.session.add_all(
            LeaseDevice(lease_id=lease, device_id=device.id, active=end is None) for device in devices
        )
        self.session.flush()
        for state in ("leased", "running", "succeeded") if job.state == "queued" else ():
            job.state = state
            self.session.flush()
        return attempt

    def run(self, job: Job, attempt: Attempt, **fields: Any) -> Run:
        """The attempt's run."""
        run = Run(project_id=job.project_id, job_id=job.id, attempt_id=attempt.id, **fields)
        self.session.add(run)
        self.session.flush()
        return run

    def invocation(self, run: Run, pair: int, *, arm: str = "head", **fields: Any) -> Invocation:
        """An invocation of the run; `telemetry` are the summaries of its devices' readings."""
        telemetry = fields.pop("telemetry", None)
        given = {
            "run_id": run.id, "key": f"{run.id}/{pair}/{arm}", "body_digest": "", "arm": arm, "block": 0,
            "pair_index": pair, "position": 0, "block_complete": True, "status": "ok", "flags": [],
            "device_s": 1.0, "started_at": at(), "t_start_ns": pair, "duration_ns": 1, "exit_code": 0,
            "detail": {} if telemetry is None else {"telemetry": telemetry},
        }  # fmt: skip
        row = Invocation(**(given | fields))
        self.session.add(row)
        self.session.flush()
        return row

    # --- numbers ---

    def case(self, benchmark: str, **params: Any) -> BenchmarkCase:
        """A case of the project."""
        return projects.cases(self.session, self.project.id, [(benchmark, params)])[
            f"{benchmark} {params_key(params)}"
        ]

    def commit(self, sha: str, when: datetime) -> Commit:
        """A commit of the project, authored then."""
        return projects.commit(self.session, self.project.id, sha * 40, authored_at=when)

    def series(
        self,
        benchmark: str,
        metric: str,
        *,
        unit: str = "1",
        better: str = "higher",
        device_class: str = "h100",
        version: str = "",
        **params: Any,
    ) -> Series:
        """A series of the project, made if it is new."""
        case = self.case(benchmark, **params)
        key = {"case_id": case.id, "metric": metric, "device_class": device_class, "version": version}
        row = self.session.query(Series).filter_by(**key).one_or_none()
        if row is None:
            row = Series(project_id=self.project.id, unit=unit, better=better, **key)
            self.session.add(row)
            self.session.flush()
        return row

    def result(
        self,
        series: Series,
        commit: Commit,
        value: float,
        place: float | None,
        *,
        branch: str = "main",
        **fields: Any,
    ) -> Result:
        """A point of the series' history; without a place it is not examined yet."""
        given = {"arm": "head", "low": value, "high": value, "n": 1, "flags": [], "measured_at": at()}
        row = Result(
            series_id=series.id,
            commit_id=commit.id,
            value=value,
            branch=branch,
            place=place,
            **(given | fields),
        )
        self.session.add(row)
        self.session.flush()
        return row


def worker_of(session: Session, device: Device) -> Worker:
    """Return the device's worker."""
    return session.get_one(Worker, device.worker_id)
