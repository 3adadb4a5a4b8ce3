"""A project's schedules as people see them: when each is due next, and what followed the last time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.repositories import schedules


@dataclass(frozen=True)
class ScheduleLine:
    """A schedule that the settings have now; `outcome` None where it was not due yet, or is looked at just now."""

    name: str
    cron: str
    due_at: datetime
    last_at: datetime | None
    outcome: str | None
    check_id: int | None


def read_schedules(session: Session, project_id: int) -> tuple[ScheduleLine, ...]:
    """Return the schedules of the project's repository by name, in one statement."""
    return tuple(
        ScheduleLine(
            name=schedule.name,
            cron=schedule.cron,
            due_at=schedule.due_at,
            last_at=tick.planned_at if tick else None,
            outcome=tick.outcome if tick else None,
            check_id=tick.check_id if tick else None,
        )
        for schedule, tick in schedules.of_project(session, project_id)
        if schedule.due_at is not None
    )
