"""What HTTP says of methods: `HEAD` is answered wherever `GET` is, and a 405 names all that an address takes.

A framework answers for each of its routes by itself: it takes `HEAD` on none, and names the methods of one of those
that share an address.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOT_ALLOWED = 405
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
"""Those that addresses of ours take, but for `HEAD`."""


class Methods:
    """The application, as RFC 9110 (sections 9.3.2 and 10.2.1) has methods answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == NOT_ALLOWED:
                message["headers"] = _with_methods(message.get("headers", ()), scope)
            await send(message)

        if scope["method"] == "HEAD":
            await self._without_body(scope, receive, say)
        else:
            await self._app(scope, receive, say)

    async def _without_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as `GET`, up to the first piece of the body: whoever streams one is told that nobody listens."""
        is_told = False

        async def say(message: Message) -> None:
            nonlocal is_told
            if message["type"] == "http.response.body":
                if is_told:
                    return
                is_told, message = True, {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, say)
        finally:
            if "route" in asked:
                scope["route"] = asked["route"]


def _with_methods(headers: Iterable[tuple[bytes, bytes]], scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers with all methods that the address takes in `Allow`."""
    taken = {method for method in METHODS if is_taken({**scope, "method": method})}
    allowed = sorted(taken | ({"HEAD"} if "GET" in taken else set()))
    others = [(name, value) for name, value in headers if name.lower() != b"allow"]
    return [*others, (b"allow", ", ".join(allowed).encode())]


def is_taken(scope: Scope) -> bool:
    """Tell whether the application answers the address by the method."""
    return any(route.matches(scope)[0] is Match.FULL for route in scope["app"].routes)
