"""Tokens, and the audit log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Interval,
    Text,
    bindparam,
    cast,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip, with_the_next, written
from app.store.tables import AuditLog, Project, Token, User


class LiveToken(NamedTuple):
    """A token that opens something; `is_noted` says whether its last use was noted lately."""

    id: int
    name: str
    scopes: list[str]
    project_id: int | None
    user_id: int | None
    secret_sha256: str
    is_noted: bool


def live_token(session: Session, public_id: str, *, noted_for: timedelta) -> Callable[[], LiveToken | None]:
    """Look for the token of this public id with the session's next trip, and return what returns it then.

    That is None where it has expired, was revoked, or is of a person who is disabled. Its last use is noted lately if
    that was less than `noted_for` ago.
    """
    rows = with_the_next(session, (_LIVE_TOKEN, {"public_id": public_id, "noted_for": noted_for}))
    return lambda: LiveToken(*found[0]) if (found := rows()) else None


def is_live() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions under which a token joined with whose it is opens anything."""
    return (
        Token.revoked_at.is_(None),
        or_(Token.expires_at.is_(None), Token.expires_at > func.clock_timestamp()),
        User.disabled_at.is_(None),
    )


_IS_NOTED = Token.last_used_at > func.clock_timestamp() - bindparam("noted_for", type_=Interval)

# Every request of a program begins with it, so it is written once.
_LIVE_TOKEN = written(
    select(
        Token.id,
        Token.name,
        Token.scopes,
        Token.project_id,
        Token.user_id,
        Token.secret_sha256,
        _IS_NOTED.is_(True),
    )
    .outerjoin(User, User.id == Token.user_id)
    .where(Token.public_id == bindparam("public_id"), *is_live())
)


class PresentedToken(NamedTuple):
    """A token as it is shown: its public id, and the SHA-256 of the secret that came with it."""

    public_id: str
    secret_sha256: str


# Which token, nobody's own, is presented, if it is live, its secret is the right one, it has one of `scopes`, and its
# use was noted lately.
PRESENTED = written(
    select(Token.name, Token.project_id)
    .outerjoin(User, User.id == Token.user_id)
    .where(
        Token.public_id == bindparam("public_id"),
        Token.secret_sha256 == bindparam("secret_sha256"),
        Token.user_id.is_(None),
        Token.scopes.op("&&")(cast(bindparam("scopes"), ARRAY(Text))),
        _IS_NOTED,
        *is_live(),
    )
)


def note_use(session: Session, token_id: int) -> None:
    """Record that the token is used now; whoever finds that another request is doing so leaves it to that."""
    free = select(Token.id).where(Token.id == token_id).with_for_update(skip_locked=True, key_share=True)
    session.execute(update(Token).where(Token.id.in_(free)).values(last_used_at=func.clock_timestamp()))


def add_token(session: Session, token: Token) -> Token:
    """Store a token."""
    session.add(token)
    session.flush()
    return token


def tokens(
    session: Session, *, project_id: int | None = None
) -> Sequence[tuple[Token, str | None, User | None]]:
    """Return all tokens, or a project's, the newest last: each with its project's name, and whose it is."""
    query = (
        select(Token, Project.name, User)
        .outerjoin(Project, Project.id == Token.project_id)
        .outerjoin(User, User.id == Token.user_id)
        .order_by(Token.id)
    )
    rows = session.execute(query if project_id is None else query.where(Token.project_id == project_id))
    return [(row[0], row[1], row[2]) for row in rows]


def tokens_that_begin(session: Session, prefix: str) -> Sequence[Token]:
    """Return the tokens whose public id begins like this, the newest last."""
    query = select(Token).where(Token.public_id.startswith(prefix, autoescape=True)).order_by(Token.id)
    return session.scalars(query).all()


def secret_of_token(session: Session, public_id: str) -> str | None:
    """Return the SHA-256 of the secret of the token of this public id, live or not; None where there is none."""
    return session.scalar(select(Token.secret_sha256).where(Token.public_id == public_id))


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
    """Revoke every live token of the installation that has this name."""
    session.execute(update(Token).where(*_of_installation(name)).values(revoked_at=func.clock_timestamp()))


def has_token_named(session: Session, name: str) -> bool:
    """Say whether the installation has a live token of this name."""
    return bool(session.scalar(select(func.count()).select_from(Token).where(*_of_installation(name))))


def _of_installation(name: str) -> tuple[ColumnElement[bool], ...]:
    is_nobodys = Token.user_id.is_(None), Token.project_id.is_(None)
    return Token.name == name, *is_nobodys, Token.revoked_at.is_(None)


def has_project_token_named(session: Session, name: str) -> bool:
    """Say whether any project has a live token of this name, in capitals or not."""
    its = func.lower(Token.name) == name.lower(), Token.user_id.is_(None), Token.project_id.is_not(None)
    query = select(func.count()).select_from(Token).where(*its, Token.revoked_at.is_(None))
    return bool(session.scalar(query))


def tokens_of_user(session: Session, user_id: int) -> Sequence[tuple[Token, str]]:
    """Return the live tokens of a person, the newest first, each with the name of its project."""
    query = (
        select(Token, Project.name)
        .join(Project, Project.id == Token.project_id)
        .join(User, User.id == Token.user_id)
        .where(Token.user_id == user_id, *is_live())
        .order_by(Token.id.desc())
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def token(session: Session, token_id: int) -> Token | None:
    """Return the token, or None."""
    return session.get(Token, token_id)


def audit(
    session: Session, actor: str, action: str, object_: str, *, address: str = "", **detail: Any
) -> None:
    """Append to the audit log."""
    its = {"actor": actor, "action": action, "object": object_, "detail": as_json(detail), "address": address}
    in_one_trip(session, (_AUDIT, its))


_AUDIT = """
    insert into audit_log (actor, action, object, detail, address)
    values (%(actor)s, %(action)s, %(object)s, %(detail)s::jsonb, %(address)s)
"""


def is_audited(session: Session, action: str, object_: str, **detail: Any) -> bool:
    """Say whether the audit log has this with these details already."""
    its = AuditLog.object == object_, AuditLog.action == action, AuditLog.detail.contains(detail)
    return bool(session.scalar(select(exists().where(*its))))


def audited_today(session: Session, action: str, object_: str) -> int:
    """Return how often the audit log has this of the last 24 hours."""
    since = func.clock_timestamp() - timedelta(days=1)
    query = select(func.count()).select_from(AuditLog)
    its = AuditLog.object == object_, AuditLog.action == action, AuditLog.created_at > since
    return session.scalar(query.where(*its)) or 0
