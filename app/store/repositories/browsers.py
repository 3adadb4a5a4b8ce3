"""Sessions of signed-in browsers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from app.store.repositories import access
from app.store.tables import BrowserSession, Token, User


def begin(session: Session, row: BrowserSession) -> None:
    """Store a session that begins; those that have expired are forgotten on the way."""
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < func.clock_timestamp()))
    session.add(row)
    session.flush()


def live(
    session: Session, cookie_sha256: str, *, idle: timedelta, noted_for: timedelta
) -> tuple[BrowserSession, Token | None, User | None, bool] | None:
    """Return the session of this cookie with its token or its person, unless it has ended or may open nothing.

    With it comes whether its last use was noted less than `noted_for` ago.
    """
    is_noted = BrowserSession.seen_at > func.clock_timestamp() - noted_for
    person = BrowserSession.user_id == User.id
    row = session.execute(
        select(BrowserSession, Token, User, is_noted)
        .outerjoin(Token, Token.id == BrowserSession.token_id)
        .outerjoin(User, or_(person, User.id == Token.user_id))
        .where(BrowserSession.cookie_sha256 == cookie_sha256, *_goes_on(idle), *access.is_live())
    ).one_or_none()
    return None if row is None else (row[0], row[1], row[2], row[3])


def _goes_on(idle: timedelta) -> tuple[ColumnElement[bool], ...]:
    now = func.clock_timestamp()
    return BrowserSession.expires_at > now, BrowserSession.seen_at > now - idle


def note_use(session: Session, cookie_sha256: str) -> None:
    """Record that the session is used now; whoever finds that another request is doing so leaves it to that."""
    its = BrowserSession.cookie_sha256
    free = select(its).where(its == cookie_sha256).with_for_update(skip_locked=True, key_share=True)
    session.execute(update(BrowserSession).where(its.in_(free)).values(seen_at=func.clock_timestamp()))


def of_user(session: Session, user_id: int, *, idle: timedelta) -> Sequence[BrowserSession]:
    """Return the sessions of a person that go on, the one used last first."""
    return session.scalars(
        select(BrowserSession)
        .where(_of_user(user_id), *_goes_on(idle))
        .order_by(BrowserSession.seen_at.desc(), BrowserSession.number)
    ).all()


def _of_user(user_id: int) -> ColumnElement[bool]:
    """Return the condition that a session is a person's: begun by name, or with a token of theirs."""
    own_tokens = select(Token.id).where(Token.user_id == user_id)
    return or_(BrowserSession.user_id == user_id, BrowserSession.token_id.in_(own_tokens))


def end(session: Session, cookie_sha256: str) -> None:
    """End the session of a cookie."""
    session.execute(delete(BrowserSession).where(BrowserSession.cookie_sha256 == cookie_sha256))


def end_of_user(session: Session, user_id: int, *, number: int | None = None, but: str | None = None) -> int:
    """End the sessions of a person: the one of this number, or all but the one of a cookie; return how many."""
    query = delete(BrowserSession).where(_of_user(user_id))
    if number is not None:
        query = query.where(BrowserSession.number == number)
    if but is not None:
        query = query.where(BrowserSession.cookie_sha256 != but)
    return len(session.scalars(query.returning(BrowserSession.number)).all())
