"""Incidents of machines: what is open, whom it concerns, and who was told of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import delete, exists, func, select, text, union, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.incidents import IncidentEnd, IncidentKind
from app.domain.jobs import JobState
from app.store.repositories.fleet import TENDED
from app.store.tables import Device, Incident, IncidentNews, Job, ToldIncident, Watermark, Worker

WATCHED, WATCHED_FROM = "fleet.watched", "fleet.watched_from"

# --- what is open ---


def begin(
    session: Session,
    kind: IncidentKind,
    object_: str,
    *,
    name: str,
    classes: Collection[str],
    detail: dict[str, Any],
    since: datetime | None = None,
) -> None:
    """Open an incident, unless one of this kind is open of the same object; `since` is when it began, None for now."""
    its = {"kind": kind, "object": object_, "name": name, "classes": sorted(classes), "detail": detail}
    statement = insert(Incident).values(**its, opened_at=since or func.clock_timestamp())
    is_open = text("closed_at is null")
    session.execute(statement.on_conflict_do_nothing(index_elements=["object", "kind"], index_where=is_open))


def end(session: Session, kind: IncidentKind, object_: str, ended_by: IncidentEnd) -> None:
    """Close the open incident of this kind and object, if there is one."""
    session.execute(
        update(Incident)
        .where(Incident.kind == kind, Incident.object == object_, Incident.closed_at.is_(None))
        .values(closed_at=func.clock_timestamp(), ended_by=ended_by, is_news=True)
    )


def open_now(session: Session, kind: IncidentKind | None = None) -> Sequence[Incident]:
    """Return what is open, of this kind or of any, the oldest first."""
    query = select(Incident).where(Incident.closed_at.is_(None)).order_by(Incident.id)
    return session.scalars(query if kind is None else query.where(Incident.kind == kind)).all()


def of_ids(session: Session, ids: Collection[int]) -> Sequence[Incident]:
    """Return these incidents, the oldest first."""
    return session.scalars(select(Incident).where(Incident.id.in_(ids)).order_by(Incident.id)).all()


# --- what the watch looks at ---


def devices_without(session: Session, kind: IncidentKind, health: str) -> Sequence[Device]:
    """Lock and return the devices in this health of which no incident of this kind is open, in id order.

    One that somebody else holds just now is left out.
    """
    is_noted = exists().where(
        Incident.object == func.concat("device/", Device.id),
        Incident.kind == kind,
        Incident.closed_at.is_(None),
    )
    query = select(Device).where(Device.health == health, ~is_noted).order_by(Device.id)
    locked = query.with_for_update(skip_locked=True).execution_options(populate_existing=True)
    return session.scalars(locked).all()


def devices_over(session: Session, kind: IncidentKind, health: str) -> Sequence[Device]:
    """Return the devices of which an incident of this kind is open, and that are in another health, in id order."""
    noted = func.concat("device/", Device.id) == Incident.object
    query = select(Device).join(Incident, noted).where(Incident.kind == kind, Incident.closed_at.is_(None))
    return session.scalars(query.where(Device.health != health).order_by(Device.id)).all()


def watched_since(session: Session, now: datetime, *, gap: timedelta) -> datetime:
    """Note that the fleet is watched now; return since when it was without such a gap."""
    query = select(Watermark.name, Watermark.at).where(Watermark.name.in_((WATCHED, WATCHED_FROM)))
    known = {row[0]: row[1] for row in session.execute(query)}
    last, since = known.get(WATCHED), known.get(WATCHED_FROM)
    if last is None or since is None or now - last > gap:
        since = now
    for name, at in ((WATCHED, now), (WATCHED_FROM, since)):
        statement = insert(Watermark).values(name=name, at=at)
        session.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"at": at}))
    return since


class Silent(NamedTuple):
    """A worker that was not heard of, and its devices."""

    worker: Worker
    devices: list[Device]


def silent_workers(session: Session, *, before: datetime, after: datetime) -> list[Silent]:
    """Return the workers with devices that were last heard of in between and did not sign off, in id order."""
    rows = session.execute(
        select(Worker, Device)
        .join(Device, Device.worker_id == Worker.id)
        .where(
            Worker.last_seen_at <= before,
            Worker.last_seen_at > after,
            Worker.left_at.is_(None),
            Device.health.in_(TENDED),
            Device.kind != "unknown",
        )
        .order_by(Worker.id, Device.id)
    )
    found: dict[int, Silent] = {}
    for worker, device in rows:
        found.setdefault(worker.id, Silent(worker, [])).devices.append(device)
    return list(found.values())


def waiting_classes(session: Session, *, before: datetime) -> list[str]:
    """Return the device classes for which jobs wait that were made before then, and that any device may do."""
    query = select(Job.device_class).where(*_WAITS, Job.created_at < before)
    return sorted(session.scalars(query.distinct()))


_WAITS = (Job.state == JobState.QUEUED, Job.device_id.is_(None))


# --- whom it concerns ---


def uses(session: Session, classes: Collection[str], *, since: datetime) -> set[tuple[int, str]]:
    """Return which projects had jobs for which of these classes since then: project and class."""
    rows = session.execute(
        select(Job.project_id, Job.device_class)
        .where(Job.device_class.in_(classes), Job.device_id.is_(None), Job.created_at > since)
        .distinct()
    )
    return {(row[0], row[1]) for row in rows}


def waiting_of(session: Session, project_id: int, device_class: str) -> tuple[int, float]:
    """Return how many of the project's jobs wait for this class, and for how long the oldest has [s]."""
    age = func.extract("epoch", func.clock_timestamp() - func.min(Job.created_at))
    its = Job.project_id == project_id, Job.device_class == device_class
    n, oldest_s = session.execute(select(func.count(), age).where(*_WAITS, *its)).one()
    return int(n), float(oldest_s or 0.0)


# --- who is told ---


def take_news(session: Session) -> list[int]:
    """Return the incidents that began or ended and that nobody has looked at; they are no news any more."""
    taken = update(Incident).where(Incident.is_news).values(is_news=False).returning(Incident.id)
    return sorted(session.scalars(taken))


def add_news(session: Session, notifier_id: int, incident_ids: Collection[int]) -> None:
    """Note incidents of which a notifier may have to be told."""
    rows = [{"notifier_id": notifier_id, "incident_id": incident_id} for incident_id in sorted(incident_ids)]
    if rows:
        session.execute(insert(IncidentNews).on_conflict_do_nothing(), rows)


def news_of(session: Session, notifier_id: int) -> list[int]:
    """Return the incidents of which a notifier may have to be told, in id order."""
    query = select(IncidentNews.incident_id).where(IncidentNews.notifier_id == notifier_id)
    return list(session.scalars(query.order_by(IncidentNews.incident_id)))


def drop_news(session: Session, notifier_id: int, incident_ids: Collection[int]) -> None:
    """Forget incidents of which a notifier was told, or need not be."""
    its = IncidentNews.notifier_id == notifier_id, IncidentNews.incident_id.in_(incident_ids)
    session.execute(delete(IncidentNews).where(*its))


def told(session: Session, notifier_id: int, incident_ids: Collection[int]) -> dict[int, ToldIncident]:
    """Return what a notifier was told of each of these incidents."""
    its = ToldIncident.notifier_id == notifier_id, ToldIncident.incident_id.in_(incident_ids)
    return {row.incident_id: row for row in session.scalars(select(ToldIncident).where(*its))}


def begun(session: Session, notifier_id: int, incident_ids: Collection[int]) -> set[int]:
    """Return those of these incidents that a notifier was told of, or is to be, and whose end it was not told."""
    was_told = select(ToldIncident.incident_id).where(
        ToldIncident.notifier_id == notifier_id,
        ToldIncident.incident_id.in_(incident_ids),
        ~ToldIncident.is_over,
    )
    is_to_be = select(IncidentNews.incident_id).where(
        IncidentNews.notifier_id == notifier_id, IncidentNews.incident_id.in_(incident_ids)
    )
    return set(session.scalars(union(was_told, is_to_be)))


def of_thread(session: Session, notification_id: int) -> Sequence[Incident]:
    """Return the incidents that a message told of first, the oldest first."""
    query = select(Incident).join(ToldIncident, ToldIncident.incident_id == Incident.id)
    return session.scalars(
        query.where(ToldIncident.notification_id == notification_id).order_by(Incident.id)
    ).all()
