"""Who may do what: tokens are made, checked and revoked here; only their SHA-256 is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from app.domain.errors import AccessError
from app.store.repositories import access
from app.store.tables import Token

PREFIX = "ratchet"
SESSION_TTL = timedelta(days=14)
_NOTE_USE_EVERY = timedelta(minutes=1)


class Scope(StrEnum):
    """What a token may do."""

    ADMIN = "admin"
    RESULTS_WRITE = "results:write"
    RESULTS_READ = "results:read"
    JOBS_CREATE = "jobs:create"
    ALERTS_WRITE = "alerts:write"
    WORKER = "worker"
    WORKER_UNTRUSTED = "worker:untrusted"


_IMPLIED_BY = {
    Scope.RESULTS_READ: frozenset({Scope.ADMIN, Scope.JOBS_CREATE, Scope.ALERTS_WRITE}),
    Scope.ALERTS_WRITE: frozenset({Scope.ADMIN, Scope.JOBS_CREATE}),
    Scope.RESULTS_WRITE: frozenset({Scope.ADMIN}),
    Scope.JOBS_CREATE: frozenset({Scope.ADMIN}),
}
"""Scopes that include another: who may ask for a check may read what it found, and answer alerts.

Nobody works by implication."""


@dataclass(frozen=True)
class Principal:
    """Who is asking: a token by name, its scopes, and the one project it is bound to, if any."""

    token_id: int
    name: str
    scopes: frozenset[str]
    project_id: int | None

    def may(self, scope: Scope) -> bool:
        """Say whether this principal has the scope, or one that implies it."""
        return scope in self.scopes or bool(_IMPLIED_BY.get(scope, frozenset()) & self.scopes)

    def require(self, scope: Scope) -> None:
        """Raise AccessError unless the principal has the scope."""
        if not self.may(scope):
            raise AccessError(
                f"the token {self.name!r} lacks the scope {scope.value!r}; "
                f"it has {', '.join(sorted(self.scopes))}"
            )


FORGE = Principal(0, "github", frozenset((Scope.JOBS_CREATE,)), None)
"""Who asks for what the forge's messages ask for."""


def issue_token(session: Session, name: str, scopes: list[Scope], *, project_id: int | None = None) -> str:
    """Store a new token and return its text, `ratchet_ID_SECRET`: the only time that it can be seen."""
    public_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    row = Token(
        public_id=public_id,
        secret_sha256=_sha256(secret),
        name=name,
        scopes=[scope.value for scope in scopes],
        project_id=project_id,
    )
    access.add_token(session, row)
    access.audit(session, "service", "token.issued", name, id=public_id, scopes=row.scopes)
    return f"{PREFIX}_{public_id}_{secret}"


def principal_of_token(session: Session, text: str) -> Principal:
    """Return who presents this token. Raises AccessError, the same for unknown, expired, revoked and malformed."""
    parts = text.split("_")
    is_ours = len(parts) == 3 and parts[0] == PREFIX
    found = access.live_token(session, parts[1], noted_for=_NOTE_USE_EVERY) if is_ours else None
    row, is_noted = found or (None, False)
    presented = _sha256(parts[-1])
    stored = row.secret_sha256 if row else _sha256("")
    if not hmac.compare_digest(presented, stored) or row is None:
        raise AccessError(
            "the token is not valid here: give a live one as `Authorization: Bearer …` "
            "(RATCHET_TOKEN; `ratchet up` keeps the administrator's in DATA_DIR/admin-token)",
            code="unauthenticated",
        )
    if not is_noted:
        access.note_use(session, row)
    return _principal(row)


def sign_in(session: Session, token: str) -> str:
    """Return the cookie of a new browser session for whoever holds this token."""
    principal = principal_of_token(session, token)
    cookie = secrets.token_urlsafe(32)
    access.open_browser_session(session, _sha256(cookie), principal.token_id, SESSION_TTL)
    access.audit(session, principal.name, "browser.signed_in", principal.name)
    return cookie


def sign_out(session: Session, cookie: str) -> None:
    """End the browser session of this cookie."""
    access.close_browser_session(session, _sha256(cookie))


def principal_of_cookie(session: Session, cookie: str) -> Principal | None:
    """Return who is signed in with this cookie, or None."""
    row = access.token_of_browser(session, _sha256(cookie))
    return _principal(row) if row else None


def _principal(row: Token) -> Principal:
    return Principal(row.id, row.name, frozenset(row.scopes), row.project_id)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
