"""Around every request: its id, what lines of the log say of it, and its place among the process's counts.

This is plain ASGI and wraps one function: a request pays microseconds for it.
"""

from __future__ import annotations

import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workers import logs

REQUEST_ID = b"x-request-id"
WELL_FORMED = re.compile(rb"[A-Za-z0-9._-]{1,64}")

UNMATCHED = "unmatched"
"""In place of a template where no route has the address."""

FAULT = 500


class Recorded:
    """The application, with each of its requests recorded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status, own = time.perf_counter(), FAULT, request_id(scope)

        async def say(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (REQUEST_ID, own)]
            await send(message)

        bound = logs.begin(request_id=own.decode())
        try:
            await self._app(scope, receive, say)
        finally:
            logs.end(bound)
            recorder = scope["app"].state.service.recorder
            recorder.answered(template(scope), scope["method"], status, time.perf_counter() - begun)


def request_id(scope: Scope) -> bytes:
    """Return the request's own id if it has one that can stand in a log, else a new one."""
    for name, value in scope["headers"]:
        if name == REQUEST_ID and WELL_FORMED.fullmatch(value):
            return bytes(value)
    return secrets.token_hex(8).encode()


def template(scope: Scope) -> str:
    """Return the template of the route that the request was for."""
    return getattr(scope.get("route"), "path", UNMATCHED)
