"""Passwords: which are taken, how they are kept, and how one is known again."""

from __future__ import annotations

import pytest

from app.domain.errors import DataError
from app.services.passwords import LONGEST, SHORTEST, hash_password, is_outdated, is_password

GOOD = "a horse in the rain"


def test_password_is_kept_by_argon2id_and_not_itself() -> None:
    stored = hash_password(GOOD, name="ada")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert stored != hash_password(GOOD, name="ada")
    assert is_password(stored, GOOD)
    assert not is_outdated(stored)


@pytest.mark.parametrize("other", ["", "A horse in the rain", GOOD + " ", "\ud800", "x" * 10_000, "\x00"])
def test_other_password_is_not_it(other: str) -> None:
    assert not is_password(hash_password(GOOD, name="ada"), other)


def test_nothing_is_the_password_of_nobody() -> None:
    assert not is_password(None, GOOD)
    assert not is_password("no hash", GOOD)


def test_password_is_known_however_its_letters_were_composed() -> None:
    assert is_password(hash_password("Zoe\u0308 rides a horse", name="zoe"), "Zo\u00eb rides a horse")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("x1" * (SHORTEST // 2 - 1), "characters"),
        ("x1" * LONGEST, "characters"),
        ("Augusta.Ada.King", "first that anybody"),
        ("1" * SHORTEST, "first that anybody"),
    ],
)
def test_bad_password_is_refused(bad: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        hash_password(bad, name="augusta.ada.king")


def test_password_stored_with_other_parameters_is_outdated() -> None:
    salt_and_hash = "GJxnBtw4d+olRjy7skAOGw$K2ss/vF17yIo9F8qrZ2rJ8BTkCXfl5L5laxG+u78k9U"
    assert is_outdated(f"$argon2id$v=19$m=65536,t=3,p=4${salt_and_hash}")
