"""An answer's head and body leave together, and nothing that is written waits for what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from app.api.one_piece import OnePiece, OnePieceProtocol


class Pieces(asyncio.Transport):
    """A transport that remembers what it was given, and how often."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5)})
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


def after(what: Callable[[OnePiece], Awaitable[None] | None]) -> Pieces:
    """Return what left by the time that this is over."""
    pieces = Pieces()

    async def run() -> None:
        done = what(OnePiece(pieces))
        if done is not None:
            await done

    asyncio.run(run())
    return pieces


def test_two_that_are_written_at_once_leave_together() -> None:
    def head_and_body(transport: OnePiece) -> None:
        transport.write(b"head ")
        transport.write(b"body")

    assert after(head_and_body).written == [b"head body"]


def test_one_alone_leaves_as_soon_as_the_event_loop_goes_on() -> None:
    async def head_alone(transport: OnePiece) -> None:
        transport.write(b"head ")
        await asyncio.sleep(0)
        transport.write(b"body")
        await asyncio.sleep(0)

    assert after(head_alone).written == [b"head ", b"body"]


def test_what_follows_two_is_kept_anew() -> None:
    async def three(transport: OnePiece) -> None:
        for piece in (b"1", b"2", b"3"):
            transport.write(piece)
        await asyncio.sleep(0)

    assert after(three).written == [b"12", b"3"]


def test_what_is_kept_leaves_before_the_transport_closes() -> None:
    def head_and_end(transport: OnePiece) -> None:
        transport.write(b"head")
        transport.close()

    pieces = after(head_and_end)
    assert pieces.written == [b"head"]
    assert pieces.is_closed


def test_what_is_kept_is_for_nobody_once_the_client_is_gone() -> None:
    pieces: list[bytes] = []

    async def gone(transport: OnePiece) -> None:
        transport._transport.writelines = pieces.extend  # type: ignore[method-assign]
        transport.write(b"head")
        transport._transport.close()
        await asyncio.sleep(0)

    after(gone)
    assert pieces == []


def test_an_empty_body_is_no_piece() -> None:
    pieces: list[bytes] = []

    async def head_and_nothing(transport: OnePiece) -> None:
        transport._transport.writelines = pieces.extend  # type: ignore[method-assign]
        transport.write(b"head")
        transport.write(b"")

    after(head_and_nothing)
    assert pieces == [b"head"]


def test_all_else_is_the_transports_own() -> None:
    def ask(transport: OnePiece) -> None:
        assert transport.get_extra_info("peername") == ("127.0.0.1", 5)

    after(ask)


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer the path: `/slowly` with a body that comes later than its head."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    if scope["path"] == "/slowly":
        await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b"body"})


def answered(protocol: type[HttpToolsProtocol], path: str) -> list[bytes]:
    """Return the pieces in which a server that speaks so answers."""
    pieces = Pieces()

    async def serve() -> None:
        config = uvicorn.Config(answer, http=protocol, lifespan="off", log_config=None, server_header=False)
        config.load()
        client = protocol(config, ServerState(), {})
        client.connection_made(pieces)
        client.data_received(f"GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n".encode())
        while not pieces.is_closed:
            await asyncio.sleep(0.001)
        client.connection_lost(None)

    asyncio.run(serve())
    return pieces.written


@pytest.mark.parametrize(("path", "pieces"), [("/", 1), ("/slowly", 2)])
def test_an_answer_leaves_in_one_piece_if_its_body_is_there(path: str, pieces: int) -> None:
    written = answered(OnePieceProtocol, path)
    assert len(written) == pieces
    assert b"".join(written).startswith(b"HTTP/1.1 200 OK\r\n")
    assert written[-1].endswith(b"body")


def test_the_server_by_itself_takes_two() -> None:
    """Once it does not, nothing of ours is needed."""
    assert len(answered(HttpToolsProtocol, "/")) == 2
