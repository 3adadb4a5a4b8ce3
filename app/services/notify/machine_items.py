"""Incidents of machines as a message tells of them to a project, and which of them a project is told of."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.incidents import IncidentEnd, IncidentKind
from app.domain.notifications import MachineItem, What, Wishes
from app.reports import machine_words
from app.reports.machine_words import Told, Waiting
from app.store.repositories import clock, incidents
from app.store.tables import Incident, Notifier, ToldIncident

USED_WITHIN = timedelta(days=30)
"""A project uses a device class for which it had jobs in this time."""

Say = Sequence[tuple[Incident, What]]
"""Incidents, and what is said of each."""


def concerned(session: Session, found: Collection[Incident]) -> dict[int, list[Incident]]:
    """Return for each project the incidents of the classes that it uses, in their order."""
    classes = {name for its in found for name in its.classes}
    since = clock.now(session) - USED_WITHIN
    used: dict[int, set[str]] = defaultdict(set)
    for project_id, name in incidents.uses(session, classes, since=since) if classes else ():
        used[project_id].add(name)
    return {
        project_id: [its for its in found if not names.isdisjoint(its.classes)]
        for project_id, names in used.items()
    }


def what_to_say(
    its: Incident, told: ToldIncident | None, wishes: Wishes, *, came_and_went: bool = False
) -> What | None:
    """Return what is to be said of an incident; None where there is nothing new.

    Args:
        its: the incident.
        told: what was said of it; None where nothing was.
        wishes: who is told what.
        came_and_went: whether one is told that is over before anybody was told of it.
    """
    is_over = its.closed_at is not None
    if told is not None:
        return What.SETTLED if is_over and not told.is_over else None
    if not wishes.wants_incident(IncidentKind(its.kind), its.detail) or (is_over and not came_and_went):
        return None
    return What.SETTLED if is_over else What.NEW


def counted(say: Say) -> dict[str, dict[str, int]]:
    """Return how many incidents there are, by what is said and kind."""
    numbers = Counter((what, its.kind) for its, what in say)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for (what, kind), n in numbers.items():
        found[str(what)][kind] = n
    return dict(found)


def machine_items(
    session: Session, settings: ServiceSettings, notifier: Notifier, say: Say
) -> tuple[MachineItem, ...]:
    """Return what is said of each of these incidents to people of the notifier's project."""
    return tuple(_item(settings, its, what, _told(session, settings, notifier, its)) for its, what in say)


def _told(session: Session, settings: ServiceSettings, notifier: Notifier, its: Incident) -> Told:
    kind, waiting = IncidentKind(its.kind), Waiting()
    if kind is IncidentKind.UNSERVED and its.closed_at is None:
        waiting = Waiting(*incidents.waiting_of(session, notifier.project_id, its.name))
    return Told(
        kind=kind,
        object=its.object,
        name=its.name,
        classes=its.classes,
        detail=its.detail,
        ended_by=IncidentEnd(its.ended_by) if its.ended_by else None,
        waiting=waiting,
        queue_deadline_s=settings.queue_deadline_s,
    )


def _item(settings: ServiceSettings, its: Incident, what: What, told: Told) -> MachineItem:
    return MachineItem(
        incident=its.id,
        what=what,
        kind=told.kind,
        name=its.name,
        classes=tuple(its.classes),
        sentence=machine_words.sentence(told),
        meaning=machine_words.meaning(told),
        advice=machine_words.advice(told),
        opened_at=its.opened_at.isoformat(),
        url=machine_url(settings, its),
        closed_at=its.closed_at.isoformat() if its.closed_at else "",
        ended_by=its.ended_by or "",
    )


def machine_url(settings: ServiceSettings, its: Incident) -> str:
    """Return where people see what it is of: its place on the page of workers."""
    place = "" if its.kind == IncidentKind.UNSERVED else "#" + its.object.replace("/", "-")
    return f"{settings.address}/workers{place}"
