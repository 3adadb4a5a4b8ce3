"""Checks, their verdicts and reports, and the weekly ones."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Date, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table


class Check(Table):
    """Base against head of one change, over all its suites and device classes."""

    __tablename__ = "check"
    __table_args__ = (
        CheckConstraint("state in ('queued', 'running', 'complete')", name="state"),
        Index("ix_check_open", "id", postgresql_where=text("state <> 'complete'")),
        Index("ix_check_regressed", "concluded_at", postgresql_where=text("conclusion = 'regressed'")),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), index=True)
    request_id: Mapped[int] = mapped_column(ForeignKey("request.id"), unique=True)
    base_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    head_commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    settings: Mapped[dict[str, Any]]
    """The gate's values as they held: minimum_effect, tolerance, strict, the settings' digest."""
    alpha: Mapped[float]
    state: Mapped[str] = mapped_column(server_default="queued")
    conclusion: Mapped[str | None]
    title: Mapped[str | None]
    reproduce: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[Now]
    concluded_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    """When somebody let it go: it needs its jobs no more, which others may."""
    adopted_at: Mapped[datetime | None]
    """When a restored service found that the forge has its end already: nothing more of it is told there."""


class Verdict(Table):
    """One metric of one case of one run: the plan, fixed before pair 1, and then the verdict.

    `verdict` is null while it is open; once set it never changes.
    """

    __tablename__ = "verdict"
    __table_args__ = (
        UniqueConstraint("run_id", "case_id", "metric"),
        Index("ix_verdict_noise", "case_id", "metric", "id", postgresql_where=text("sigma_pair is not null")),
    )

    id: Mapped[Id]
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("benchmark_case.id"))
    metric: Mapped[str]
    unit: Mapped[str]
    better: Mapped[str]
    kind: Mapped[str]
    gating: Mapped[bool]
    plan: Mapped[dict[str, Any]]
    """tau0, tau, g, what earlier checks say of the noise, and the budget of this metric."""
    series_version: Mapped[str] = mapped_column(server_default="")
    verdict: Mapped[str | None]
    reason: Mapped[str | None]
    log_tail: Mapped[str | None]
    change: Mapped[float | None]
    worse: Mapped[bool | None]
    ci_low: Mapped[float | None]
    ci_high: Mapped[float | None]
    ci_level: Mapped[float | None]
    n_pairs: Mapped[int] = mapped_column(server_default="0")
    n_void: Mapped[int] = mapped_column(server_default="0")
    device_s: Mapped[float | None]
    log_e: Mapped[float | None]
    could_hide: Mapped[float | None]
    sigma_pair: Mapped[float | None]
    grade: Mapped[str | None]
    flags: Mapped[list[str]]
    attribution: Mapped[list[str]]
    provenance: Mapped[dict[str, Any] | None]
    """Of a metric that was made of others: its formula, and each input with its unit and where it came from."""
    exploratory: Mapped[bool] = mapped_column(server_default=text("false"))
    looks: Mapped[list[Any]]
    settled_at: Mapped[datetime | None]


class Report(Table):
    """A concluded check's HTML report, gzip-compressed."""

    __tablename__ = "report"

    check_id: Mapped[int] = mapped_column(ForeignKey("check.id"), primary_key=True)
    html_gz: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[Now]


class WeeklyReport(Table):
    """A week's efficiency report as it was made by schedule; without `project_id` that of the whole installation."""

    __tablename__ = "weekly_report"
    __table_args__ = (UniqueConstraint("project_id", "monday", postgresql_nulls_not_distinct=True),)

    id: Mapped[Id]
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id"))
    monday: Mapped[date] = mapped_column(Date)
    headline: Mapped[str]
    html_gz: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[Now]
