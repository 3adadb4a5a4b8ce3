"""Whose answers are packed."""

from __future__ import annotations

import pytest

from app.api.packing import takes_gzip


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
