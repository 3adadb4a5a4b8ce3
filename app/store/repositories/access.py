"""Tokens, browser sessions, the audit log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.orm import Session

from app.store.pipeline import Statement, in_one_trip
from app.store.tables import BrowserSession, Project, Token


def live_token(session: Session, public_id: str, *, noted_for: timedelta) -> tuple[Token, bool] | None:
    """Return the token of this public id unless it has expired or was revoked.

    With it comes whether its last use was noted less than `noted_for` ago.
    """
    is_noted = func.coalesce(Token.last_used_at > func.clock_timestamp() - noted_for, False)
    row = session.execute(
        select(Token, is_noted).where(
            Token.public_id == public_id,
            Token.revoked_at.is_(None),
            or_(Token.expires_at.is_(None), Token.expires_at > func.clock_timestamp()),
        )
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def note_use(session: Session, token: Token) -> None:
    """Record that the token is used now."""
    session.execute(update(Token).where(Token.id == token.id).values(last_used_at=func.clock_timestamp()))


def add_token(session: Session, token: Token) -> Token:
    """Store a token."""
    session.add(token)
    session.flush()
    return token


def tokens(session: Session) -> Sequence[tuple[Token, str | None]]:
    """Return all tokens, the newest last, each with the name of the project that it is bound to."""
    query = select(Token, Project.name).outerjoin(Project, Project.id == Token.project_id).order_by(Token.id)
    return [(row[0], row[1]) for row in session.execute(query)]


def tokens_that_begin(session: Session, prefix: str) -> Sequence[Token]:
    """Return the tokens whose public id begins like this, the newest last."""
    query = select(Token).where(Token.public_id.startswith(prefix, autoescape=True)).order_by(Token.id)
    return session.scalars(query).all()


def revoke(session: Session, token: Token) -> bool:
    """Revoke the token; return False if somebody did before."""
    revoked = session.scalars(
        update(Token)
        .where(Token.id == token.id, Token.revoked_at.is_(None))
        .values(revoked_at=func.clock_timestamp())
        .returning(Token.id)
    ).one_or_none()
    return revoked is not None


def revoke_named(session: Session, name: str) -> None:
    """Revoke every live token of this name."""
    session.execute(
        update(Token)
        .where(Token.name == name, Token.revoked_at.is_(None))
        .values(revoked_at=func.clock_timestamp())
    )


def has_token_named(session: Session, name: str) -> bool:
    """Say whether a live token of this name exists."""
    query = select(func.count()).select_from(Token).where(Token.name == name, Token.revoked_at.is_(None))
    return bool(session.scalar(query))


def open_browser_session(session: Session, cookie_sha256: str, token_id: int, ttl: timedelta) -> None:
    """Begin a browser session; sessions that have expired are forgotten on the way."""
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < func.clock_timestamp()))
    now = session.scalar(select(func.clock_timestamp()))
    assert now is not None
    session.add(BrowserSession(cookie_sha256=cookie_sha256, token_id=token_id, expires_at=now + ttl))


def token_of_browser(session: Session, cookie_sha256: str) -> Token | None:
    """Return the token behind a browser session that has not expired, unless it was revoked."""
    return session.scalars(
        select(Token)
        .join(BrowserSession, BrowserSession.token_id == Token.id)
        .where(
            BrowserSession.cookie_sha256 == cookie_sha256,
            BrowserSession.expires_at > func.clock_timestamp(),
            Token.revoked_at.is_(None),
            or_(Token.expires_at.is_(None), Token.expires_at > func.clock_timestamp()),
        )
    ).one_or_none()


def close_browser_session(session: Session, cookie_sha256: str) -> None:
    """End a browser session."""
    session.execute(delete(BrowserSession).where(BrowserSession.cookie_sha256 == cookie_sha256))


def audit(
    session: Session, actor: str, action: str, object_: str, *, address: str = "", **detail: Any
) -> None:
    """Append to the audit log."""
    in_one_trip(session, audited(actor, action, object_, address=address, **detail))


def audited(actor: str, action: str, object_: str, *, address: str = "", **detail: Any) -> Statement:
    """Return what appends to the audit log."""
    its = {
        "actor": actor,
        "action": action,
        "object": object_,
        "detail": json.dumps(detail),
        "address": address,
    }
    return _AUDIT, its


_AUDIT = """
    insert into audit_log (actor, action, object, detail, address)
    values (%(actor)s, %(action)s, %(object)s, %(detail)s::jsonb, %(address)s)
"""
