"""What the service keeps for itself: who may come in, what must still be sent, what was done by whom."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table


class Token(Table):
    """An API token: its public id and the SHA-256 of its secret; the secret itself is shown once."""

    __tablename__ = "token"

    id: Mapped[Id]
    public_id: Mapped[str] = mapped_column(unique=True)
    secret_sha256: Mapped[str]
    name: Mapped[str]
    scopes: Mapped[list[str]]
    project_id: Mapped[int | None] = mapped_column(ForeignKey("project.id"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    """Whose it is: it may do no more than they may. None for one of the installation's."""
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class BrowserSession(Table):
    """A signed-in browser: the SHA-256 of its cookie, and the token or the person that it signed in with."""

    __tablename__ = "browser_session"
    __table_args__ = (CheckConstraint("num_nonnulls(token_id, user_id) = 1", name="one_holder"),)

    cookie_sha256: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(Identity(), unique=True)
    """By which pages name it."""
    token_id: Mapped[int | None] = mapped_column(ForeignKey("token.id"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    address: Mapped[str] = mapped_column(server_default="")
    agent: Mapped[str] = mapped_column(server_default="")
    """What the browser says that it is."""
    expires_at: Mapped[datetime]
    seen_at: Mapped[Now]
    """When it was last used, exact to a minute."""
    created_at: Mapped[Now]


class Outbox(Table):
    """What must happen outside the database, written in the transaction that decided it."""

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_unsent", "available_at", postgresql_where=text("sent_at is null")),)

    id: Mapped[Id]
    topic: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
    available_at: Mapped[Now]
    attempts: Mapped[int] = mapped_column(server_default="0")
    sent_at: Mapped[datetime | None]
    error: Mapped[str | None]


class Key(Table):
    """A secret of the installation: what is signed with it in one process is known again in every other."""

    __tablename__ = "key"

    name: Mapped[str] = mapped_column(primary_key=True)
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[Now]


class Tally(Table):
    """What was counted, in sum since ever: a number for each value of a label, and of what was measured its sum, too.

    A number that says how things stand holds `until` then; null for a count, which holds for good.
    """

    __tablename__ = "tally"

    name: Mapped[str] = mapped_column(primary_key=True)
    label: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[float]
    total: Mapped[float] = mapped_column(server_default="0")
    until: Mapped[datetime | None]


class AuditLog(Table):
    """Who did what to which object. Append-only."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("ix_audit_log_object", "object", "action", "id"),)

    id: Mapped[Id]
    actor: Mapped[str]
    action: Mapped[str]
    object: Mapped[str]
    detail: Mapped[dict[str, Any]]
    address: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[Now]
