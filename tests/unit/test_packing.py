"""Whose answers are packed."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.testclient import TestClient

from app.api.packing import LARGE_B, SMALLEST_B, packed, takes_gzip


@pytest.mark.parametrize(
    "accepted",
    ["gzip", "GZIP", "gzip, deflate, br", "br;q=1.0, gzip;q=0.1", "deflate,gzip ; q=0.5", "*", "x-gzip"],
)
def test_who_takes_gzip_has_it(accepted: str) -> None:
    assert takes_gzip(accepted)


@pytest.mark.parametrize(
    "accepted",
    ["", "identity", "gzip;q=0", "gzip; q=0.0, *", "br, *;q=0", "x-gzip-like", "deflate", "gzip;q=nan"],
)
def test_who_does_not_take_it_has_none(accepted: str) -> None:
    assert not takes_gzip(accepted)


SIZES = [SMALLEST_B - 1, SMALLEST_B, LARGE_B - 1, LARGE_B]


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
@pytest.mark.parametrize("size", SIZES)
def test_what_is_there_is_packed_where_it_is_large_and_that_is_taken(size: int, accepted: str) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        answer = PlainTextResponse("x" * size, headers={"Vary": "Cookie"})
        await packed(answer, scope)(scope, receive, send)

    with TestClient(app).stream("GET", "/", headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())
    is_packed = accepted == "gzip" and size >= SMALLEST_B
    assert answer.headers.get("content-encoding") == ("gzip" if is_packed else None)
    assert int(answer.headers["content-length"]) == len(raw)
    assert answer.headers["vary"] == ("Cookie" if size < SMALLEST_B else "Cookie, Accept-Encoding")
    assert (gzip.decompress(raw) if is_packed else raw) == b"x" * size


def test_what_is_streamed_is_packed_piece_by_piece() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await packed(StreamingResponse(iter(["one ", "two"])), scope)(scope, receive, send)

    answer = TestClient(app).get("/", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == "one two"
