"""Browsers sign in, by name and password or with a token, and out: each has a session that only its cookie names.

An unknown name and a wrong password are answered the same, after the same time.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import AccessError
from app.services.access import (
    NOTE_USE_EVERY,
    Principal,
    Scope,
    digest,
    principal_of,
    principal_of_token,
    principal_of_user,
)
from app.services.passwords import hash_password, is_outdated, is_password
from app.services.throttle import forget_attempts
from app.services.user_names import NAME, user_name
from app.store.repositories import access, browsers, clock, users
from app.store.tables import BrowserSession, User

LONGEST_AGENT = 300
"""Characters that are kept of what a browser says that it is."""


@dataclass(frozen=True)
class Browser:
    """Where a session begins: the address, what the browser says that it is, and the cookie that it had."""

    address: str = ""
    agent: str = ""
    cookie: str | None = None


def sign_in_by_token(session: Session, settings: ServiceSettings, token: str, browser: Browser) -> str | None:
    """Return the cookie of a new session for whoever holds this token; None for one that is not valid.

    The caller has had the attempt counted (`throttle.count_attempt`), and committed that. Raises AccessError for a
    valid token that may not read.
    """
    try:
        principal = principal_of_token(session, token)
    except AccessError:
        access.audit(session, "unknown", "browser.refused", "unknown", address=browser.address, by="token")
        return None
    forget_attempts(session, None, browser.address)
    if not principal.may(Scope.RESULTS_READ):
        raise AccessError(
            f"The token “{principal.name}” may not read results; use one with the scope results:read."
        )
    access.audit(
        session, principal.name, "browser.signed_in", principal.name, address=browser.address, by="token"
    )
    return _begin(session, settings, browser, token_id=principal.token_id)


def sign_in_by_password(
    session: Session, settings: ServiceSettings, name: str, password: str, browser: Browser
) -> str | None:
    """Return the cookie of a new session for the person of this name; None where name or password is wrong.

    The caller has had the attempt counted (`throttle.count_attempt`), and committed that.
    """
    its_name = user_name(name)
    user = users.named(session, its_name) if NAME.fullmatch(its_name) else None
    verified = user.password_hash if user else None
    is_right = is_password(verified, password)
    if is_right:
        forget_attempts(session, its_name, browser.address)
    # To look at a password takes long: a new one may have come meanwhile, and have ended the sessions that there were.
    if user is None or not is_right or not users.still_has(session, user, verified):
        known = user.name if user else "unknown"
        access.audit(session, known, "browser.refused", known, address=browser.address, by="password")
        return None
    if verified and is_outdated(verified):
        user.password_hash = hash_password(password, name=user.name)
    access.audit(session, user.name, "browser.signed_in", user.name, address=browser.address, by="password")
    return begin_session(session, settings, user, browser)


def begin_session(session: Session, settings: ServiceSettings, user: User, browser: Browser) -> str:
    """Return the cookie of a new session of a person; the one that the browser had ends."""
    return _begin(session, settings, browser, user_id=user.id)


def _begin(
    session: Session,
    settings: ServiceSettings,
    browser: Browser,
    *,
    token_id: int | None = None,
    user_id: int | None = None,
) -> str:
    if browser.cookie:
        browsers.end(session, digest(browser.cookie))
    cookie = secrets.token_urlsafe(32)
    row = BrowserSession(
        cookie_sha256=digest(cookie),
        token_id=token_id,
        user_id=user_id,
        address=browser.address,
        agent=browser.agent[:LONGEST_AGENT],
        expires_at=clock.now(session) + settings.session_ttl,
    )
    browsers.begin(session, row)
    return cookie


def sign_out(session: Session, cookie: str) -> None:
    """End the session of this cookie."""
    browsers.end(session, digest(cookie))


def principal_of_cookie(session: Session, cookie: str, *, idle: timedelta) -> Principal | None:
    """Return who is signed in with this cookie, None where its session has ended or was not used for so long."""
    cookie_sha256 = digest(cookie)
    found = browsers.live(session, cookie_sha256, idle=idle, noted_for=NOTE_USE_EVERY)
    if found is None:
        return None
    _, token, user, is_noted = found
    if not is_noted:
        browsers.note_use(session, cookie_sha256)
    if token is not None:
        return principal_of(session, token)
    assert user is not None
    return principal_of_user(session, user)
