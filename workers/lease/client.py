"""The service as an agent sees it: one method for each request, protocol messages in and out.

Connection errors, 5xx and 429 are tried again, with growing, jittered pauses, for as long as the caller has patience;
every other refusal is final and becomes an error. Safe to use from two threads.
"""

from __future__ import annotations

import gzip
import itertools
import json
import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from workers.errors import RefusedError, StaleLeaseError, UnreachableError
from workers.host.clock import Clock, SystemClock
from workers.protocol import (
    Claim,
    Finish,
    Heartbeat,
    HeartbeatAnswer,
    Lease,
    OpenCases,
    Prepared,
    Register,
    Registered,
    SignOff,
)

log = logging.getLogger(__name__)

CONNECT_S = 5.0
ANSWER_S = 60.0
FIRST_PAUSE_S = 0.2
PAUSE_GROWTH = 1.5
"""Small, so that an agent started together with its service is not long behind it."""

LONGEST_PAUSE_S = 30.0
COMPRESS_ABOVE_B = 64 * 1024
PREFIX = "/api/v1"

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class Patience:
    """How long a request may be tried again: until `over` is set, and for `limit_s` at most."""

    over: threading.Event = field(default_factory=threading.Event)
    limit_s: float = float("inf")


class ServiceClient:
    """One agent's connection to the service."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
        alive_file: Path | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock or SystemClock()
        self._alive_file = alive_file
        self._draw = draw
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "ratchet-worker"}
        self._http = httpx.Client(base_url=url, headers=headers, transport=transport)

    def register(self, message: Register, patience: Patience) -> Registered:
        """Introduce this agent and its devices."""
        return self._post("/worker/register", message, Registered, patience)

    def claim(self, message: Claim, *, wait_s: float, patience: Patience) -> Lease | None:
        """Ask for a job, waiting up to `wait_s` for one; None if there is none."""
        path = f"/worker/claim?wait={wait_s:g}"
        answer = self._request("POST", path, _json(message), patience, answer_s=wait_s + ANSWER_S)
        return None if answer.status_code == HTTPStatus.NO_CONTENT else _read(answer, Lease)

    def heartbeat(self, lease_id: str, message: Heartbeat, *, answer_s: float) -> HeartbeatAnswer:
        """Say that the lease is being worked on: one try of at most `answer_s`, since the next beat comes anyway."""
        path = f"/worker/leases/{lease_id}/heartbeat"
        answer = self._request("POST", path, _json(message), Patience(limit_s=0.0), answer_s=answer_s)
        return _read(answer, HeartbeatAnswer)

    def prepared(self, lease_id: str, message: Prepared, patience: Patience) -> OpenCases:
        """Say what there is to measure."""
        return self._post(f"/worker/leases/{lease_id}/prepared", message, OpenCases, patience)

    def invocation(self, lease_id: str, key: str, document: bytes, patience: Patience) -> OpenCases:
        """Post one invocation, as JSON, under its idempotency key."""
        path = f"/worker/leases/{lease_id}/invocations"
        return _read(
            self._request("POST", path, document, patience, headers={"Idempotency-Key": key}), OpenCases
        )

    def finish(self, lease_id: str, message: Finish, patience: Patience) -> None:
        """End the lease."""
        self._request("POST", f"/worker/leases/{lease_id}/finish", _json(message), patience)

    def sign_off(self, message: SignOff, *, answer_s: float) -> None:
        """Say that this agent ends because it was stopped: one try of at most `answer_s`, as nobody waits for it."""
        patience = Patience(limit_s=0.0)
        self._request("POST", "/worker/sign-off", _json(message), patience, answer_s=answer_s)

    def download_bundle(self, digest: str, target: Path, patience: Patience) -> None:
        """Write an uploaded git bundle to the file `target`."""
        answer = self._request("GET", f"/bundles/{digest}", None, patience)
        target.write_bytes(answer.content)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _post(self, path: str, message: BaseModel, kind: type[Answer], patience: Patience) -> Answer:
        return _read(self._request("POST", path, _json(message), patience), kind)

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        patience: Patience,
        *,
        answer_s: float = ANSWER_S,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Return the answer to a request that was accepted.

        Raises:
            RefusedError: the answer is final, and no.
            UnreachableError: patience ran out.
        """
        content, all_headers = _encode(body, headers or {})
        timeout = httpx.Timeout(answer_s, connect=min(CONNECT_S, answer_s), pool=None)
        request = self._http.build_request(
            method, PREFIX + path, content=content, headers=all_headers, timeout=timeout
        )
        deadline = self._clock.now() + patience.limit_s
        for attempt in itertools.count():
            try:
                answer = self._http.send(request)
            except httpx.TransportError as error:
                trouble, asked_s = f"{type(error).__name__}: {error}", None
            else:
                if not _may_pass(answer.status_code):
                    accepted = _accepted(answer)
                    self._note_alive()
                    return accepted
                trouble, asked_s = f"HTTP {answer.status_code}", _retry_after_s(answer)
            self._pause(attempt, asked_s, deadline, patience, f"{method} {path}: {trouble}")
        raise AssertionError("unreachable: the loop above does not end")

    def _note_alive(self) -> None:
        """Date the file of now; a disk that is full stops nobody."""
        if self._alive_file is None:
            return
        try:
            self._alive_file.touch()
        except OSError as error:
            log.warning("%s could not be touched: %s", self._alive_file, error.strerror)

    def _pause(
        self, attempt: int, asked_s: float | None, deadline: float, patience: Patience, trouble: str
    ) -> None:
        """Wait before the next try, or raise `UnreachableError`."""
        longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * PAUSE_GROWTH ** min(attempt, 100))
        backoff_s = longest_s * (0.5 + 0.5 * self._draw())
        pause_s = max(backoff_s, asked_s or 0.0)
        if self._clock.now() + pause_s > deadline:
            raise UnreachableError(f"no answer from the service: {trouble}")
        if attempt == 0:
            log.warning("%s; trying again", trouble)
        if self._clock.wait(patience.over, pause_s):
            raise UnreachableError(f"stopped trying: {trouble}")


def _json(message: BaseModel) -> bytes:
    return message.model_dump_json().encode()


def _encode(body: bytes | None, headers: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, headers
    headers = {**headers, "Content-Type": "application/json"}
    if len(body) <= COMPRESS_ABOVE_B:
        return body, headers
    return gzip.compress(body, compresslevel=6), {**headers, "Content-Encoding": "gzip"}


def _may_pass(status: int) -> bool:
    """Tell whether the same request may be accepted later."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _retry_after_s(answer: httpx.Response) -> float | None:
    """Return the pause that the service asks for [s]; its form as a date is not used."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None


def _accepted(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    problem = _problem(answer)
    code = str(problem.get("code") or "refused")
    message = str(
        problem.get("message") or f"the service refused {answer.request.method} {answer.request.url.path}"
    )
    kind = StaleLeaseError if code == "stale_lease" else RefusedError
    raise kind(answer.status_code, code, message)


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        problem = json.loads(answer.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _read(answer: httpx.Response, kind: type[Answer]) -> Answer:
    try:
        return kind.model_validate_json(answer.content)
    except ValidationError as error:
        raise RefusedError(
            answer.status_code,
            "bad_answer",
            f"{answer.request.url} answered with no {kind.__name__}: is this Ratchet, and of this version? {error}",
        ) from error
