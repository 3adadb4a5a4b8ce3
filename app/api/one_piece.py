"""Answers leave in one piece: the server that we run on writes the head and the body of each apart.

That is a system call more here, and on one machine the client is woken twice, and reads twice, for every answer.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OnePiece:
    """A transport that keeps what is written until more follows, or until the event loop goes on.

    So no head waits for a body that is still being made.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._kept: bytes | None = None
        self._leaving: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        """Return whatever else a transport has."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write the data, together with what is kept; alone it is kept for a moment."""
        if self._kept is None:
            self._kept = data
            self._leaving = asyncio.get_running_loop().call_soon(self._leave)
        else:
            self._write_kept(data)

    def close(self) -> None:
        """Write what is kept, and close."""
        self._leave()
        self._transport.close()

    def _leave(self) -> None:
        if self._kept is not None:
            self._write_kept()

    def _write_kept(self, *more: bytes) -> None:
        assert self._kept is not None
        assert self._leaving is not None
        self._leaving.cancel()
        pieces, self._kept, self._leaving = [self._kept, *more], None, None
        if not self._transport.is_closing():  # else nobody is there to read
            self._transport.writelines([piece for piece in pieces if piece])


class OnePieceProtocol(HttpToolsProtocol):
    """HTTP as the server speaks it, on such transports."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server has it
        """Begin with a client."""
        super().connection_made(cast("asyncio.Transport", OnePiece(transport)))
