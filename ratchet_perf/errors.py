"""What can go wrong between a program and the service, as one tree.

RatchetError
├── UsageError         what was asked cannot be asked, or address or token are none of a service's (HTTP 400)
├── NotAllowedError    no token, or one that may not (HTTP 401, 403)
├── NotFoundError      no such thing, or not yours to see (HTTP 404)
├── ConflictError      it contradicts what is stored (HTTP 409)
├── RefusedError       a document with problems, each with its path (HTTP 413, 422)
└── UnavailableError   the service is away, overloaded or at fault (HTTP 429, 5xx, no answer in time)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MAX_SHOWN = 80


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a document: where, a code that stays, and a sentence."""

    path: str
    code: str
    message: str


class RatchetError(Exception):
    """Root of every error; the text is the service's own sentence.

    `code` is stable and for programs, `status` is HTTP's (None where there was no answer), `problems` list what was
    wrong with a document or with parameters.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "error",
        status: int | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.problems = code, status, tuple(problems)


class UsageError(RatchetError):
    """What was asked cannot be asked."""


class NotAllowedError(RatchetError):
    """No token, or one that may not do this."""


class NotFoundError(RatchetError):
    """No such thing, or not yours to see."""


class ConflictError(RatchetError):
    """It contradicts what is stored."""


class RefusedError(RatchetError):
    """A document that the service does not take."""


class UnavailableError(RatchetError):
    """The service is away, overloaded or at fault; later it may be there."""


def shown(value: object) -> str:
    """Return a value as it may stand in a message: as Python writes it, shortened."""
    written = repr(value)
    return written if len(written) <= _MAX_SHOWN else f"{written[: _MAX_SHOWN - 1]}…"
