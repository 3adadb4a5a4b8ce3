"""What can go wrong, as one tree. Doors turn it into a status once; the core raises it and never logs.

RatchetError
├── UsageError            the caller asked for something that cannot be asked (CLI 64, HTTP 400)
├── DataError             what was given is wrong (CLI 65, HTTP 422)
│   ├── SettingsError     a ratchet.toml that is refused, with line and key
│   └── PayloadError      a posted document that is refused, with paths
├── NotFoundError         no such object, or not yours to see (HTTP 404)
├── ConflictError         it contradicts what is stored (HTTP 409)
│   └── StaleLeaseError   a lease that ended; the agent must stop (HTTP 409, code stale_lease)
├── AccessError           not signed in, or not allowed (HTTP 401, 403)
├── TooLargeError         over a stated limit (HTTP 413)
└── UnavailableError      something outside is missing or full; trying later may help (CLI 70, HTTP 503, 507)
"""

from __future__ import annotations

from dataclasses import dataclass


class RatchetError(Exception):
    """Root of every error that Ratchet raises on purpose; `code` is stable and machine-readable."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UsageError(RatchetError):
    """The caller asked for something that cannot be asked."""

    code = "usage"


class DataError(RatchetError):
    """What was given is wrong; the message names the value and what would be right."""

    code = "bad_data"


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a document: where (`path`, 1-based `line` if known), a code, and a sentence."""

    path: str
    code: str
    message: str
    line: int | None = None


class SettingsError(DataError):
    """A `ratchet.toml` that is refused; `problems` lists everything wrong with it, in file order."""

    code = "bad_settings"

    def __init__(self, problems: list[Problem], *, name: str = "ratchet.toml") -> None:
        self.problems = problems
        lines = [f"{name}:{p.line}: {p.message}" if p.line else f"{name}: {p.message}" for p in problems]
        super().__init__("\n".join(lines))


class PayloadError(DataError):
    """A posted document that is refused whole; `problems` lists up to 50 of what is wrong."""

    code = "bad_payload"

    def __init__(self, problems: list[Problem], *, code: str | None = None) -> None:
        self.problems = problems[:50]
        super().__init__("; ".join(f"{p.path}: {p.message}" for p in self.problems[:5]), code=code)


class NotFoundError(RatchetError):
    """No such object, or not yours to see."""

    code = "not_found"


class ConflictError(RatchetError):
    """It contradicts what is stored."""

    code = "conflict"


class StaleLeaseError(ConflictError):
    """The lease has ended; whoever holds it must stop measuring."""

    code = "stale_lease"


class AccessError(RatchetError):
    """Not signed in (`unauthenticated`) or not allowed (`forbidden`)."""

    code = "forbidden"


class TooLargeError(RatchetError):
    """Over a stated limit."""

    code = "too_large"


class UnavailableError(RatchetError):
    """Something outside is missing, full or down; trying later may help."""

    code = "unavailable"
