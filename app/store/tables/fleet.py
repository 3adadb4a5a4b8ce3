"""Workers, the devices that they measure on, what is wrong with them, and the environments that runs ran in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.incidents import IncidentEnd, IncidentKind
from app.store.tables.base import Id, Now, Table

HEALTH = ("good", "suspect", "quarantined", "draining", "maintenance", "retired")
_KINDS = ", ".join(f"'{kind}'" for kind in IncidentKind)
_ENDS = ", ".join(f"'{end}'" for end in IncidentEnd)


class Environment(Table):
    """What a run ran in: the machine's fingerprint and the software that each arm's set-up resolved."""

    __tablename__ = "environment"

    id: Mapped[Id]
    digest: Mapped[str] = mapped_column(unique=True)
    machine_hash: Mapped[str] = mapped_column(index=True)
    machine: Mapped[dict[str, Any]]
    software: Mapped[dict[str, Any]]
    created_at: Mapped[Now]


class Worker(Table):
    """An agent on a host. `instance` is drawn anew by each start, so that a twin is told from a restart."""

    __tablename__ = "worker"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    host: Mapped[str]
    instance: Mapped[str]
    agent_version: Mapped[str] = mapped_column(server_default="")
    token_id: Mapped[int | None] = mapped_column(ForeignKey("token.id"))
    takes_trusted: Mapped[bool] = mapped_column(server_default=text("true"))
    """Whether its token lets it measure trusted commits; as of its last claim."""
    takes_untrusted: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether its token lets it measure strangers' commits; as of its last claim."""
    sandbox: Mapped[int] = mapped_column(server_default="0")
    """The level of isolation that it says it can give."""
    last_seen_at: Mapped[Now]
    left_at: Mapped[datetime | None]
    """When it signed off; null from its registering on."""
    created_at: Mapped[Now]


class Device(Table):
    """One accelerator, or a host's CPU, known by its hardware id."""

    __tablename__ = "device"
    __table_args__ = (
        CheckConstraint("health in ({})".format(", ".join(f"'{h}'" for h in HEALTH)), name="health"),
        Index("ix_device_device_class", "device_class"),
    )

    id: Mapped[Id]
    hardware_id: Mapped[str] = mapped_column(unique=True)
    worker_id: Mapped[int] = mapped_column(ForeignKey("worker.id"))
    kind: Mapped[str]
    device_class: Mapped[str]
    model: Mapped[str] = mapped_column(server_default="")
    health: Mapped[str] = mapped_column(server_default="good")
    machine_hash: Mapped[str] = mapped_column(server_default="")
    fingerprint: Mapped[dict[str, Any]]
    available_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class Epoch(Table):
    """A time in which a device's machine stayed the same; another fingerprint's hash begins the next."""

    __tablename__ = "epoch"
    __table_args__ = (Index("ix_epoch_device_id", "device_id", "id"),)

    id: Mapped[Id]
    device_id: Mapped[int] = mapped_column(ForeignKey("device.id"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"))
    """The first run in it."""
    machine_hash: Mapped[str]
    machine: Mapped[dict[str, Any]]
    changes: Mapped[dict[str, Any]]
    """What differs from the epoch before: name → before and after; empty for a device's first."""
    began_at: Mapped[Now]


class Control(Table):
    """What the frozen control workload showed on a device at one moment of a run."""

    __tablename__ = "control"
    __table_args__ = (
        CheckConstraint("moment in ('start', 'block', 'end')", name="moment"),
        Index("ix_control_device_id", "device_id", "moment", "measured_at"),
        Index("ix_control_run_id", "run_id"),
    )

    id: Mapped[Id]
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    device_id: Mapped[int] = mapped_column(ForeignKey("device.id"))
    moment: Mapped[str]
    version: Mapped[str]
    backend: Mapped[str]
    probes: Mapped[dict[str, Any]]
    unavailable: Mapped[dict[str, Any]]
    duration_s: Mapped[float]
    measured_at: Mapped[Now]


class SelfCheck(Table):
    """One A/A of a device: a commit against itself. What it finds is noise, or a fault of ours."""

    __tablename__ = "self_check"
    __table_args__ = (Index("ix_self_check_device_id", "device_id", "id"),)

    id: Mapped[Id]
    device_id: Mapped[int] = mapped_column(ForeignKey("device.id"))
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), unique=True)
    sigma_pair: Mapped[float | None]
    """The largest pair standard deviation of its gating metrics (ln units)."""
    n_verdicts: Mapped[int]
    false_alarms: Mapped[int]
    mde: Mapped[float | None]
    """The smallest change that 32 pairs find with a power of 0.95, as a share."""
    clocks_locked: Mapped[bool]
    is_exclusive: Mapped[bool]
    grade: Mapped[str]
    measured_at: Mapped[Now]


class Incident(Table):
    """Something is wrong with a machine, until `closed_at`. One of a kind is open of the same object.

    `is_news` is true from its opening, and again from its end, until somebody has looked at whom it is to be told.
    """

    __tablename__ = "incident"
    __table_args__ = (
        CheckConstraint(f"kind in ({_KINDS})", name="kind"),
        CheckConstraint(f"ended_by in ({_ENDS})", name="ended_by"),
        Index("uq_incident_open", "object", "kind", unique=True, postgresql_where=text("closed_at is null")),
        Index("ix_incident_news", "id", postgresql_where=text("is_news")),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    object: Mapped[str]
    """What it is of, as the audit log names it: `device/12`, `worker/3`, `class/h100-sxm`."""
    name: Mapped[str]
    """What people call that: a device's hardware id, a worker's name, a class."""
    classes: Mapped[list[str]]
    """The device classes that it concerns."""
    detail: Mapped[dict[str, Any]]
    """What was seen."""
    opened_at: Mapped[Now]
    closed_at: Mapped[datetime | None]
    ended_by: Mapped[str | None]
    is_news: Mapped[bool] = mapped_column(server_default=text("true"))
