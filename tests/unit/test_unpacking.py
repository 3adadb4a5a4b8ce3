"""Packed bodies: everything that is in them, and no more than the limit."""

from __future__ import annotations

import gzip

import pytest

from app.api import unpacking
from app.api.unpacking import BeyondLimitError, unpack
from app.domain.errors import PayloadError

TEXT = bytes(range(256)) * 4_000
HALF = len(TEXT) // 2


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([TEXT], id="one"),
        pytest.param([TEXT[:HALF], TEXT[HALF:]], id="two"),
        pytest.param([b"", TEXT, b""], id="empty ones around"),
        pytest.param([b""], id="nothing"),
        pytest.param([TEXT[n : n + 1000] for n in range(0, len(TEXT), 1000)], id="a thousand"),
    ],
)
def test_all_members_are_unpacked(parts: list[bytes]) -> None:
    body = b"".join(parts)
    assert unpack(b"".join(map(gzip.compress, parts)), len(body)) == body


@pytest.mark.parametrize("limit", [0, 1, HALF, len(TEXT) - 1])
@pytest.mark.parametrize("parts", [[TEXT], [TEXT[:HALF], TEXT[HALF:]]])
def test_no_more_than_the_limit_is_unpacked(parts: list[bytes], limit: int) -> None:
    with pytest.raises(BeyondLimitError):
        unpack(b"".join(map(gzip.compress, parts)), limit)


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        pytest.param(b"", "ends too early", id="nothing"),
        pytest.param(gzip.compress(TEXT)[:-1], "ends too early", id="a member without its end"),
        pytest.param(b"text", "is not gzip: ", id="text"),
        pytest.param(gzip.compress(b"text") + b"more", "is not gzip from its byte 24 on", id="text behind"),
        pytest.param(
            gzip.compress(b"text") + gzip.compress(b"more")[:-1],
            "ends too early",
            id="a second without its end",
        ),
    ],
)
def test_what_is_no_gzip_is_refused(packed: bytes, said: str) -> None:
    with pytest.raises(PayloadError, match=said) as refused:
        unpack(packed, 10**9)
    assert refused.value.problems[0].code == "bad_gzip"


def test_endless_members_that_hold_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 3)
    assert unpack(gzip.compress(b"") * 3, 10) == b""
    with pytest.raises(PayloadError, match="more than 3 members"):
        unpack(gzip.compress(b"") * 4, 10)
