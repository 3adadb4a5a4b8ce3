"""New results of a project are announced: its series are examined soon. The message only says which project."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.pipeline import in_one_trip
from app.store.repositories import history, outbox
from app.store.wire import Statement

TOPIC = "series.examine"

TOGETHER_S = 1.0
"""How long results wait for others [s]: whoever posts one after the other has them looked at together.

So a project is examined once a second at the most, and not just while its results arrive.
"""

_BATCH = 10_000
"""Results of a release without histories that get their branch in one go."""


def announce_results(session: Session, project_id: int, *, delay_s: float = TOGETHER_S) -> None:
    """Have the project's series examined that have new results; a burst of posts leaves one message."""
    in_one_trip(session, announced(project_id, delay_s=delay_s))


def announced(project_id: int, *, delay_s: float = TOGETHER_S) -> Statement:
    """Return what does as `announce_results`. So does `postings.extending`, which finds the project's id by itself."""
    return outbox.renewed(TOPIC, f"{TOPIC}/{project_id}", {"project_id": project_id}, delay_s=delay_s)


def unexamined_series(session: Session, project_id: int, *, limit: int) -> Sequence[int]:
    """Return series of the project that have results nobody examined yet, in any order."""
    return history.due(session, project_id, limit)


def take_project(session: Session, project_id: int) -> bool:
    """Take the project for an examination until the transaction ends; False where another process has it."""
    return history.try_lock_project(session, project_id)


def find_unexamined(session: Session, settings: ServiceSettings) -> int:
    """Announce again what waits longer than a hint takes; return for how many projects.

    What a release without histories stored, as one does between the migration and its restart, is found here, too.
    """
    history.give_branches(session, _BATCH)
    age = timedelta(seconds=settings.hint_age_s)
    waiting = history.projects_due(session, older_than=age)
    for project_id in waiting:
        outbox.put_again(session, TOPIC, f"{TOPIC}/{project_id}", {"project_id": project_id}, sent_before=age)
    return len(waiting)
