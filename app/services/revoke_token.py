"""A token shall open nothing any more: from the commit on it is refused, and so are the browsers it signed in."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.errors import DataError, NotFoundError
from app.services.access import PREFIX
from app.store.repositories import access
from app.store.tables import Token

SHORTEST_ID = 4
"""Characters of an id that name a token: so few that one is quickly typed, too many to be hit by a slip."""


@dataclass(frozen=True)
class Revoked:
    """The token that was named; `is_new` is False where it had been revoked before."""

    id: str
    name: str
    is_new: bool


def revoke_token(session: Session, given: str) -> Revoked:
    """Revoke the token of this id, of the beginning of its id, or of this text (`ratchet_ID_SECRET`).

    Raises NotFoundError where no token is meant, DataError where it is not clear which.
    """
    row = _meant(session, given)
    return Revoked(row.public_id, row.name, revoke(session, row, by="service"))


def revoke(session: Session, row: Token, *, by: str) -> bool:
    """Revoke a token, and have the audit log say who did; return False where somebody had before."""
    is_new = access.revoke(session, row)
    if is_new:
        access.audit(session, by, "token.revoked", row.name, id=row.public_id, scopes=row.scopes)
    return is_new


def _meant(session: Session, given: str) -> Token:
    public_id = given.removeprefix(f"{PREFIX}_").partition("_")[0]
    if len(public_id) < SHORTEST_ID:
        raise DataError(
            f"{public_id!r} is too short to name a token: give {SHORTEST_ID} characters of its id or more; "
            "`ratchet token list` shows the ids"
        )
    found = access.tokens_that_begin(session, public_id)
    exact = [row for row in found if row.public_id == public_id]
    if not found:
        raise NotFoundError(f"no token has the id {public_id!r}: `ratchet token list --all` shows every id")
    if len(exact or found) > 1:
        ids = ", ".join(f"{row.public_id} ({row.name})" for row in found)
        raise DataError(f"several tokens have an id that begins with {public_id!r}: {ids}; give more of it")
    return (exact or found)[0]
