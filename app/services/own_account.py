"""A person's own account: who they are, what they may do, where they are signed in, and their password."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import AccessError, ConflictError, DataError, NotFoundError
from app.services.access import Principal, Scope, digest
from app.services.change_user import set_password
from app.services.github_accounts import unlink_account
from app.services.own_tokens import GIVEN
from app.services.passwords import is_password
from app.services.sign_in import Browser, begin_session
from app.services.throttle import forget_attempts
from app.store.repositories import access, browsers, github_accounts, projects, users
from app.store.repositories.users import ProjectRole
from app.store.tables import User


@dataclass(frozen=True)
class OwnSession:
    """A browser that is signed in; `is_this` is the one that asks. `seen_at` is exact to a minute."""

    number: int
    address: str
    agent: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    is_this: bool


@dataclass(frozen=True)
class OwnToken:
    """A live token of a person's."""

    id: int
    public_id: str
    name: str
    project: str
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True)
class OwnGitHub:
    """The account on GitHub that a person signs in with; `by_organization` while it is in one that lets it in."""

    id: int
    login: str
    by_organization: bool
    linked_at: datetime


@dataclass(frozen=True)
class Account:
    """A person with all that their page shows.

    `token_projects` are those that a token may be for, and `token_scopes` what one of any of them may do.
    """

    name: str
    display_name: str
    email: str | None
    is_admin: bool
    roles: tuple[ProjectRole, ...]
    sessions: tuple[OwnSession, ...]
    tokens: tuple[OwnToken, ...]
    has_password: bool
    github: OwnGitHub | None
    token_projects: tuple[str, ...]
    token_scopes: tuple[str, ...]


def read_account(
    session: Session, person: Principal, settings: ServiceSettings, cookie: str | None
) -> Account:
    """Return the account of a person who asks with this cookie."""
    user = _user(session, person)
    this = digest(cookie) if cookie else ""
    its = github_accounts.of_user(session, user.id)
    return Account(
        name=user.name,
        display_name=user.display_name,
        email=user.email,
        is_admin=user.is_admin,
        roles=tuple(users.roles(session, user.id)),
        sessions=tuple(
            OwnSession(
                row.number,
                row.address,
                row.agent,
                row.created_at,
                row.seen_at,
                row.expires_at,
                row.cookie_sha256 == this,
            )
            for row in browsers.of_user(session, user.id, idle=settings.session_idle)
        ),
        tokens=tuple(
            OwnToken(
                row.id,
                row.public_id,
                row.name,
                project,
                tuple(row.scopes),
                row.created_at,
                row.last_used_at,
                row.expires_at,
            )
            for row, project in access.tokens_of_user(session, user.id)
        ),
        has_password=user.password_hash is not None,
        github=OwnGitHub(its.github_id, its.login, its.by_organization, its.linked_at) if its else None,
        token_projects=tuple(projects.names(session, project_ids=person.where(Scope.RESULTS_READ))),
        token_scopes=tuple(scope.value for scope in GIVEN if person.may(scope)),
    )


def administered_projects(session: Session, principal: Principal) -> frozenset[str]:
    """Return the names of the projects that the principal administers."""
    return frozenset(projects.names(session, project_ids=principal.where(Scope.ADMIN)))


def change_password(
    session: Session, settings: ServiceSettings, person: Principal, old: str, new: str, browser: Browser
) -> str:
    """Give a person another password and end all sessions of theirs; return the cookie of a new one.

    The caller has had the attempt counted, as for signing in; who tries at the same time waits for that.
    Raises AccessError where `old` is not their password, DataError for a `new` one that is none.
    """
    user = _user(session, person)
    if not is_password(user.password_hash, old):
        raise AccessError("That is not your password just now; nothing was changed.")
    if old == new:
        raise DataError("The new password is the old one; nothing was changed.")
    set_password(session, user, new, by=person.name)
    forget_attempts(session, user.name, browser.address)
    return begin_session(session, settings, user, browser)


def end_own_session(session: Session, person: Principal, number: int) -> None:
    """End a session of a person's. Raises NotFoundError for one that is none of theirs."""
    if not browsers.end_of_user(session, _user(session, person).id, number=number):
        raise NotFoundError("there is no such session of yours")
    access.audit(session, person.name, "browser.ended", person.name, sessions_ended=1)


def end_other_sessions(session: Session, person: Principal, cookie: str) -> None:
    """End all sessions of a person's but the one of this cookie."""
    ended = browsers.end_of_user(session, _user(session, person).id, but=digest(cookie))
    access.audit(session, person.name, "browser.ended", person.name, sessions_ended=ended)


def may_link(session: Session, person: Principal) -> None:
    """Raise ConflictError where a person has an account on GitHub that is linked already."""
    its = github_accounts.of_user(session, _user(session, person).id)
    if its is not None:
        raise ConflictError(f"“{its.login}” is linked already; unlink it first.")


def unlink_own(session: Session, person: Principal, cookie: str) -> None:
    """Have a person's account on GitHub open nothing any more, and end all sessions but the one of this cookie.

    Raises NotFoundError where they have none, ConflictError where they have no other way to sign in.
    """
    user = _user(session, person)
    if user.password_hash is None and github_accounts.of_user(session, user.id) is not None:
        raise ConflictError(
            "You have no password, and could not sign in any more. An administrator gives you one: "
            f"ratchet user set-password {user.name}"
        )
    unlink_account(session, user, by=person.name, but=digest(cookie))


def _user(session: Session, person: Principal) -> User:
    if person.user_id is None or not person.is_person:
        raise AccessError("this page is for people who signed in by name, and a token did")
    return users.one(session, person.user_id)
