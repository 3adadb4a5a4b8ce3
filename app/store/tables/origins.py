"""Where confirmed changes came from, and which of them somebody has accepted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Now, Table


class Origin(Table):
    """The merged pull request that a confirmed change for the worse came with; `number` is null where there is none.

    A row of its own, as a confirmed change keeps its numbers. There is one for every change that the forge was asked
    about.
    """

    __tablename__ = "origin"
    __table_args__ = (Index("ix_origin_repository_id", "repository_id", "number"),)

    change_point_id: Mapped[int] = mapped_column(
        ForeignKey("change_point.id"), primary_key=True, autoincrement=False
    )
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"))
    number: Mapped[int | None]
    commits: Mapped[list[Any]]
    """The newest commits that it can be: `[sha, subject]` each, in first-parent order, the newest first."""
    n_commits: Mapped[int | None]
    """How many it can be; null where that is not known."""
    shown: Mapped[str]
    """The state that the change had when it was last looked at for what the pull request is told."""
    created_at: Mapped[Now]


class Acceptance(Table):
    """A confirmed change for the worse that somebody wants: who says so, why, and on which pull request, if on one."""

    __tablename__ = "acceptance"

    change_point_id: Mapped[int] = mapped_column(
        ForeignKey("change_point.id"), primary_key=True, autoincrement=False
    )
    repository_id: Mapped[int | None] = mapped_column(ForeignKey("repository.id"))
    number: Mapped[int | None]
    accepted_by: Mapped[str]
    reason: Mapped[str]
    accepted_at: Mapped[datetime]
    """When it was said: of what was accepted before it was merged, then."""
