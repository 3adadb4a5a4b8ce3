"""The messages of machines as rows: what is said of incidents, stored with what the notifier knows from then on."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.notifications import FEW, Message, MessageKind, What
from app.reports.notifications.titles import machines_title
from app.services.notify.machine_items import Say, counted, machine_items
from app.store.repositories import notifications
from app.store.tables import Notification, Notifier, ToldIncident


def machines_message(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    now: datetime,
    *,
    most: int = FEW,
) -> Message:
    """Return what is said of these incidents: how many of each kind, and the first few; what is over comes last."""
    project = notifications.project_of(session, notifier).name
    first = sorted(say, key=lambda its: (its[1] is What.SETTLED, its[0].id))[:most]
    told, counts = machine_items(session, settings, notifier, first), counted(say)
    return Message(
        kind=MessageKind.MACHINES,
        project=project,
        title=machines_title(project, counts, told),
        url=told[0].url if len(say) == 1 else f"{settings.address}/workers",
        at=now.isoformat(),
        machines=told,
        machine_counts=counts,
    )


def note_told_machines(
    session: Session,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldIncident],
    row: Notification | None,
) -> None:
    """Note what the notifier knows of each incident from now on; `row` is the message that those begin with."""
    for its, _ in say:
        known = told.get(its.id)
        if known is None:
            known = ToldIncident(notifier_id=notifier.id, incident_id=its.id, notification_id=row and row.id)
            session.add(known)
        known.is_over = its.closed_at is not None
    session.flush()
