"""Repositories under watch, their commits, and the cases that their benchmarks have."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table


class Project(Table):
    """One repository under watch."""

    __tablename__ = "project"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    branch: Mapped[str] = mapped_column(server_default="main")
    created_at: Mapped[Now]


class Commit(Table):
    """One revision; `position` is its place in the base branch's first-parent order, where known."""

    __tablename__ = "commit"
    __table_args__ = (
        UniqueConstraint("project_id", "sha"),
        Index("ix_commit_parent_sha", "project_id", "parent_sha"),
        Index("ix_commit_project_time", "project_id", text("coalesce(authored_at, created_at)")),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    sha: Mapped[str]
    parent_sha: Mapped[str | None]
    position: Mapped[int | None]
    branch: Mapped[str | None]
    subject: Mapped[str] = mapped_column(server_default="")
    author: Mapped[str] = mapped_column(server_default="")
    authored_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class BenchmarkCase(Table):
    """A benchmark with its parameters fixed; `params_key` is their canonical JSON."""

    __tablename__ = "benchmark_case"
    __table_args__ = (UniqueConstraint("project_id", "benchmark", "params_key"),)

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    benchmark: Mapped[str]
    params: Mapped[dict[str, Any]]
    params_key: Mapped[str]
