"""The application within the test's own process, each request in one go.

Starlette's own client hands a request between two threads nine times, and where its application does not run starts a
loop and a thread for each: that took longer than most of what is asked.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from urllib.parse import unquote

import httpx2
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message


class InProcess(TestClient):
    """A client of the application; an answer is there once the application has come to its end."""

    def __init__(self, app: ASGIApp, *, raise_server_exceptions: bool = True, **options: Any) -> None:
        """Take what Starlette's client takes; with `raise_server_exceptions` a fault of the application is raised."""
        super().__init__(app, raise_server_exceptions=raise_server_exceptions, **options)
        self._transport = _InOneGo(self, raise_server_exceptions)


class _InOneGo(httpx2.BaseTransport):
    def __init__(self, client: InProcess, raises: bool) -> None:
        self._client, self._raises = client, raises

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(request)
        portal = self._client.portal  # where its loop is, while the application runs
        try:
            if portal is None:
                _loop().run_until_complete(exchange.of(self._client.app))
            else:
                portal.call(exchange.of, self._client.app)
        except Exception:
            if self._raises:
                raise
        return exchange.answer()


_OF_THREAD = threading.local()


def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this thread."""
    found: asyncio.AbstractEventLoop | None = getattr(_OF_THREAD, "loop", None)
    if found is None:
        found = _OF_THREAD.loop = asyncio.new_event_loop()
    return found


class _Exchange:
    """A request and what the application answers to it."""

    def __init__(self, request: httpx2.Request) -> None:
        self._request = request
        self._asked = [{"type": "http.request", "body": request.read()}]
        self._begun: Message | None = None
        self._body: list[bytes] = []
        self._told = asyncio.Event()

    async def of(self, app: ASGIApp) -> None:
        """Have the application answer."""
        await app(self._scope(), self._receive, self._send)

    def answer(self) -> httpx2.Response:
        """Return the answer; one without anything in it where there is none."""
        begun = self._begun or {"status": 500}
        body = b"" if self._request.method == "HEAD" else b"".join(self._body)
        stream = httpx2.ByteStream(body)
        return httpx2.Response(
            begun["status"], headers=begun.get("headers"), stream=stream, request=self._request
        )

    def _scope(self) -> dict[str, Any]:
        url = self._request.url
        return {
            "type": "http",
            "http_version": "1.1",
            "method": self._request.method,
            "path": unquote(url.path),
            "raw_path": url.raw_path.partition(b"?")[0],
            "root_path": "",
            "scheme": url.scheme,
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "client": ("testclient", 50000),
            "server": [url.host, url.port or {"http": 80, "https": 443}[url.scheme]],
            "state": {},
        }

    async def _receive(self) -> Message:
        if self._asked:
            return self._asked.pop()
        await self._told.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = message
        else:
            self._body.append(bytes(message.get("body", b"")))
            if not message.get("more_body"):
                self._told.set()
