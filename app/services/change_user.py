"""People get other passwords and roles, and are shut out; each of it is in the audit log.

Shutting somebody out and a new password end all sessions of theirs at once. Tokens of somebody who is shut out open
nothing.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.access import Role
from app.services.passwords import hash_password
from app.services.user_names import user_named
from app.store.repositories import access, browsers, clock, users
from app.store.tables import Project, User


def set_password(session: Session, user: User, password: str, *, by: str) -> None:
    """Give a person another password, and end their sessions. Raises DataError for a bad one."""
    user.password_hash = hash_password(password, name=user.name)
    ended = browsers.end_of_user(session, user.id)
    access.audit(session, by, "user.password_set", user.name, sessions_ended=ended)


def disable_user(session: Session, name: str, *, by: str = "service") -> int:
    """Shut a person out; return how many sessions that ended. Raises NotFoundError."""
    user = user_named(session, name)
    user.disabled_at = user.disabled_at or clock.now(session)
    ended = browsers.end_of_user(session, user.id)
    access.audit(session, by, "user.disabled", user.name, sessions_ended=ended)
    return ended


def enable_user(session: Session, name: str, *, by: str = "service") -> None:
    """Let a person in again who was shut out. Raises NotFoundError."""
    user = user_named(session, name)
    user.disabled_at = None
    access.audit(session, by, "user.enabled", user.name)


def set_role(session: Session, user: User, project: Project, role: Role | None, *, by: str) -> None:
    """Give a person a role in a project, or take it with None."""
    before, after = users.role_in(session, user.id, project.id), role.value if role else None
    users.set_role(session, user.id, project.id, after)
    access.audit(session, by, "user.role_set", user.name, project=project.name, before=before, after=after)


def set_admin(session: Session, user: User, *, is_admin: bool, by: str) -> None:
    """Make a person an administrator of the installation, or none."""
    before, after = ("admin" if flag else None for flag in (user.is_admin, is_admin))
    user.is_admin = is_admin
    access.audit(session, by, "user.role_set", user.name, project=None, before=before, after=after)
