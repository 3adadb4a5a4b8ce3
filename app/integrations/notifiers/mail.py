"""E-mail by the installation's SMTP server: text and HTML, and headers by which updates of one alert are one thread."""

from __future__ import annotations

import smtplib
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote, urlsplit

from app.domain.errors import DataError, UnavailableError
from app.domain.notifications import Letter
from app.integrations.notifiers.model import (
    Address,
    Channel,
    Field,
    Reach,
    ReceiverPartlyError,
    ReceiverRefusedError,
)

SERVER_S = 15.0
"""How long the server may be silent [s]."""

BEFORE_S = 120.0
"""How long everything may take until the whole letter is with the server [s]."""

END_S = 300.0
"""How long it may then think about it: whoever leaves before its answer sends a letter again that was taken [s]."""

BEGIN_LETTER, NOT_SIGNED_IN = 354, 530

MOST_RECEIVERS = 20
LONGEST = 254
SCHEMES = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
"""How mail leaves, with the usual port: STARTTLS, TLS from the first byte, neither."""


def _checked(address: Address, reach: Reach) -> dict[str, str]:
    if not reach.smtp_url:
        raise DataError("this service sends no mail: RATCHET_SMTP_URL names no server")
    people = [its.strip() for its in address.get("to", "").replace(";", ",").split(",") if its.strip()]
    if not people or len(people) > MOST_RECEIVERS:
        raise DataError(f"give 1 to {MOST_RECEIVERS} addresses, with commas between")
    for its in people:
        if not _is_address(its):
            raise DataError(f"{its[:80]!r} is no address of a person: right is ada@example.org")
    return {"to": ", ".join(dict.fromkeys(people))}


def _is_address(text: str) -> bool:
    local, _, host = text.rpartition("@")
    is_safe = text.isascii() and text.isprintable() and not set(text) & set(' <>,;:"()[]\\')
    return (
        bool(local)
        and "@" not in local
        and "." in host
        and all(host.split("."))
        and is_safe
        and len(text) <= LONGEST
        and not local.startswith("-")
    )


def message(letter: Letter, to: str, reach: Reach) -> EmailMessage:
    """Return the letter as it is sent; its id is the same at every try."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = reach.mail_from
    mail["To"] = to
    mail["Subject"] = _line(("Re: " if letter.thread else "") + letter.title)
    mail["Date"] = formatdate()
    mail["Message-ID"] = _id(letter.key, reach)
    if letter.thread:
        mail["In-Reply-To"] = mail["References"] = _id(letter.thread, reach)
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    mail.set_content(letter.text)
    if letter.html:
        mail.add_alternative(letter.html, subtype="html")
    if letter.page:
        mail.add_attachment(letter.page.encode(), maintype="text", subtype="html", filename="report.html")
    return mail


def _line(text: str) -> str:
    """Return a header's text: what would begin another header is a space."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _id(key: str, reach: Reach) -> str:
    return f"<{key}@{reach.host}>"


def _deliver(address: Address, letter: Letter, reach: Reach) -> None:
    if not reach.smtp_url:
        raise UnavailableError("this service sends no mail: RATCHET_SMTP_URL names no server")
    mail = message(letter, address["to"], reach)
    people = [its.strip() for its in address["to"].split(",")]
    people = [its for its in people if its not in letter.taken_by]
    if not people:
        return
    with _told(), _server(reach) as server:
        refused = server.send_message(mail, to_addrs=people)
    if refused:
        is_final, first, why = _worst(refused)
        told = f"sent, but not to {first}: {why}"
        if is_final:
            raise ReceiverRefusedError(told)
        raise ReceiverPartlyError(told, taken_by=tuple(its for its in people if its not in refused))


def _worst(refused: Mapping[str, tuple[int, bytes]]) -> tuple[bool, str, str]:
    """Return whether all of these are refused for good, and of one that is not, or of the first, why."""
    later = [its for its, (code, _) in refused.items() if not _is_for_good(code)]
    first = next(iter(later or refused))
    code, said = refused[first]
    return not later, first, f"{code} {_said(said)}"


class _Patient(smtplib.SMTP):
    """A connection with a deadline for all but the end of the letter, which is waited for."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self._until = time.monotonic() + BEFORE_S
        self._code = 0
        super().__init__(*args, **more)

    def send(self, s: Any) -> None:
        """Send, within what is left of the time."""
        self._allow(BEFORE_S)
        super().send(s)

    def getreply(self) -> tuple[int, bytes]:
        """Return the server's answer; the one after the letter may take long."""
        if self._code == BEGIN_LETTER and self.sock is not None:
            self.sock.settimeout(END_S)
        else:
            self._allow(SERVER_S)
        self._code, said = super().getreply()
        return self._code, said

    def _allow(self, most_s: float) -> None:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        if self.sock is not None:
            self.sock.settimeout(min(left_s, most_s))


class _PatientTls(_Patient, smtplib.SMTP_SSL):
    """The same, encrypted from the first byte."""


@contextmanager
def _server(reach: Reach) -> Iterator[smtplib.SMTP]:
    """Give a connection to the server that is as private as its address asks for."""
    parts = urlsplit(reach.smtp_url)
    host, port = parts.hostname or "", parts.port or SCHEMES[parts.scheme]
    trusted = ssl.create_default_context()
    server: smtplib.SMTP
    if parts.scheme == "smtps":
        server = _PatientTls(host, port, timeout=SERVER_S, context=trusted)
    else:
        server = _Patient(host, port, timeout=SERVER_S)
    try:
        if parts.scheme == "smtp":
            server.starttls(context=trusted)
        password = reach.smtp_password or unquote(parts.password or "")
        if parts.username:
            server.login(unquote(parts.username), password)
        yield server
    finally:
        _close(server)


def _close(server: smtplib.SMTP) -> None:
    """Say good-bye; whether the server hears it makes no difference, as it has taken the letter or has not."""
    try:
        server.quit()
    except (smtplib.SMTPException, OSError):
        server.close()


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the server says into our errors; a 4xx is for later, a 5xx for good unless it is about us."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        is_final, _, why = _worst(error.recipients)
        kind = ReceiverRefusedError if is_final else UnavailableError
        raise kind(f"the server takes mail for none of them: {why}") from None
    except smtplib.SMTPSenderRefused as error:
        raise UnavailableError(
            f"the server takes no mail from us: {error.smtp_code} {_said(error.smtp_error)}"
        ) from None
    except smtplib.SMTPAuthenticationError as error:
        raise UnavailableError(f"the server does not let us in: {error.smtp_code}") from None
    except smtplib.SMTPNotSupportedError as error:
        raise UnavailableError(f"the server cannot do what RATCHET_SMTP_URL asks for: {error}") from None
    except smtplib.SMTPResponseException as error:
        kind = ReceiverRefusedError if _is_for_good(error.smtp_code) else UnavailableError
        raise kind(f"the server answered {error.smtp_code} {_said(error.smtp_error)}") from None
    except (smtplib.SMTPException, OSError) as error:
        raise UnavailableError(f"the mail server cannot be reached: {type(error).__name__}") from None


def _is_for_good(code: int) -> bool:
    """Say whether an answer is about the letter, or who gets it; 530 asks who we are, which the settings may tell."""
    return 500 <= code < 600 and code != NOT_SIGNED_IN


def _said(words: bytes | str) -> str:
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else words
    return _line(text)[:120]


EMAIL = Channel(
    title="E-mail",
    fields=(Field("to", "To", "Addresses, with commas between."),),
    checked=_checked,
    shown=lambda address: address["to"],
    deliver=_deliver,
    longest_s=BEFORE_S + END_S,
)
