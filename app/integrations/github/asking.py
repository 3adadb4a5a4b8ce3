"""Questions to GitHub that a person waits for: over within a deadline, few at a time, and read within bounds.

Redirects are not followed. What GitHub is asked with is in no error.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from app.domain.errors import UnavailableError
from app.integrations.forge import ForgeBusyError
from app.integrations.github.connection import LIMITED, UNKNOWN_WAIT_S, trusted

DEADLINE_S = 10.0
"""How long all questions about one person may take [s]."""

AT_ONCE = 8
"""People that a process asks GitHub about at a time: each waits in a thread that other pages need, too."""

LONGEST_WAIT_S = 3600.0
"""GitHub's quotas are of an hour."""

MOST_READ_B = 2**18

Found = TypeVar("Found")

_TURN = threading.BoundedSemaphore(AT_ONCE)


def within_deadline(ask: Callable[[httpx.AsyncClient], Awaitable[Found]]) -> Found:
    """Return what the questions come to that are asked over one client. Raises UnavailableError."""
    if not _TURN.acquire(blocking=False):
        raise UnavailableError("too many people sign in with GitHub at this moment")
    try:
        return asyncio.run(_all(ask))
    except (TimeoutError, httpx.TimeoutException):
        raise UnavailableError(f"GitHub gave no answer within {DEADLINE_S:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnavailableError(f"GitHub cannot be reached: {type(error).__name__}") from None
    finally:
        _TURN.release()


async def _all(ask: Callable[[httpx.AsyncClient], Awaitable[Found]]) -> Found:
    async with (
        asyncio.timeout(DEADLINE_S),
        httpx.AsyncClient(verify=trusted(), timeout=DEADLINE_S, follow_redirects=False) as http,
    ):
        return await ask(http)


@dataclass(frozen=True)
class Answer:
    """What GitHub has said."""

    status: int
    told: Any
    """The JSON of it; None for what is none."""

    @property
    def message(self) -> str:
        """What GitHub says in words."""
        return printed(str(self.told.get("message", ""))) if isinstance(self.told, Mapping) else ""


async def ask(
    http: httpx.AsyncClient, url: str, token: str = "", *, form: Mapping[str, str] | None = None
) -> Answer:
    """Ask once, by GET, or with a form by POST. Raises where GitHub is not well, or asks for time."""
    headers = {
        "Accept": "application/json" if form is not None else "application/vnd.github+json",
        "Accept-Encoding": "identity",
        "User-Agent": "ratchet",
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    async with http.stream("GET" if form is None else "POST", url, headers=headers, data=form) as response:
        answer = Answer(response.status_code, _json(await _body(response)))
        wait_s = _wait_s(response.headers, answer)
    if wait_s:
        raise ForgeBusyError(f"GitHub asks for time: {answer.status} {answer.message}", wait_s=wait_s)
    if answer.status >= 500 or answer.status in (401, 408):
        raise UnavailableError(f"GitHub answered {answer.status} {answer.message}".strip())
    return answer


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MOST_READ_B:
            raise not_understood("too much")
    return bytes(body)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _wait_s(headers: Mapping[str, str], answer: Answer) -> float:
    """Return for how long GitHub asks to be left alone [s]; 0 where it does not."""
    is_spent = headers.get("x-ratelimit-remaining") == "0"
    is_limited = is_spent or any(word in answer.message.lower() for word in LIMITED)
    if answer.status != 429 and not (answer.status == 403 and (is_limited or "retry-after" in headers)):
        return 0
    after, reset = (_seconds(headers.get(name, "")) for name in ("retry-after", "x-ratelimit-reset"))
    wait_s = after or (reset - time.time() if is_spent and reset else UNKNOWN_WAIT_S)
    return min(max(wait_s, 1.0), LONGEST_WAIT_S)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def told_in(answer: Answer) -> Mapping[str, Any]:
    """Return what GitHub told. Raises where that is nothing which can be understood."""
    if answer.status != 200 or not isinstance(answer.told, Mapping):
        raise not_understood(f"{answer.status} {answer.message}".strip())
    return answer.told


def not_understood(what: str) -> UnavailableError:
    """Return the error for an answer that makes no sense."""
    return UnavailableError(f"GitHub answered what is not understood here: {what}")


def printed(text: str) -> str:
    """Return what of a text can be printed, at most 200 characters."""
    return "".join(character for character in text if character.isprintable())[:200]
