"""Which tokens there are: what may be shown of them, and never a secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.repositories import access, clock
from app.store.tables import Token, User


@dataclass(frozen=True)
class TokenFacts:
    """One token. `state` is `live`, `expired`, `revoked`, or `disabled` as its owner; its last use is to a minute."""

    id: str
    name: str
    owner: str | None
    """The person whose it is."""
    scopes: tuple[str, ...]
    project: str | None
    created_at: datetime
    last_used_at: datetime | None
    state: str


def list_tokens(session: Session, *, project_id: int | None = None) -> list[TokenFacts]:
    """Return all tokens, or those bound to a project, in the order in which they were issued."""
    now = clock.now(session)
    return [
        TokenFacts(
            id=row.public_id,
            name=row.name if user is None else f"{user.name}/{row.name}",
            owner=user.name if user else None,
            scopes=tuple(row.scopes),
            project=project,
            created_at=row.created_at,
            last_used_at=row.last_used_at,
            state=_state(row, user, now),
        )
        for row, project, user in access.tokens(session, project_id=project_id)
    ]


def _state(row: Token, user: User | None, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    if user is not None and user.disabled_at is not None:
        return "disabled"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "live"
