"""Work and the right to do it: requests, jobs, leases of devices, attempts.

The transitions of `job.state` are guarded by a trigger of the first migration; `app.domain.jobs` is their table.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.jobs import JobState
from app.store.tables.base import Id, Now, Table

_STATES = ", ".join(f"'{state}'" for state in JobState)


class Request(Table):
    """What asked for work: a check by hand, a push, a schedule. `key` makes asking twice one request."""

    __tablename__ = "request"

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    key: Mapped[str] = mapped_column(unique=True)
    trigger: Mapped[str]
    asked_by: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[Now]


class RequestJob(Table):
    """Which jobs a request needs; several requests may share a job."""

    __tablename__ = "request_job"

    request_id: Mapped[int] = mapped_column(ForeignKey("request.id"), primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"), primary_key=True, index=True)


class Job(Table):
    """Work to be done on one or more devices of one worker: base and head of one suite on one device class."""

    __tablename__ = "job"
    __table_args__ = (
        CheckConstraint(f"state in ({_STATES})", name="state"),
        Index("ix_job_claim", "device_class", "band", "id", postgresql_where=text("state = 'queued'")),
        Index("ix_job_lease_until", "lease_until", postgresql_where=text("state in ('leased', 'running')")),
        Index("ix_job_lease_id", "lease_id"),
        Index("ix_job_state", "state"),
        Index("ix_job_device_id", "device_id", postgresql_where=text("device_id is not null")),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    key: Mapped[str] = mapped_column(unique=True)
    suite: Mapped[str]
    device_class: Mapped[str]
    device_id: Mapped[int | None] = mapped_column(ForeignKey("device.id"))
    """The one device that may do it; None for any of the class."""
    devices_needed: Mapped[int] = mapped_column(server_default="1")
    base_commit_id: Mapped[int | None] = mapped_column(ForeignKey("commit.id"))
    head_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    spec: Mapped[dict[str, Any]]
    """What the worker needs: suite, source, shas."""
    policy: Mapped[dict[str, Any]]
    """What the judge needs: alpha of this job, tau0, tau, gates, budgets; fixed when the job is created."""
    budget_s: Mapped[float]
    max_pairs: Mapped[int]
    is_untrusted: Mapped[bool] = mapped_column(server_default=text("false"))
    """Its head is a stranger's: measured in a sandbox by the untrusted pool, and no point of any history."""
    band: Mapped[int] = mapped_column(server_default="0")
    state: Mapped[str] = mapped_column(server_default="queued")
    reason: Mapped[str | None]
    message: Mapped[str | None]
    log_tail: Mapped[str | None]
    attempt: Mapped[int] = mapped_column(server_default="0")
    max_attempts: Mapped[int] = mapped_column(server_default="3")
    not_before: Mapped[Now]
    deadline_at: Mapped[datetime | None]
    lease_id: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    attempt_until: Mapped[datetime | None]
    """When the attempt ends at the latest, whatever its agent says."""
    cancel_requested_at: Mapped[datetime | None]
    created_at: Mapped[Now]
    finished_at: Mapped[datetime | None]


class LeaseDevice(Table):
    """A device held by a lease. A device has one active lease at most: the unique index says so."""

    __tablename__ = "lease_device"
    __table_args__ = (
        Index("uq_lease_device_active", "device_id", unique=True, postgresql_where=text("active")),
    )

    lease_id: Mapped[str] = mapped_column(primary_key=True)
    device_id: Mapped[int] = mapped_column(ForeignKey("device.id"), primary_key=True)
    active: Mapped[bool] = mapped_column(server_default=text("true"))


class Attempt(Table):
    """One lease of one job, and how it ended."""

    __tablename__ = "attempt"
    __table_args__ = (UniqueConstraint("job_id", "number"), Index("ix_attempt_outcome", "outcome"))

    id: Mapped[Id]
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"))
    number: Mapped[int]
    lease_id: Mapped[str] = mapped_column(unique=True)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"))
    phase: Mapped[str] = mapped_column(server_default="")
    detail: Mapped[str] = mapped_column(server_default="")
    device_s: Mapped[float] = mapped_column(server_default="0")
    outcome: Mapped[str | None]
    reason: Mapped[str | None]
    message: Mapped[str | None]
    log_tail: Mapped[str | None]
    started_at: Mapped[Now]
    ended_at: Mapped[datetime | None]
