"""Notifiers: what is news, who is to be told of it, and the messages to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, exists, func, or_, select, union, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.alerts import OPEN_STATES, AlertEvent
from app.domain.notifications import MessageKind, SendState
from app.store.tables import (
    Alert,
    AlertLog,
    IncidentNews,
    Notification,
    Notifier,
    NotifierNews,
    Project,
    Target,
    ToldAlert,
    ToldIncident,
)

# --- who is told ---


def of_project(session: Session, project_id: int) -> Sequence[Notifier]:
    """Return the project's notifiers, by name."""
    query = select(Notifier).where(Notifier.project_id == project_id).order_by(Notifier.name)
    return session.scalars(query).all()


def of_all(session: Session) -> Sequence[Notifier]:
    """Return the notifiers of all projects."""
    return session.scalars(select(Notifier).order_by(Notifier.id)).all()


def every(session: Session) -> Sequence[Notifier]:
    """Lock and return all notifiers."""
    query = select(Notifier).order_by(Notifier.id)
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).all()


def named(session: Session, project_id: int, name: str) -> Notifier | None:
    """Return and lock a notifier of the project."""
    query = select(Notifier).where(Notifier.project_id == project_id, Notifier.name == name)
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()


def locked(session: Session, notifier_id: int) -> Notifier | None:
    """Return and lock a notifier; None where it is gone."""
    return session.get(Notifier, notifier_id, with_for_update=True, populate_existing=True)


def remove(session: Session, notifier_id: int) -> None:
    """Delete a notifier with all that it was told, and is to be told."""
    for table in (NotifierNews, IncidentNews, ToldAlert, ToldIncident, Notification):
        session.execute(delete(table).where(table.notifier_id == notifier_id))
    session.execute(delete(Notifier).where(Notifier.id == notifier_id))


def has_news(session: Session, notifier_id: int) -> bool:
    """Say whether there is anything that a notifier may have to be told: of alerts, or of machines."""
    return any(
        session.scalar(select(exists().where(table.notifier_id == notifier_id)))
        for table in (NotifierNews, IncidentNews)
    )


def has_any(session: Session, project_id: int) -> bool:
    """Say whether anybody is told of the project's alerts."""
    return bool(session.scalar(select(exists().where(Notifier.project_id == project_id))))


def project_of(session: Session, notifier: Notifier) -> Project:
    """Return the notifier's project."""
    return session.get_one(Project, notifier.project_id)


# --- what is news ---


def take_news(session: Session, project_id: int) -> dict[int, datetime]:
    """Return the project's alerts to which something happened, each with when it did last; it is no news any more."""
    rows = session.execute(
        update(AlertLog)
        .where(AlertLog.is_news, AlertLog.alert_id == Alert.id, Alert.project_id == project_id)
        .values(is_news=False)
        .returning(AlertLog.alert_id, AlertLog.at)
    )
    found: dict[int, datetime] = {}
    for alert_id, at in rows:
        found[alert_id] = max(at, found.get(alert_id, at))
    return found


def projects_with_news(session: Session, older_than: timedelta) -> Sequence[int]:
    """Return the projects to whose alerts something happened that nobody has looked at for so long."""
    query = (
        select(Alert.project_id)
        .join(AlertLog, AlertLog.alert_id == Alert.id)
        .where(AlertLog.is_news, AlertLog.at < func.clock_timestamp() - older_than)
    )
    return sorted(session.scalars(query.distinct()))


def add_news(session: Session, notifier_id: int, alert_ids: Collection[int]) -> None:
    """Note alerts of which a notifier may have to be told."""
    rows = [{"notifier_id": notifier_id, "alert_id": alert_id} for alert_id in sorted(alert_ids)]
    if rows:
        session.execute(insert(NotifierNews).on_conflict_do_nothing(), rows)


def news_of(session: Session, notifier_id: int) -> list[int]:
    """Return the alerts of which a notifier may have to be told, in id order."""
    query = select(NotifierNews.alert_id).where(NotifierNews.notifier_id == notifier_id)
    return list(session.scalars(query.order_by(NotifierNews.alert_id)))


def drop_news(session: Session, notifier_id: int, alert_ids: Collection[int]) -> None:
    """Forget alerts of which a notifier was told, or need not be."""
    session.execute(
        delete(NotifierNews).where(
            NotifierNews.notifier_id == notifier_id, NotifierNews.alert_id.in_(alert_ids)
        )
    )


def told(session: Session, notifier_id: int, alert_ids: Collection[int]) -> dict[int, ToldAlert]:
    """Return what a notifier was told of each of these alerts last."""
    query = select(ToldAlert).where(ToldAlert.notifier_id == notifier_id, ToldAlert.alert_id.in_(alert_ids))
    return {row.alert_id: row for row in session.scalars(query)}


def begun(session: Session, notifier_id: int, alert_ids: Collection[int]) -> set[int]:
    """Return those of these alerts that a notifier was told of, or is to be, and not that they are settled."""
    was_told = select(ToldAlert.alert_id).where(
        ToldAlert.notifier_id == notifier_id,
        ToldAlert.alert_id.in_(alert_ids),
        ToldAlert.state.in_(OPEN_STATES),
    )
    is_to_be = select(NotifierNews.alert_id).where(
        NotifierNews.notifier_id == notifier_id, NotifierNews.alert_id.in_(alert_ids)
    )
    return set(session.scalars(union(was_told, is_to_be)))


def alerts_of_thread(session: Session, notification_id: int) -> list[int]:
    """Return the alerts that a message told of first, in id order."""
    query = select(ToldAlert.alert_id).where(ToldAlert.notification_id == notification_id)
    return list(session.scalars(query.order_by(ToldAlert.alert_id)))


def last_words(session: Session, alert_ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Return who moved or opened again each of these alerts last, and what they said."""
    rows = session.execute(
        select(AlertLog.alert_id, AlertLog.by, AlertLog.detail["comment"].astext)
        .where(AlertLog.alert_id.in_(alert_ids), AlertLog.what.in_((AlertEvent.MOVED, AlertEvent.REOPENED)))
        .order_by(AlertLog.id)
    )
    return {row[0]: (row[1], row[2] or "") for row in rows}


def unowned(session: Session, project_id: int, limit: int) -> Sequence[Alert]:
    """Return alerts that are news and of which nobody has looked whose they are."""
    is_news = exists().where(AlertLog.alert_id == Alert.id, AlertLog.is_news)
    query = select(Alert).where(Alert.project_id == project_id, Alert.owners.is_(None), is_news)
    return session.scalars(query.order_by(Alert.id).limit(limit)).all()


# --- messages ---


def due(session: Session) -> Sequence[int]:
    """Return the notifiers for which a message is to be made."""
    query = select(Notifier.id).where(Notifier.due_at <= func.clock_timestamp(), Notifier.paused_at.is_(None))
    return session.scalars(query.order_by(Notifier.due_at)).all()


def unsent(session: Session) -> Sequence[int]:
    """Return the notifiers for which a message waits that can be sent."""
    now = func.clock_timestamp()
    query = (
        select(Notifier.id)
        .join(Notification, Notification.notifier_id == Notifier.id)
        .where(
            Notification.state == SendState.WAITING,
            Notification.not_before <= now,
            Notifier.paused_at.is_(None),
            or_(Notifier.busy_until.is_(None), Notifier.busy_until <= now),
        )
    )
    return sorted(session.scalars(query.distinct()))


def next_message(session: Session, notifier_id: int) -> Notification | None:
    """Return the oldest message that waits to be sent to a notifier, due or not; a test goes before all others."""
    query = select(Notification).where(
        Notification.notifier_id == notifier_id, Notification.state == SendState.WAITING
    )
    is_other = Notification.kind != MessageKind.TEST
    return session.scalars(query.order_by(is_other, Notification.id).limit(1)).one_or_none()


def give_up_waiting(session: Session, why: str) -> int:
    """Note of every message that waits that it is not sent; return how many those were."""
    ids = session.scalars(
        update(Notification)
        .where(Notification.state == SendState.WAITING)
        .values(state=SendState.FAILED, error=why)
        .returning(Notification.id)
    )
    return len(ids.all())


def by_key(session: Session, key: str) -> Notification | None:
    """Return the message of this key, whichever notifier's."""
    return session.scalars(select(Notification).where(Notification.key == key)).one_or_none()


class Told(NamedTuple):
    """A message as a list has it: without what it says, which may be a page of megabytes."""

    notifier_id: int
    key: str
    thread: str
    kind: str
    title: str
    state: str
    attempts: int
    not_before: datetime
    error: str | None
    created_at: datetime
    sent_at: datetime | None


def latest(session: Session, notifier_ids: Collection[int], most: int) -> list[Told]:
    """Return the newest messages to these notifiers, so many of each."""
    rank = func.row_number().over(partition_by=Notification.notifier_id, order_by=Notification.id.desc())
    ranked = (
        select(Notification.id, rank.label("rank"))
        .where(Notification.notifier_id.in_(notifier_ids))
        .subquery()
    )
    query = (
        select(
            Notification.notifier_id,
            Notification.key,
            Notification.thread,
            Notification.kind,
            Notification.message["title"].astext,
            Notification.state,
            Notification.attempts,
            Notification.not_before,
            Notification.error,
            Notification.created_at,
            Notification.sent_at,
        )
        .join(ranked, ranked.c.id == Notification.id)
        .where(ranked.c.rank <= most)
    )
    return [Told(*row) for row in session.execute(query.order_by(Notification.id.desc()))]


def waiting_counts(session: Session, notifier_ids: Collection[int]) -> dict[int, int]:
    """Return how many messages wait to be sent to each of these notifiers."""
    rows = session.execute(
        select(Notification.notifier_id, func.count())
        .where(Notification.notifier_id.in_(notifier_ids), Notification.state == SendState.WAITING)
        .group_by(Notification.notifier_id)
    )
    return {row[0]: row[1] for row in rows}


def targets(session: Session, keys: Collection[str]) -> dict[str, Target]:
    """Return what the forge should say under these keys."""
    return {row.key: row for row in session.scalars(select(Target).where(Target.key.in_(keys)))}
