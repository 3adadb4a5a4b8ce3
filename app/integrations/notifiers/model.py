"""What a kind of receiver has to do, and what can go wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.domain.errors import UnavailableError
from app.domain.notifications import Letter

Address = Mapping[str, str]
"""Where a receiver is, by field; some of it may be secret."""


class ReceiverBusyError(UnavailableError):
    """The receiver asks to be left alone for so long."""

    code = "receiver_busy"

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ReceiverRefusedError(UnavailableError):
    """The receiver refuses this message, and would again."""

    code = "receiver_refused"


class ReceiverPartlyError(UnavailableError):
    """Some have the message; the others may take it later."""

    code = "receiver_partly"

    def __init__(self, message: str, *, taken_by: tuple[str, ...]) -> None:
        super().__init__(message)
        self.taken_by = taken_by


class ReceiverGoneError(UnavailableError):
    """There is nobody at this address; `is_certain` where the receiver says that nobody will be."""

    code = "receiver_gone"

    def __init__(self, message: str, *, is_certain: bool) -> None:
        super().__init__(message)
        self.is_certain = is_certain


@dataclass(frozen=True)
class Reach:
    """What may be reached, and how mail leaves."""

    private: bool = False
    """Whether addresses in private networks may be, and plain http."""
    loopback: bool = False
    """Whether this machine's own may be, as where the service is one person's."""
    smtp_url: str = ""
    smtp_password: str = ""
    mail_from: str = ""
    host: str = "ratchet"
    """What messages are signed with as their origin."""


@dataclass(frozen=True)
class Field:
    """A part of an address, as it is asked for."""

    name: str
    title: str
    help: str
    is_secret: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Channel:
    """A kind of receiver.

    `checked` returns an address as it is kept; it raises DataError for what is none, naming nothing secret.
    `shown` returns what of it people see. `deliver` sends a letter, and raises the errors above, or UnavailableError
    where it is to be tried again; None for what the forge's own queue tells.
    """

    title: str
    fields: tuple[Field, ...]
    checked: Callable[[Address, Reach], dict[str, str]]
    shown: Callable[[Address], str]
    deliver: Callable[[Address, Letter, Reach], None] | None
    takes_report: bool = True
    """Whether it can be told of a report."""
    longest_s: float = 60.0
    """How long one try takes at the most [s]."""
    made: Callable[[], dict[str, str]] = field(default=dict)
    """What of an address is made here and shown once, such as a key to check signatures with."""
