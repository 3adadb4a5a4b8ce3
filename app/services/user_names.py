"""What people who sign in are called, and who is meant by a name."""

from __future__ import annotations

import re

from sqlalchemy.orm import Session

from app.domain.errors import DataError, NotFoundError
from app.store.repositories import users
from app.store.tables import User

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
"""No `/`, with which the tokens of people are written; no capitals, so that nobody is called almost like another."""

OURS = frozenset({"service", "github", "ratchet", "unknown"})
"""Names under which the service itself does something."""


def user_name(text: str) -> str:
    """Return a name as it is stored, however it was typed."""
    return text.strip().lower()


def new_name(text: str) -> str:
    """Return the name of somebody new. Raises DataError for what is none, or is not to be had."""
    name = user_name(text)
    if not NAME.fullmatch(name):
        raise DataError(
            f"{text[:80]!r} is no name to sign in with: 1 to 63 letters, digits, dots, dashes and underscores, "
            "the first a letter or a digit"
        )
    if name in OURS:
        raise DataError(f"{name!r} is what the service calls itself: take another name")
    return name


def user_named(session: Session, text: str) -> User:
    """Return the person of this name, locked. Raises NotFoundError."""
    name = user_name(text)
    user = users.named(session, name, lock=True) if NAME.fullmatch(name) else None
    if user is None:
        raise NotFoundError(f"there is no user {text[:80]!r}: `ratchet user list` shows them")
    return user
