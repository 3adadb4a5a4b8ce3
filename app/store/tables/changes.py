"""Histories, and where they changed: suspected, confirmed, or taken back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.changes import ChangeKind, ChangeState
from app.store.tables.base import Id, Now, Table

_STATES = ", ".join(f"'{state}'" for state in ChangeState)
_KINDS = ", ".join(f"'{kind}'" for kind in ChangeKind)


class History(Table):
    """A series on one branch: how many points have their place in it, and the last of the places."""

    __tablename__ = "history"

    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True)
    branch: Mapped[str] = mapped_column(primary_key=True)
    length: Mapped[int]
    last_place: Mapped[float]


class ChangePoint(Table):
    """The first commit of a new regime of a series on one branch, with its size, interval and p-value.

    Identity is the commit (and `result_id`, the first point of the new regime); `index` is that point's row in the
    branch's history, oldest first, and moves when older points arrive. The trigger `change_point_guard` keeps all
    else of what is no longer suspected.
    """

    __tablename__ = "change_point"
    __table_args__ = (
        CheckConstraint(f"state in ({_STATES})", name="state"),
        CheckConstraint(f"kind in ({_KINDS})", name="kind"),
        Index("ix_change_point_series_id", "series_id", "branch", "index"),
        Index("ix_change_point_project_id", "project_id", "id"),
        Index("ix_change_point_request_id", "request_id", postgresql_where=text("request_id is not null")),
        Index(
            "ix_change_point_confirmed_at",
            "confirmed_at",
            postgresql_where=text("state = 'confirmed' and label is null"),
        ),
        Index("ix_change_point_suspected", "first_seen_at", postgresql_where=text("state = 'suspected'")),
        Index(
            "uq_change_point_confirmed",
            "series_id",
            "branch",
            "commit_id",
            unique=True,
            postgresql_where=text("state = 'confirmed'"),
        ),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    branch: Mapped[str]
    commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    previous_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    """The last commit of the regime before: the change came after it, not later than `commit_id`."""
    end_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    """Where a ramp reaches its new level, or a spike has reverted; of a step `commit_id`."""
    result_id: Mapped[int] = mapped_column(ForeignKey("result.id"))
    index: Mapped[int]
    end_index: Mapped[int]
    kind: Mapped[str]
    state: Mapped[str]
    before: Mapped[float | None]
    after: Mapped[float | None]
    change: Mapped[float | None]
    """after/before − 1; of a spike its height over the level around it, of a variance the sd's."""
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    p_value: Mapped[float | None]
    """None where the metric is compared exactly."""
    reason: Mapped[str | None]
    label: Mapped[str | None]
    """`machine_change` where the machine moved and not the code, with what tells so in `evidence`."""
    evidence: Mapped[dict[str, Any] | None]
    corrects_id: Mapped[int | None] = mapped_column(ForeignKey("change_point.id"))
    request_id: Mapped[int | None] = mapped_column(ForeignKey("request.id"))
    """What asked our own agents to measure it again."""
    first_seen_at: Mapped[Now]
    examined_at: Mapped[Now]
    confirmed_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
