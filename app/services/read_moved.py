"""Which processors are not what they were: their control is off again and again, and they go on measuring."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.domain.incidents import IncidentKind
from app.reports.machine_words import seen_words
from app.services.quarantine import object_of
from app.store.repositories import incidents
from app.store.tables import Device


class Moved(NamedTuple):
    """A processor whose control is off again and again."""

    since: datetime
    why: str
    """A sentence without its full stop."""


def read_moved(session: Session, devices: Iterable[Device]) -> dict[int, Moved]:
    """Return those of these devices whose control is off again and again, by their ids."""
    found = {its.object: its for its in incidents.open_now(session, IncidentKind.MOVED)}
    return {
        device.id: Moved(its.opened_at, seen_words(its.detail))
        for device in devices
        if (its := found.get(object_of(device))) is not None
    }
