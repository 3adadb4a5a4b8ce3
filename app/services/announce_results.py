"""New results of a project are announced: its series are examined soon. The message only says which project."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.repositories import history, outbox

TOPIC = "series.examine"


def announce_results(session: Session, project_id: int) -> None:
    """Have the project's series examined that have new results; a burst of posts leaves one message."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{project_id}", {"project_id": project_id})


def unexamined_series(session: Session, project_id: int, *, limit: int) -> Sequence[int]:
    """Return series of the project that have results nobody examined yet."""
    return history.due(session, project_id, limit)


def find_unexamined(session: Session, settings: ServiceSettings) -> int:
    """Announce again what waits longer than a hint takes; return for how many projects."""
    age = timedelta(seconds=settings.hint_age_s)
    waiting = history.projects_due(session, older_than=age)
    for project_id in waiting:
        outbox.put_again(session, TOPIC, f"{TOPIC}/{project_id}", {"project_id": project_id}, sent_before=age)
    return len(waiting)
