"""Which people may sign in, and what they may do; never a password."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.repositories import github_accounts, users
from app.store.tables import GitHubAccount, User


@dataclass(frozen=True)
class UserFacts:
    """One person; `roles` are by the project's name, `github` is the login of the account there that is linked."""

    name: str
    display_name: str
    email: str | None
    is_admin: bool
    roles: dict[str, str]
    is_disabled: bool
    has_password: bool
    github: str | None
    github_id: int | None
    created_at: datetime


def list_users(session: Session) -> list[UserFacts]:
    """Return everyone by name, in three statements."""
    roles: dict[int, dict[str, str]] = defaultdict(dict)
    for user_id, project, role in users.all_roles(session):
        roles[user_id][project] = role
    linked = {its.user_id: its for its in github_accounts.everyone(session)}
    return [_facts(user, roles[user.id], linked.get(user.id)) for user in users.everyone(session)]


def _facts(user: User, roles: dict[str, str], linked: GitHubAccount | None) -> UserFacts:
    return UserFacts(
        name=user.name,
        display_name=user.display_name,
        email=user.email,
        is_admin=user.is_admin,
        roles=roles,
        is_disabled=user.disabled_at is not None,
        has_password=user.password_hash is not None,
        github=linked.login if linked else None,
        github_id=linked.github_id if linked else None,
        created_at=user.created_at,
    )
