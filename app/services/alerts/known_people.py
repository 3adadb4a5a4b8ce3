"""People who may be meant when somebody says whose an alert is."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.store.repositories import alerts, users


def known_people(session: Session, project_id: int) -> tuple[str, ...]:
    """Return who has a role in the project, or an open alert of it, by name: an owner may be anybody else, too."""
    members = {user.name for user, _, _ in users.members(session, project_id) if user.disabled_at is None}
    return tuple(sorted(members | set(alerts.owners(session, [project_id]))))
