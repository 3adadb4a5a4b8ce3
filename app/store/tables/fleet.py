"""Workers, the devices that they measure on, and the environments that runs ran in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table

HEALTH = ("good", "suspect", "quarantined", "draining", "maintenance", "retired")


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
    last_seen_at: Mapped[Now]
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
