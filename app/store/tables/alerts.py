"""Alerts: what is worse, grouped by cause, what people said of it, and what the detector missed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.alerts import AlertEvent, AlertState
from app.store.tables.base import Id, Now, Table

_STATES = ", ".join(f"'{state}'" for state in AlertState)
_EVENTS = ", ".join(f"'{event}'" for event in AlertEvent)


class Alert(Table):
    """Confirmed changes for the worse and failed checks of one cause; their commits are after `previous_commit_id`."""

    __tablename__ = "alert"
    __table_args__ = (
        CheckConstraint(f"state in ({_STATES})", name="state"),
        Index("ix_alert_project_id", "project_id", "id"),
        Index("ix_alert_state", "state", "id"),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    branch: Mapped[str]
    previous_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    repository_id: Mapped[int | None] = mapped_column(ForeignKey("repository.id"))
    number: Mapped[int | None]
    """The pull request that it is of, or came with."""
    state: Mapped[str]
    owner: Mapped[str | None]
    owners: Mapped[list[str] | None]
    """Whom the repository names for what its commits touch; null where nobody has looked."""
    opened_at: Mapped[Now]
    moved_at: Mapped[Now]
    """Since when it is in its state."""


class AlertChange(Table):
    """A change point that an alert tells of; each is told once."""

    __tablename__ = "alert_change"

    change_point_id: Mapped[int] = mapped_column(
        ForeignKey("change_point.id"), primary_key=True, autoincrement=False
    )
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id"), index=True)
    has_left: Mapped[bool] = mapped_column(server_default="false")
    """Whether its being taken back was told."""


class AlertCheck(Table):
    """A failed check that an alert tells of."""

    __tablename__ = "alert_check"

    check_id: Mapped[int] = mapped_column(ForeignKey("check.id"), primary_key=True, autoincrement=False)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id"), index=True)


class AlertLog(Table):
    """Who did what to an alert, in that order; nothing of that is ever changed.

    `is_news` is true until somebody has looked at whom it is to be told.
    """

    __tablename__ = "alert_log"
    __table_args__ = (
        CheckConstraint(f"what in ({_EVENTS})", name="what"),
        Index("ix_alert_log_alert_id", "alert_id", "id"),
        Index("ix_alert_log_news", "alert_id", postgresql_where=text("is_news")),
    )

    id: Mapped[Id]
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id"))
    at: Mapped[Now]
    by: Mapped[str]
    what: Mapped[str]
    detail: Mapped[dict[str, Any]]
    is_news: Mapped[bool] = mapped_column(default=True, server_default=text("false"))


class MissedChange(Table):
    """A change that somebody saw and the detector did not."""

    __tablename__ = "missed_change"
    __table_args__ = (UniqueConstraint("series_id", "branch", "commit_id"),)

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), index=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    branch: Mapped[str]
    commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    told_by: Mapped[str]
    note: Mapped[str]
    told_at: Mapped[Now]
