"""Look for what nobody reports: agents that fell silent, and classes that nobody serves though jobs wait for them.

After a time in which nobody watched, as the service was away or observed, agents have as long to be heard of as ever:
that they could not reach the service is not their fault.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.incidents import IncidentEnd, IncidentKind
from app.services.quarantine import note_earlier, note_ended
from app.services.read_health import SWEEP_LATE
from app.store.repositories import clock, fleet, incidents, restorations
from app.store.repositories.incidents import Silent
from app.store.tables import Worker

GAP = timedelta(seconds=60)
"""A longer time between two looks is one in which nobody watched, unless looks are that rare."""

FORGOTTEN_AFTER = timedelta(days=30)
"""An agent that was silent for so long is missed no more."""


def watch_fleet(session: Session, settings: ServiceSettings) -> None:
    """Open an incident for each agent that is missed and each class that nobody serves; close those that are over.

    What was put into quarantine, or taken out of it, by a release that notes no incidents is made up for here, too.
    """
    if restorations.is_observing(session):
        return
    note_earlier(session)
    note_ended(session)
    now = clock.now(session)
    gap = max(GAP, timedelta(seconds=SWEEP_LATE * settings.sweep_interval_s))
    is_settled = now - incidents.watched_since(session, now, gap=gap) >= settings.worker_live_for
    _agents(session, now, settings.worker_live_for, may_begin=is_settled)
    _classes(session, now, settings, may_begin=is_settled)


def _agents(session: Session, now: datetime, live_for: timedelta, *, may_begin: bool) -> None:
    silent = {
        f"worker/{its.worker.id}": its
        for its in incidents.silent_workers(session, before=now - live_for, after=now - FORGOTTEN_AFTER)
    }
    missed = {its.object for its in incidents.open_now(session, IncidentKind.LOST)}
    for object_ in sorted(missed - silent.keys()):
        incidents.end(session, IncidentKind.LOST, object_, _why_found(session, object_, now, live_for))
    for object_, its in silent.items():
        if may_begin and object_ not in missed:
            _miss(session, object_, its)


def _miss(session: Session, object_: str, its: Silent) -> None:
    devices = [device.hardware_id for device in its.devices]
    seen = {"last_seen_at": its.worker.last_seen_at.isoformat(), "host": its.worker.host, "devices": devices}
    classes = {device.device_class for device in its.devices}
    incidents.begin(session, IncidentKind.LOST, object_, name=its.worker.name, classes=classes, detail=seen)


def _why_found(session: Session, object_: str, now: datetime, live_for: timedelta) -> IncidentEnd:
    worker = session.get_one(Worker, int(object_.removeprefix("worker/")))
    if worker.last_seen_at > now - live_for or worker.left_at is not None:
        return IncidentEnd.HEARD
    is_forgotten = worker.last_seen_at <= now - FORGOTTEN_AFTER
    return IncidentEnd.FORGOTTEN if is_forgotten else IncidentEnd.TAKEN_OVER


def _classes(session: Session, now: datetime, settings: ServiceSettings, *, may_begin: bool) -> None:
    live = set(fleet.live_classes(session, within=settings.worker_live_for))
    waited_since = now - timedelta(seconds=settings.unserved_after_s)
    unserved = set(incidents.waiting_classes(session, before=waited_since)) - live
    told = {its.name for its in incidents.open_now(session, IncidentKind.UNSERVED)}
    for name in sorted(told - unserved):
        end = IncidentEnd.SERVED if name in live else IncidentEnd.NOTHING_WAITS
        incidents.end(session, IncidentKind.UNSERVED, f"class/{name}", end)
    for name in sorted(unserved - told) if may_begin else ():
        incidents.begin(session, IncidentKind.UNSERVED, f"class/{name}", name=name, classes=[name], detail={})
