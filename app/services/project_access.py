"""Who may do what in a project, for those who administer it: people with a role there, and tokens bound to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.domain.errors import DataError, NotFoundError
from app.services.access import Principal, Role, Scope, issue_token
from app.services.change_user import set_role
from app.services.list_tokens import TokenFacts, list_tokens
from app.services.own_tokens import require_good
from app.services.revoke_token import revoke
from app.services.user_names import OURS, user_name, user_named
from app.services.visibility import visible_project
from app.store.repositories import access, clock, users
from app.store.tables import Project


@dataclass(frozen=True)
class Member:
    """A person with a role in the project; `github` is the login of the account there that is linked."""

    name: str
    display_name: str
    role: Role
    is_disabled: bool
    github: str | None


@dataclass(frozen=True)
class ProjectAccess:
    """The people who have a role in a project, by name, and its live tokens, the oldest first."""

    project: str
    members: tuple[Member, ...]
    tokens: tuple[TokenFacts, ...]


def administered_project(session: Session, principal: Principal, name: str) -> Project:
    """Return a project that the principal administers. Raises NotFoundError, and AccessError for one they only see."""
    project = visible_project(session, principal, name)
    principal.require(Scope.ADMIN, project.id)
    return project


def read_access(session: Session, principal: Principal, name: str) -> ProjectAccess:
    """Return who may do what in a project. Raises what `administered_project` raises."""
    project = administered_project(session, principal, name)
    return ProjectAccess(
        project=project.name,
        members=tuple(
            Member(user.name, user.display_name, Role(role), user.disabled_at is not None, login)
            for user, role, login in users.members(session, project.id)
        ),
        tokens=tuple(its for its in list_tokens(session, project_id=project.id) if its.state == "live"),
    )


def set_member(session: Session, principal: Principal, name: str, user: str, role: Role | None) -> None:
    """Give a person a role in a project, or take it with None.

    Raises NotFoundError for an unknown person, and what `administered_project` raises.
    """
    project = administered_project(session, principal, name)
    set_role(session, user_named(session, user), project, role, by=principal.name)


def issue_project_token(
    session: Session, principal: Principal, name: str, token: str, scopes: Collection[str], *, days: int
) -> str:
    """Store a token that is the project's, and return its text: the only time that it can be seen.

    Raises DataError where its name, scopes or time are not right, and what `administered_project` raises.
    """
    project = administered_project(session, principal, name)
    its_name, its_scopes = require_good(token, scopes, days)
    _require_nobodys(session, its_name)
    ends = clock.now(session) + timedelta(days=days)
    return issue_token(
        session, its_name, its_scopes, project_id=project.id, expires_at=ends, by=principal.name
    )


def _require_nobodys(session: Session, name: str) -> None:
    """Raise DataError where the name of a token is what somebody else is called who does something."""
    its = user_name(name)
    if "/" in its or its in OURS or users.named(session, its) is not None:
        raise DataError(f"“{name}” is what somebody else is called here: give the token another name.")


def revoke_project_token(session: Session, principal: Principal, name: str, public_id: str) -> None:
    """Revoke a token that is bound to a project. Raises NotFoundError, and what `administered_project` raises."""
    project = administered_project(session, principal, name)
    row = next(
        (its for its in access.tokens_that_begin(session, public_id) if its.public_id == public_id), None
    )
    if row is None or row.project_id != project.id:
        raise NotFoundError("the project has no such token")
    revoke(session, row, by=principal.name)
