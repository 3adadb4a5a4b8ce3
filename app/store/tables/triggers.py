"""What starts a measurement of a repository besides a pull request and a push: schedules, merge groups, people."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table


class Schedule(Table):
    """A schedule of a repository's settings, as its default branch's newest commit has them."""

    __tablename__ = "schedule"
    __table_args__ = (
        UniqueConstraint("repository_id", "name"),
        Index("ix_schedule_due_at", "due_at", postgresql_where=text("due_at is not null")),
    )

    id: Mapped[Id]
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"))
    name: Mapped[str]
    cron: Mapped[str]
    due_at: Mapped[datetime | None]
    """When it is due next; null where the settings have it no more."""
    measured_sha: Mapped[str | None]
    """The commit that it had measured last; it stays when the settings have it no more."""


class ScheduleTick(Table):
    """One time that a schedule was due at; `outcome` says what followed, null until it was looked at."""

    __tablename__ = "schedule_tick"
    __table_args__ = (
        UniqueConstraint("schedule_id", "planned_at"),
        Index("ix_schedule_tick_waiting", "id", postgresql_where=text("outcome is null")),
        Index("ix_schedule_tick_created_at", "created_at"),
    )

    id: Mapped[Id]
    schedule_id: Mapped[int] = mapped_column(ForeignKey("schedule.id"))
    planned_at: Mapped[datetime]
    outcome: Mapped[str | None]
    check_id: Mapped[int | None] = mapped_column(ForeignKey("check.id"), index=True)
    created_at: Mapped[Now]


class MergeGroup(Table):
    """A merge queue's group: the commit that its base branch may become, held against the one below it in the queue.

    `trouble` says why nothing is measured, in words for whoever waits for the queue.
    """

    __tablename__ = "merge_group"
    __table_args__ = (
        UniqueConstraint("repository_id", "head_sha"),
        CheckConstraint("state in ('open', 'destroyed')", name="state"),
        Index("ix_merge_group_open", "id", postgresql_where=text("state = 'open'")),
    )

    id: Mapped[Id]
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"))
    head_sha: Mapped[str]
    head_ref: Mapped[str]
    base_sha: Mapped[str]
    base_ref: Mapped[str]
    state: Mapped[str]
    is_kept_out: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether code is in it that is not run; so it is in the groups on top of it."""
    check_id: Mapped[int | None] = mapped_column(ForeignKey("check.id"), index=True)
    checks_made: Mapped[int] = mapped_column(server_default="0")
    rerun: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether it is to be measured again."""
    trouble: Mapped[str | None]
    created_at: Mapped[Now]


class MeasureRequest(Table):
    """Somebody's wish to have a pull request or a commit of a connected repository measured; the forge is asked later.

    It waits until `outcome` is set: then `check_id` is what came of it, or `message` says why nothing did.
    """

    __tablename__ = "measure_request"
    __table_args__ = (
        CheckConstraint("(pull is null) <> (head is null)", name="one_head"),
        CheckConstraint("outcome in ('checked', 'not_measured', 'refused')", name="outcome"),
        Index("ix_measure_request_waiting", "id", postgresql_where=text("outcome is null")),
    )

    id: Mapped[Id]
    key: Mapped[str] = mapped_column(unique=True)
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"), index=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    pull: Mapped[int | None]
    """A pull request's number."""
    head: Mapped[str | None]
    base: Mapped[str | None]
    suites: Mapped[list[str]]
    devices: Mapped[list[str]]
    asked_by: Mapped[str]
    outcome: Mapped[str | None]
    check_id: Mapped[int | None] = mapped_column(ForeignKey("check.id"), index=True)
    message: Mapped[str | None]
    created_at: Mapped[Now]
