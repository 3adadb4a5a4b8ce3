"""Requests to the service: tried again while it is away or asks to wait, and errors in its own words."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from ratchet_perf.errors import (
    ConflictError,
    NotAllowedError,
    NotFoundError,
    Problem,
    RatchetError,
    RefusedError,
    UnavailableError,
    UsageError,
    shown,
)

_ERRORS: dict[int, type[RatchetError]] = {
    400: UsageError,
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    413: RefusedError,
    422: RefusedError,
}
_PASSING = (429, 502, 503, 504)
"""Statuses of a service that is away, or has too much to do, for a moment."""

_NO_SUCH_ROUTE = "Not Found"
"""What a service says of an address that is none of its own, instead of what there is not."""

_TOKEN = re.compile(r"[!-~]*")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0


@dataclass
class Transport:
    """Sends requests, each of which may be repeated: it reads, or stores nothing twice.

    Args:
        http: the client that sends.
        patience_s: how long a request is tried again [s]; 0: never.
        sleep: waits some seconds.
        clock: tells seconds.
    """

    http: httpx.Client
    patience_s: float
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def get(self, path: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to a question."""
        return document(self.send("GET", path, params=params))

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Return the answer of the service. Raises RatchetError."""
        begun, pause_s = self.clock(), _FIRST_PAUSE_S
        while True:
            wanted_s = None
            try:
                response = self._sent(method, path, options)
            except httpx.RequestError as error:
                failure: RatchetError = UnavailableError(
                    f"the service at {self.http.base_url} does not answer: {error or type(error).__name__}",
                    code="no_answer",
                )
            else:
                if response.is_success:
                    return response
                failure, wanted_s = _error(response), _retry_after_s(response)
                if response.status_code not in _PASSING:
                    raise failure
            wait_s = pause_s * random.uniform(0.5, 1.0) if wanted_s is None else wanted_s
            if self.clock() + wait_s - begun > self.patience_s:
                raise failure
            self.sleep(wait_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _sent(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        """Return the answer to one request, whatever it says. Raises UsageError where it cannot be sent."""
        if self.http.is_closed:
            raise UsageError("this Ratchet is closed and asks nothing more; make another one", code="closed")
        try:
            return self.http.request(method, path, **options)
        except httpx.InvalidURL as error:
            raise UsageError(f"this is no question that can be sent: {error}") from None
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise UsageError(
                f"{shown(error.object)} cannot be sent: {bad!r} is no character of UTF-8"
            ) from None


def checked_address(url: str | None) -> str:
    """Return the address of a service, without blanks around it. Raises UsageError where it is none."""
    its = url.strip() if isinstance(url, str) else url
    if not its:
        raise UsageError("which service? give its address: Ratchet('http://host:8440'), or set RATCHET_URL")
    if not _is_address(its):
        raise UsageError(f"{shown(its)} is no address of a service: right is http://host:8440")
    return its.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        host, port = httpx.URL(url).raw_host.decode(), urlsplit(url).port
        # The resolver encodes a name so, and fails where a label is empty or too long.
        host.encode("idna")
    except (ValueError, TypeError, httpx.InvalidURL):
        return False
    return urlsplit(url).scheme in ("http", "https") and bool(host) and " " not in url and port != 0


def checked_token(token: str | None) -> str | None:
    """Return a token without blanks around it, None where nothing is left.

    Raises UsageError, which does not show it, where it cannot be one.
    """
    if token is None or (isinstance(token, str) and _TOKEN.fullmatch(token.strip())):
        return (token or "").strip() or None
    raise UsageError(
        "the token is none: right is one line of ASCII without blanks, as the service printed it;"
        " it is that of `token` or of RATCHET_TOKEN"
    )


def document(response: httpx.Response) -> dict[str, Any]:
    """Return what an answer tells. Raises UsageError where that is no document of a service's."""
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f"{response.request.url} is no address of a Ratchet service", status=response.status_code
        )
    return found


def _error(response: httpx.Response) -> RatchetError:
    status = response.status_code
    try:
        told = response.json()
        message, code = str(told["message"]), str(told["code"])
        problems = [Problem(one["path"], one["code"], one["message"]) for one in told.get("errors", ())]
    except (ValueError, KeyError, TypeError):
        message, code, problems = response.text[:500] or response.reason_phrase, "http_error", []
    if response.is_redirect or (status == 404 and (code == "http_error" or message == _NO_SUCH_ROUTE)):
        what = f"{response.request.url} is no address of a Ratchet service"
        return UsageError(what, code="no_service", status=status)
    kind = _ERRORS.get(status, UnavailableError)
    return kind(message, code=code, status=status, problems=problems)


def _retry_after_s(response: httpx.Response) -> float | None:
    """Return how long the service asks to wait [s]: it names seconds or a date; None where it does not."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal() and text.isascii():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
