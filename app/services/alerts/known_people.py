"""People who may be meant when somebody says whose an alert is."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.access import Principal
from app.store.repositories import alerts, users


def known_people(session: Session, principal: Principal, project_id: int) -> tuple[str, ...]:
    """Return who has an open alert of the project, and for a person also who has a role in it, by name.

    An owner may be anybody else, too. A token is not told who the people of a project are.
    """
    members = _members(session, project_id) if principal.is_person else set()
    return tuple(sorted(members | set(alerts.owners(session, [project_id]))))


def _members(session: Session, project_id: int) -> set[str]:
    return {user.name for user, _, _ in users.members(session, project_id) if user.disabled_at is None}
