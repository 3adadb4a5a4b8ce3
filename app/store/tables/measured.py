"""What was measured: runs, their invocations with raw timings, and the series that published results extend.

Invocations, timings and estimates arrive provisionally while a run is going on; the finish of its lease publishes
them as results and samples in the transaction that ends the job. A narrow `result` row is what trends read; its
`sample` keeps every value, in order, apart.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Narrow, Now, SparseList, Table


class Run(Table):
    """A job as executed: one attempt's devices, environment and arms."""

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_with_raw", "id", postgresql_where=text("not is_bare")),
        Index("ix_run_with_logs", "id", postgresql_where=text("has_logs")),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    job_id: Mapped[int] = mapped_column(ForeignKey("job.id"), index=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("attempt.id"), unique=True)
    environment_id: Mapped[int | None] = mapped_column(ForeignKey("environment.id"))
    order_seed: Mapped[int | None]
    arms: Mapped[dict[str, Any] | None]
    """How preparing each arm went: status, reason, log tail, software."""
    n_gating: Mapped[int | None]
    """M: gating (case, metric) pairs, fixed before pair 1."""
    sources: Mapped[dict[str, Any] | None]
    """Where each benchmark is written: its file, relative to the repository's root, and the line."""
    idle: Mapped[list[Any]] = mapped_column(server_default="[]")
    """A reading of each device before anything was measured."""
    activity: Mapped[dict[str, Any] | None]
    """What DCGM said of the run's window, and from where; None where nobody was asked."""
    device_s: Mapped[float] = mapped_column(server_default="0")
    prepared_at: Mapped[datetime | None]
    published_at: Mapped[datetime | None]
    summary: Mapped[dict[str, Any] | None]
    """What its raw values came to, once these are no longer kept; None while they are."""
    is_bare: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether none of its raw values is left."""
    has_logs: Mapped[bool] = mapped_column(server_default=text("true"))
    """Whether logs of it may be left."""
    created_at: Mapped[Now]


class Invocation(Table):
    """One fresh process of one arm. `key` = run/pair/arm/attempt makes posting it twice one row."""

    __tablename__ = "invocation"
    __table_args__ = (Index("ix_invocation_run_id", "run_id", "pair_index"),)

    id: Mapped[Id]
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    key: Mapped[str] = mapped_column(unique=True)
    body_digest: Mapped[str]
    arm: Mapped[str]
    block: Mapped[int]
    pair_index: Mapped[int]
    position: Mapped[int]
    block_complete: Mapped[bool]
    status: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default="")
    log_tail: Mapped[str] = mapped_column(server_default="")
    void: Mapped[bool] = mapped_column(server_default=text("false"))
    void_reason: Mapped[str | None]
    flags: Mapped[list[str]]
    device_s: Mapped[float]
    started_at: Mapped[datetime]
    t_start_ns: Mapped[int]
    duration_ns: Mapped[int]
    exit_code: Mapped[int | None]
    detail: Mapped[dict[str, Any]]
    """The remaining fields of the document: seeds, padding, start-up, telemetry, versions."""
    received_at: Mapped[Now]


class Telemetry(Table):
    """The raw readings beside one invocation: zlib of a JSON list of columns for each device (docs/protocol.md)."""

    __tablename__ = "telemetry"

    invocation_id: Mapped[int] = mapped_column(ForeignKey("invocation.id"), primary_key=True)
    ticks: Mapped[bytes] = mapped_column(LargeBinary)


class Timing(Table):
    """What one invocation says of one case: status, and every batch in time order [ns]."""

    __tablename__ = "timing"

    invocation_id: Mapped[int] = mapped_column(ForeignKey("invocation.id"), primary_key=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("benchmark_case.id"), primary_key=True)
    status: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default="")
    log_tail: Mapped[str] = mapped_column(server_default="")
    k: Mapped[int]
    clock: Mapped[str]
    n_warmup: Mapped[int]
    warmup_converged: Mapped[bool]
    first_call_s: Mapped[float | None]
    host_ns: Mapped[list[int]]
    wait_ns: Mapped[list[int]] = mapped_column(server_default="{}")
    """What of each batch the processor spent on other programs [ns]; empty if nothing, or if nobody knows."""
    device_ns: Mapped[list[int]]
    spike: Mapped[list[int]]
    thinned: Mapped[int]
    flags: Mapped[list[str]]
    work: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """What a call works off (`units`, `dtype`), `iterations`, `energy_j` over `window_s`, and `signs` of what the
    devices did in that window, as far as told."""


class Estimate(Table):
    """One number: a metric of a case as one invocation estimated it, in the metric's unit."""

    __tablename__ = "estimate"

    invocation_id: Mapped[int] = mapped_column(ForeignKey("invocation.id"), primary_key=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("benchmark_case.id"), primary_key=True)
    metric: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[float]
    net: Mapped[float | None]
    """The value without the time that other programs had the processor; null where that cannot be told."""


class Series(Table):
    """One metric of one case on one device class over commits. A changed benchmark file begins a new version."""

    __tablename__ = "series"
    __table_args__ = (UniqueConstraint("case_id", "metric", "device_class", "version"),)

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"), index=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("benchmark_case.id"))
    metric: Mapped[str]
    unit: Mapped[str]
    better: Mapped[str]
    device_class: Mapped[str]
    version: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[Now]


SHOWN = ["value", "low", "high", "n", "commit_id", "run_id", "upload_id", "flags"]
"""What a trend shows of a result; the index that finds it holds it, as the rows of a history lie far apart."""


class Result(Table):
    """One point of a series: the median of one arm's estimates in one run, or of values posted from elsewhere."""

    __tablename__ = "result"
    __table_args__ = (
        Index("ix_result_series_id_commit_id", "series_id", "commit_id"),
        Index(
            "ix_result_commit_id",
            "commit_id",
            postgresql_using="brin",
            postgresql_with={"autosummarize": True, "pages_per_range": 32},
        ),
        Index(
            "ix_result_history",
            "series_id",
            "branch",
            "place",
            "id",
            postgresql_include=SHOWN,
        ),
        Index("ix_result_run_id", "run_id", postgresql_where=text("run_id is not null")),
        Index("ix_result_upload_id", "upload_id", postgresql_where=text("upload_id is not null")),
        Index(
            "ix_result_unplaced", "series_id", postgresql_where=text("branch is not null and place is null")
        ),
        Index(
            "ix_result_without_branch",
            "id",
            postgresql_where=text("branch is null and (upload_id is not null or arm = 'base')"),
        ),
    )

    id: Mapped[Id]
    series_id: Mapped[int] = mapped_column(Narrow, ForeignKey("series.id"))
    commit_id: Mapped[int] = mapped_column(Narrow, ForeignKey("commit.id"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"))
    upload_id: Mapped[int | None] = mapped_column(ForeignKey("upload.id"))
    arm: Mapped[str]
    value: Mapped[float]
    low: Mapped[float]
    high: Mapped[float]
    n: Mapped[int] = mapped_column(Narrow)
    flags: Mapped[list[str]] = mapped_column(SparseList(Text), nullable=True)
    measured_at: Mapped[datetime]
    created_at: Mapped[datetime | None]
    """Null from this release on: when it came in is told by its run or upload. The release before reads it."""
    branch: Mapped[str | None]
    """The branch whose history it is a point of; None for what is no history, such as a pull request's head."""
    place: Mapped[float | None]
    """Orders the history by commit, results of one commit by id; None until the series is examined."""


class Sample(Table):
    """The repeated values of one metric of one case in one run, whole and in order."""

    __tablename__ = "sample"

    result_id: Mapped[int] = mapped_column(ForeignKey("result.id"), primary_key=True)
    values: Mapped[list[float]]
    void: Mapped[list[int]] = mapped_column(SparseList(BigInteger), nullable=True)
    """Indices of values that belong to void pairs; kept, not counted."""


class Upload(Table):
    """A document of results from elsewhere; its key makes posting it twice one upload."""

    __tablename__ = "upload"
    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    key: Mapped[str]
    body_digest: Mapped[str]
    environment_id: Mapped[int | None] = mapped_column(ForeignKey("environment.id"))
    commit_id: Mapped[int] = mapped_column(ForeignKey("commit.id"))
    answer: Mapped[dict[str, Any]]
    posted_by: Mapped[str]
    created_at: Mapped[Now]
