"""Bodies that came packed, unpacked up to a limit, whatever they claim to hold."""

from __future__ import annotations

import zlib

from app.domain.errors import PayloadError, Problem

GZIP = zlib.MAX_WBITS | 16
"""Tells the decompressor to read gzip's header and trailer."""

MOST_MEMBERS = 10_000
"""Of a body: programs that pack in blocks write one for 64 KiB, and empty ones take time and no place."""

_AT_FIRST_B, _AT_ONCE_B = 2**12, 2**18
"""What is behind the end of a member is copied: of a small one that is to be little."""


class BeyondLimitError(Exception):
    """More is packed than the limit."""


def unpack(packed: bytes, limit: int) -> bytes:
    """Return all that gzip packed, in one member or in several after each other (RFC 1952, section 2.2).

    Raises:
        PayloadError: it is not gzip, ends too early, or has something else behind its end.
        BeyondLimitError: there is more than `limit` bytes of it.
    """
    body, place = bytearray(), 0
    for _ in range(MOST_MEMBERS):
        place = _unpack_member(memoryview(packed), place, body, limit)
        if place == len(packed):
            return bytes(body)
    raise _bad(f"the gzip body has more than {MOST_MEMBERS} members")


def _unpack_member(packed: memoryview, place: int, body: bytearray, limit: int) -> int:
    """Add what the member at this place holds to the body, and return the place behind it."""
    unpacker = zlib.decompressobj(GZIP)
    begin, at_once_b = place, _AT_FIRST_B
    while not unpacker.eof:
        piece = packed[place : place + at_once_b]
        at_once_b = _AT_ONCE_B
        if not piece:
            raise _bad("the gzip body ends too early")
        try:
            body += unpacker.decompress(piece, limit + 1 - len(body))
        except zlib.error as error:
            where = f" from its byte {begin} on" if begin else ""
            raise _bad(f"the body is not gzip{where}: {error}") from None
        if len(body) > limit:
            raise BeyondLimitError
        place += len(piece) - len(unpacker.unused_data)
    return place


def _bad(message: str) -> PayloadError:
    return PayloadError([Problem("body", "bad_gzip", message)])
