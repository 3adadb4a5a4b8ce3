"""Incidents of machines began or ended: note for each notifier of the projects that use them that it is to be told.

The sweep does so, and no message of the queue asks for it: nobody has to be told of a machine within seconds, and what
fails together, as a rack does, is to be told together.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy.orm import Session

from app.domain.notifications import kept_wishes
from app.services.notify.due import tell_soon
from app.services.notify.machine_items import concerned
from app.store.repositories import clock, incidents, notifications, restorations
from app.store.tables import Incident, Notifier

WINDOW = timedelta(seconds=30)
"""Agents of one rack are missed within a claim's wait and a sweep of each other."""


def plan_machines(session: Session) -> int:
    """Note what happened to machines for whoever is told of it; return how many incidents that were.

    Whoever was told that an incident began is told its end, whomever it concerns and whatever they want by then.
    """
    if restorations.is_observing(session):
        return 0
    found = incidents.of_ids(session, incidents.take_news(session))
    if not found:
        return 0
    now, of_project = clock.now(session), concerned(session, found)
    found_ids = [its.id for its in found]
    for notifier in notifications.of_all(session):
        begun = incidents.begun(session, notifier.id, found_ids)
        ids = begun.union(_wanted(notifier, of_project.get(notifier.project_id, ())))
        row = notifications.locked(session, notifier.id) if ids else None
        if row is not None:
            incidents.add_news(session, row.id, ids)
            tell_soon(session, row, now, window=WINDOW)
    return len(found)


def _wanted(notifier: Notifier, found: Iterable[Incident]) -> list[int]:
    """Return those of these incidents that a notifier may want to be told of."""
    if not kept_wishes(notifier.wishes).of_machines:
        return []
    return [its.id for its in found if (its.closed_at or its.opened_at) >= notifier.created_at]
