"""What is known of the forge: repositories, its messages, pull requests, and what it should say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.forge import Place
from app.store.tables.base import Id, Now, Table


class Repository(Table):
    """A repository on the forge. `external_id` stays when it is renamed; its first settings give it a project."""

    __tablename__ = "repository"

    id: Mapped[Id]
    external_id: Mapped[int] = mapped_column(unique=True)
    slug: Mapped[str]
    branch: Mapped[str]
    installation: Mapped[int | None]
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id"), index=True)
    branch_sha: Mapped[str | None]
    """The newest commit of its branch that was asked for as a point of the history."""
    branch_seen_at: Mapped[datetime | None]
    """When somebody asked for what is known of its branch: its schedules and its project."""
    is_connected: Mapped[bool] = mapped_column(server_default=text("true"))
    busy_until: Mapped[datetime | None]
    """Somebody writes to the forge for it until then, or the forge asked for so much time."""
    created_at: Mapped[Now]

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.slug, self.installation, self.external_id)


class Delivery(Table):
    """A message of the forge, kept as it came; `outcome` says what followed from it, null until it was looked at."""

    __tablename__ = "delivery"
    __table_args__ = (
        Index("ix_delivery_waiting", "id", postgresql_where=text("outcome is null")),
        Index("ix_delivery_received_at", "received_at"),
    )

    id: Mapped[Id]
    guid: Mapped[str] = mapped_column(unique=True)
    event: Mapped[str]
    payload: Mapped[dict[str, Any]]
    received_at: Mapped[Now]
    outcome: Mapped[str | None]


class PullRequest(Table):
    """A pull request as it was last seen; `check_id` is of its newest head, null where nothing was measured of that.

    `trouble` says why nothing is, in words for its author.
    """

    __tablename__ = "pull_request"
    __table_args__ = (UniqueConstraint("repository_id", "number"),)

    id: Mapped[Id]
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"))
    number: Mapped[int]
    title: Mapped[str]
    author: Mapped[str]
    state: Mapped[str]
    """`open`, `merged` or `closed`."""
    is_fork: Mapped[bool]
    base_ref: Mapped[str]
    base_sha: Mapped[str | None]
    """Where its branch left the one that it goes into: what the head is held against."""
    head_sha: Mapped[str]
    check_id: Mapped[int | None] = mapped_column(ForeignKey("check.id"), index=True)
    checks_made: Mapped[int] = mapped_column(server_default="0")
    rerun: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether the same head is to be measured again, all of it."""
    wishes: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    """What somebody wants measured besides, or again: suites, each with a glob of device classes or an empty one."""
    retries: Mapped[int] = mapped_column(server_default=text("0"))
    """How often we had some of this head measured again, unasked, because nobody could when it was its turn."""
    approved_sha: Mapped[str | None]
    """The head of a fork that somebody lets run."""
    approved_by: Mapped[str | None]
    accepted_sha: Mapped[str | None]
    """The head that somebody has accepted as it is."""
    accepted_by: Mapped[str | None]
    accepted_reason: Mapped[str | None]
    accepted_at: Mapped[datetime | None]
    trouble: Mapped[str | None]
    seen_at: Mapped[Now]


class Target(Table):
    """Something that the forge should say, and what it says: the newest wish is what counts, not how it came about.

    It is delivered where `wanted_digest` is `told_digest`. `error` is what the forge refused it with.
    """

    __tablename__ = "target"
    __table_args__ = (
        CheckConstraint("kind in ('check', 'comment', 'issue')", name="kind"),
        Index(
            "ix_target_waiting",
            "id",
            postgresql_where=text("wanted_digest is distinct from told_digest"),
        ),
    )

    id: Mapped[Id]
    key: Mapped[str] = mapped_column(unique=True)
    repository_id: Mapped[int] = mapped_column(ForeignKey("repository.id"), index=True)
    kind: Mapped[str]
    wanted: Mapped[dict[str, Any]]
    wanted_digest: Mapped[str]
    told_digest: Mapped[str | None]
    external_id: Mapped[int | None]
    attempts: Mapped[int] = mapped_column(server_default="0")
    """Tries since it was last told; after the first, what is there may be ours."""
    error: Mapped[str | None]
    not_before: Mapped[Now]
    """When it is tried at the earliest; what was refused waits long."""
    created_at: Mapped[Now]
    asked_at: Mapped[datetime | None]
    """When the check was asked for that it tells of; None where it tells of none."""
    untold_since: Mapped[datetime | None]
    """Since when the forge has been saying something else than it should, or nothing."""
    told_at: Mapped[datetime | None]
