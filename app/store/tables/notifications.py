"""Who is told of alerts and of machines, of what they were told, and each message until it has arrived."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.notifications import MessageKind, NotifierKind, SendState
from app.store.tables.base import Id, Now, Table

_KINDS = ", ".join(f"'{kind}'" for kind in NotifierKind)
_MESSAGES = ", ".join(f"'{kind}'" for kind in MessageKind)
_STATES = ", ".join(f"'{state}'" for state in SendState)


class Notifier(Table):
    """Somebody who is told. Its address is sealed: it may be a secret; `shown` is what of it people see."""

    __tablename__ = "notifier"
    __table_args__ = (
        UniqueConstraint("project_id", "name"),
        CheckConstraint(f"kind in ({_KINDS})", name="kind"),
        Index("ix_notifier_due_at", "due_at", postgresql_where=text("due_at is not null")),
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    kind: Mapped[str]
    address: Mapped[bytes] = mapped_column(LargeBinary)
    shown: Mapped[str]
    wishes: Mapped[dict[str, Any]]
    due_at: Mapped[datetime | None]
    """When what there is to say is put into a message; null where there is nothing."""
    digest_from: Mapped[Now]
    """When its last digest was made, or itself."""
    spaced_until: Mapped[datetime | None]
    """After a message of many alerts the next one waits until then."""
    busy_until: Mapped[datetime | None]
    """Somebody speaks to it until then, or it rests; how long a message is put off is the message's own."""
    paused_at: Mapped[datetime | None]
    paused_because: Mapped[str] = mapped_column(server_default="")
    created_by: Mapped[str]
    created_at: Mapped[Now]


class NotifierNews(Table):
    """Something happened to an alert that a notifier has not been told of."""

    __tablename__ = "notifier_news"

    notifier_id: Mapped[int] = mapped_column(ForeignKey("notifier.id"), primary_key=True, autoincrement=False)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id"), primary_key=True, autoincrement=False)


class ToldAlert(Table):
    """What a notifier was told of an alert last, and the message that told of it first."""

    __tablename__ = "told_alert"

    notifier_id: Mapped[int] = mapped_column(ForeignKey("notifier.id"), primary_key=True, autoincrement=False)
    alert_id: Mapped[int] = mapped_column(ForeignKey("alert.id"), primary_key=True, autoincrement=False)
    notification_id: Mapped[int | None] = mapped_column(
        ForeignKey("notification.id", ondelete="SET NULL"), index=True
    )
    state: Mapped[str]
    level: Mapped[float]
    """Its largest change then, as a share."""


class IncidentNews(Table):
    """An incident began or ended, and a notifier has not been told."""

    __tablename__ = "incident_news"

    notifier_id: Mapped[int] = mapped_column(ForeignKey("notifier.id"), primary_key=True, autoincrement=False)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), primary_key=True, autoincrement=False)


class ToldIncident(Table):
    """A notifier was told of an incident, by which message first, and whether it was told of its end."""

    __tablename__ = "told_incident"

    notifier_id: Mapped[int] = mapped_column(ForeignKey("notifier.id"), primary_key=True, autoincrement=False)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), primary_key=True, autoincrement=False)
    notification_id: Mapped[int | None] = mapped_column(
        ForeignKey("notification.id", ondelete="SET NULL"), index=True
    )
    is_over: Mapped[bool]


class Notification(Table):
    """One message to one notifier. `key` goes with it at every try."""

    __tablename__ = "notification"
    __table_args__ = (
        CheckConstraint(f"kind in ({_MESSAGES})", name="kind"),
        CheckConstraint(f"state in ({_STATES})", name="state"),
        Index("ix_notification_notifier_id", "notifier_id", "id"),
        Index("ix_notification_waiting", "not_before", postgresql_where=text("state = 'waiting'")),
        Index("ix_notification_created_at", "created_at"),
    )

    id: Mapped[Id]
    notifier_id: Mapped[int] = mapped_column(ForeignKey("notifier.id"))
    kind: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)
    thread: Mapped[str] = mapped_column(server_default="")
    """The key of the message that it goes on from."""
    message: Mapped[dict[str, Any]]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(server_default="0")
    taken_by: Mapped[list[str]] = mapped_column(server_default=text("'{}'"))
    """Of a mail to several, who has it; the others are tried again alone."""
    gone: Mapped[int] = mapped_column(server_default="0")
    """How often in a row, since somebody resumed it last, it was answered that nobody is there."""
    not_before: Mapped[Now]
    error: Mapped[str | None]
    created_at: Mapped[Now]
    sent_at: Mapped[datetime | None]
