"""A database that does not answer, told in a sentence by every command that needs one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.domain.errors import UnavailableError


@contextmanager
def answering() -> Iterator[None]:
    """Raise UnavailableError, naming the server, where the database is away or refuses us within this block."""
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except OperationalError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise UnavailableError(
            f"the database does not answer: {reason}. Is it up, and does RATCHET_DATABASE_URL name it?"
        ) from error
