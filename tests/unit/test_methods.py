"""`HEAD` of an answer that is streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from app.api.methods import Methods


class Listener:
    """Who asked: it hangs up once it has the whole answer, as a server tells the application."""

    def __init__(self) -> None:
        self.told: list[Message] = []
        self._has_all = asyncio.Event()

    async def receive(self) -> Message:
        await self._has_all.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.told.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._has_all.set()


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"line"
        await asyncio.sleep(0)


async def streams(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["method"] == "GET"
    scope["route"] = "its route"
    await StreamingResponse(endless(), headers={"X-Told": "yes"})(scope, receive, send)


def test_what_is_streamed_without_end_ends_for_who_wants_only_its_head():
    async def ask() -> tuple[Scope, Listener]:
        scope: Scope = {"type": "http", "method": "HEAD", "asgi": {"spec_version": "2.3"}}
        listener = Listener()
        await asyncio.wait_for(Methods(streams)(scope, listener.receive, listener.send), 10)
        return scope, listener

    scope, listener = asyncio.run(ask())
    start, *body = listener.told
    assert (start["status"], dict(start["headers"])[b"x-told"]) == (200, b"yes")
    assert body == [{"type": "http.response.body", "body": b"", "more_body": False}]
    assert (scope["method"], scope["route"]) == ("HEAD", "its route")
