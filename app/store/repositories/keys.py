"""Keys of the installation, which all of its processes share."""

from __future__ import annotations

import secrets

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Key

SIZE_B = 32


def key(session: Session, name: str) -> bytes:
    """Return the key of this name, random, made by whoever needs it first."""
    query = select(Key.secret).where(Key.name == name)
    known = session.scalars(query).one_or_none()
    if known is None:
        made = insert(Key).values(name=name, secret=secrets.token_bytes(SIZE_B))
        session.execute(made.on_conflict_do_nothing(index_elements=["name"]))
        known = session.scalars(query).one()
    return known
