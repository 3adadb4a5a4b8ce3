"""Passwords of people: what one has to be like, and how it is kept and looked at, by argon2id.

Two passes over 19 MiB in one lane, as OWASP's cheat sheet on storing passwords recommends: the four lanes and 64 MiB of
RFC 9106 would be felt by what is measured on the same machine (`ratchet up`).
"""

from __future__ import annotations

import secrets
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.domain.errors import DataError

SHORTEST, LONGEST = 12, 256
"""Characters of a password."""

AT_ONCE = 2
"""Passwords that a process looks at at a time: each takes 19 MiB, and a core for some hundredths of a second."""

_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_TURN = threading.BoundedSemaphore(AT_ONCE)


def hash_password(password: str, *, name: str) -> str:
    """Return what is stored of a new password. Raises DataError for one that is too short, too long, or the name."""
    text = _normal(password)
    if not SHORTEST <= len(text) <= LONGEST:
        raise DataError(f"a password has {SHORTEST} to {LONGEST} characters; this one has {len(text)}")
    if text.casefold() == name.casefold() or len(set(text)) == 1:
        raise DataError("this password is the first that anybody would try: take another one")
    with _TURN:
        return _HASHER.hash(text)


def is_password(stored: str | None, password: str) -> bool:
    """Say whether this is the password that was stored; it takes as long where nothing was stored."""
    with _TURN:
        nobodys = _nobodys()
        try:
            return _HASHER.verify(stored or nobodys, _normal(password)[: LONGEST + 1]) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


def is_outdated(stored: str) -> bool:
    """Say whether a password was stored with other parameters than today's."""
    return _HASHER.check_needs_rehash(stored)


@cache
def _nobodys() -> str:
    return _HASHER.hash(secrets.token_hex(16))


def _normal(password: str) -> str:
    """Return the password in one form, however the keyboard has composed its letters; what is no character is lost."""
    return unicodedata.normalize("NFKC", password.encode("utf-8", "replace").decode())
