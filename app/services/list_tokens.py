"""Which tokens there are: what may be shown of them, and never a secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.repositories import access, clock
from app.store.tables import Token


@dataclass(frozen=True)
class TokenFacts:
    """One token. `state` is `live`, `expired` or `revoked`; `last_used_at` is exact to a minute."""

    id: str
    name: str
    scopes: tuple[str, ...]
    project: str | None
    created_at: datetime
    last_used_at: datetime | None
    state: str


def list_tokens(session: Session) -> list[TokenFacts]:
    """Return all tokens in the order in which they were issued."""
    now = clock.now(session)
    return [
        TokenFacts(
            id=row.public_id,
            name=row.name,
            scopes=tuple(row.scopes),
            project=project,
            created_at=row.created_at,
            last_used_at=row.last_used_at,
            state=_state(row, now),
        )
        for row, project in access.tokens(session)
    ]


def _state(row: Token, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "live"
