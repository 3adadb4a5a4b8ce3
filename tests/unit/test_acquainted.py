"""Tokens that were good lately are known again, the newest of them."""

from __future__ import annotations

from app.api import acquainted
from app.api.acquainted import Acquainted


def test_token_is_known_from_when_it_was_good_until_it_is_not() -> None:
    known = Acquainted()
    assert "ratchet_1_2" not in known
    known.add("ratchet_1_2")
    assert "ratchet_1_2" in known
    assert "ratchet_1_3" not in known
    known.drop("ratchet_1_2")
    known.drop("ratchet_never_there")
    assert "ratchet_1_2" not in known


def test_who_asked_last_stays_longest(monkeypatch) -> None:
    monkeypatch.setattr(acquainted, "MOST", 2)
    known = Acquainted()
    known.add("first")
    known.add("second")
    assert "first" in known
    known.add("third")
    assert [token in known for token in ("first", "second", "third")] == [True, False, True]


def test_no_token_is_kept_itself() -> None:
    known = Acquainted()
    known.add("ratchet_1_2")
    assert b"ratchet_1_2" not in repr(vars(known)).encode()
