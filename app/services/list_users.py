"""Which people may sign in, and what they may do; never a password."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.repositories import users


@dataclass(frozen=True)
class UserFacts:
    """One person; `roles` are by the project's name."""

    name: str
    display_name: str
    email: str | None
    is_admin: bool
    roles: dict[str, str]
    is_disabled: bool
    created_at: datetime


def list_users(session: Session) -> list[UserFacts]:
    """Return everyone by name, in two statements."""
    roles: dict[int, dict[str, str]] = defaultdict(dict)
    for user_id, project, role in users.all_roles(session):
        roles[user_id][project] = role
    return [
        UserFacts(
            name=user.name,
            display_name=user.display_name,
            email=user.email,
            is_admin=user.is_admin,
            roles=roles[user.id],
            is_disabled=user.disabled_at is not None,
            created_at=user.created_at,
        )
        for user in users.everyone(session)
    ]
