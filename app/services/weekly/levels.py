"""The levels of all series in a report's week and in the one before: what most of its sections begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.week import Week
from app.domain.weekly import Level
from app.services.weekly.scope import Scope
from app.store.repositories import weekly


@dataclass(frozen=True)
class Weeks:
    """A report's week with the level of every series that has points of it, and of the week `before`."""

    week: Week
    levels: Mapping[int, Level]
    before: Mapping[int, Level]


def read_levels(session: Session, scope: Scope, week: Week) -> Weeks:
    """Return the levels of a week and of the one before."""
    ids = scope.project_ids
    return Weeks(week, weekly.levels(session, ids, week), weekly.levels(session, ids, week.before()))
