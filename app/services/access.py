"""Who may do what: scopes, the roles of people, and the tokens that programs show; only their SHA-256 is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache

from sqlalchemy.orm import Session

from app.domain.errors import AccessError
from app.store.repositories import access, users
from app.store.repositories.access import LiveToken, PresentedToken
from app.store.tables import Token, User

PREFIX = "ratchet"
NOTE_USE_EVERY = timedelta(minutes=1)
"""How exact it is kept when a token or a session was used last."""


class Scope(StrEnum):
    """What a token may do."""

    ADMIN = "admin"
    RESULTS_WRITE = "results:write"
    RESULTS_READ = "results:read"
    JOBS_CREATE = "jobs:create"
    ALERTS_WRITE = "alerts:write"
    NOTIFIERS_WRITE = "notifiers:write"
    WORKER = "worker"
    WORKER_UNTRUSTED = "worker:untrusted"


_IMPLIED_BY = {
    Scope.RESULTS_READ: frozenset(
        {Scope.ADMIN, Scope.JOBS_CREATE, Scope.ALERTS_WRITE, Scope.NOTIFIERS_WRITE}
    ),
    Scope.NOTIFIERS_WRITE: frozenset({Scope.ADMIN}),
    Scope.ALERTS_WRITE: frozenset({Scope.ADMIN, Scope.JOBS_CREATE}),
    Scope.RESULTS_WRITE: frozenset({Scope.ADMIN}),
    Scope.JOBS_CREATE: frozenset({Scope.ADMIN}),
}
"""Scopes that include another: who may ask for a check may read what it found, and answer alerts.

Nobody works by implication."""


class Role(StrEnum):
    """What a person is in a project, the lesser before the greater."""

    VIEWER = "viewer"
    MAINTAINER = "maintainer"
    ADMIN = "admin"


SCOPES_OF: Mapping[Role, frozenset[str]] = {
    Role.VIEWER: frozenset({Scope.RESULTS_READ}),
    Role.MAINTAINER: frozenset(
        {
            Scope.RESULTS_READ,
            Scope.JOBS_CREATE,
            Scope.ALERTS_WRITE,
            Scope.RESULTS_WRITE,
            Scope.NOTIFIERS_WRITE,
        }
    ),
    Role.ADMIN: frozenset({Scope.ADMIN}),
}
"""What people may do in the projects that they have a role in."""


def including(scope: Scope) -> tuple[str, ...]:
    """Return the scopes that are this one or imply it."""
    return (scope, *sorted(_IMPLIED_BY.get(scope, frozenset())))


def includes(scopes: frozenset[str], scope: str) -> bool:
    """Say whether the scopes have this one, or one that implies it."""
    return scope in scopes or bool(_IMPLIED_BY.get(Scope(scope), frozenset()) & scopes)


@dataclass(frozen=True)
class Principal:
    """Who is asking, and what they may do: in every project, and in single ones.

    It is a person, a token, or a token of a person's (`user_id` and `token_id`), which may do no more than the person.
    """

    name: str
    everywhere: frozenset[str] = frozenset()
    projects: Mapping[int, frozenset[str]] = field(default_factory=dict)
    token_id: int | None = None
    user_id: int | None = None

    @property
    def is_person(self) -> bool:
        """Whether somebody asks who signed in by name, and no program."""
        return self.user_id is not None and self.token_id is None

    def may(self, scope: Scope, project_id: int | None = None) -> bool:
        """Say whether this principal has the scope, or one that implies it: in this project, or else in any."""
        if includes(self.everywhere, scope):
            return True
        wanted = (
            self.projects.values() if project_id is None else [self.projects.get(project_id, frozenset())]
        )
        return any(includes(its, scope) for its in wanted)

    def require(self, scope: Scope, project_id: int | None = None) -> None:
        """Raise AccessError unless the principal has the scope: in this project, or else in any."""
        if not self.may(scope, project_id):
            raise AccessError(self._lacks(scope, "here" if project_id is not None else "in any project"))

    def require_for(self, scope: Scope, project_id: int, name: str) -> None:
        """Raise AccessError unless the principal has the scope in the project; the same where there is none."""
        if not self.may(scope, project_id):
            raise AccessError(
                f"{self.name!r} has no role in a project {name!r} that allows this"
                if self.is_person
                else f"the token {self.name!r} is bound to another project than {name!r}"
            )

    def where(self, scope: Scope) -> frozenset[int] | None:
        """Return the projects in which the principal has the scope; None for all."""
        if includes(self.everywhere, scope):
            return None
        return frozenset(id_ for id_, its in self.projects.items() if includes(its, scope))

    def _lacks(self, scope: Scope, where: str) -> str:
        if self.is_person:
            role = next((role for role in Role if includes(SCOPES_OF[role], scope)), None)
            takes = f"the role {role.value}, which {self.name!r} does not have {where}" if role else "a token"
            return f"this takes {takes}"
        has = sorted(self.everywhere.union(*self.projects.values()))
        return f"the token {self.name!r} lacks the scope {scope.value!r}; it has {', '.join(has) or 'none'}"

    def reading_all(self) -> Principal:
        """Return the principal as one who may also read what everyone may."""
        return replace(self, everywhere=self.everywhere | {Scope.RESULTS_READ})


FORGE = Principal("github", frozenset({Scope.JOBS_CREATE}))
"""Who asks for what the forge's messages ask for."""


def issue_token(
    session: Session,
    name: str,
    scopes: Iterable[Scope],
    *,
    project_id: int | None = None,
    user_id: int | None = None,
    expires_at: datetime | None = None,
    by: str = "service",
) -> str:
    """Store a new token and return its text, `ratchet_ID_SECRET`: the only time that it can be seen.

    Args:
        session: the session.
        name: what it is called wherever it did something.
        scopes: what it may do.
        project_id: the one project that it is bound to; None for all.
        user_id: whose it is; None for one of the installation's.
        expires_at: when it ends by itself; None for never.
        by: who issues it.
    """
    public_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    row = Token(
        public_id=public_id,
        secret_sha256=digest(secret),
        name=name,
        scopes=[scope.value for scope in scopes],
        project_id=project_id,
        user_id=user_id,
        expires_at=expires_at,
    )
    access.add_token(session, row)
    access.audit(session, by, "token.issued", name, id=public_id, scopes=row.scopes)
    return f"{PREFIX}_{public_id}_{secret}"


def principal_of_token(session: Session, text: str) -> Principal:
    """Return who presents this token. Raises AccessError, the same for unknown, expired, revoked and malformed."""
    return presenting(session, text)()


def presenting(session: Session, text: str) -> Callable[[], Principal]:
    """Look for the token with the session's next trip, and return what does as `principal_of_token` then.

    Raises AccessError at once for what is no token of ours.
    """
    shown = presented_token(text)
    found = access.live_token(session, shown.public_id, noted_for=NOTE_USE_EVERY)

    @cache
    def principal() -> Principal:
        row = found()
        stored = row.secret_sha256 if row else digest("")
        if not hmac.compare_digest(shown.secret_sha256, stored) or row is None:
            raise _not_valid()
        if not row.is_noted:
            access.note_use(session, row.id)
        return principal_of(session, row)

    return principal


def presented_token(text: str) -> PresentedToken:
    """Return the token as it is looked for. Raises AccessError for what is no token of ours."""
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != PREFIX:
        raise _not_valid()
    return PresentedToken(parts[1], digest(parts[2]))


def _not_valid() -> AccessError:
    return AccessError(
        "the token is not valid here: give a live one as `Authorization: Bearer …` "
        "(RATCHET_TOKEN; `ratchet up` keeps the administrator's in DATA_DIR/admin-token)",
        code="unauthenticated",
    )


def is_issued(session: Session, text: str) -> bool:
    """Say whether this token was issued here, be it live or not: one of another database opens nothing."""
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != PREFIX:
        return False
    stored = access.secret_of_token(session, parts[1])
    return stored is not None and hmac.compare_digest(digest(parts[-1]), stored)


def principal_of(session: Session, row: Token | LiveToken) -> Principal:
    """Return who shows this token: itself, or where it is a person's, the person as far as it goes."""
    scopes = frozenset(row.scopes)
    if row.user_id is None:
        if row.project_id is None:
            return Principal(row.name, everywhere=scopes, token_id=row.id)
        return Principal(row.name, projects={row.project_id: scopes}, token_id=row.id)
    person = principal_of_user(session, users.one(session, row.user_id))
    assert row.project_id is not None
    allowed = frozenset(scope for scope in scopes if person.may(Scope(scope), row.project_id))
    name = f"{person.name}/{row.name}"
    return Principal(name, projects={row.project_id: allowed}, token_id=row.id, user_id=row.user_id)


def principal_of_user(session: Session, user: User) -> Principal:
    """Return a person as the one who asks, with what their roles allow just now."""
    everywhere = frozenset({Scope.ADMIN}) if user.is_admin else frozenset()
    roles = users.roles(session, user.id)
    projects = {its.project_id: SCOPES_OF[Role(its.role)] for its in roles}
    return Principal(user.name, everywhere, projects, user_id=user.id)


def digest(text: str) -> str:
    """Return the SHA-256 by which a secret is known again, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
