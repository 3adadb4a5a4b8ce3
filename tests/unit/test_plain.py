"""Which endpoints can be asked by an address alone, and what its numbers are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import pytest
from fastapi import Header, Path, Query

from app.api.plain import Plain, plain

Number = Annotated[int, Path(ge=1, lt=2**63)]
Word = Annotated[str, Query(max_length=5)]


def of_numbers(
    series: Number, point: Number, columns: Annotated[int, Query()] = 5, word: Word = ""
) -> None: ...
def of_nothing() -> None: ...
def of_a_name(series: Annotated[str, Path()]) -> None: ...
def of_an_undescribed_number(series: int) -> None: ...
def of_a_word_that_is_needed(series: Number, word: Word) -> None: ...
def of_a_header(series: Number, key: Annotated[str | None, Header()] = None) -> None: ...
def of_what_nobody_described(series: Number, word: str = "") -> None: ...


def asked(path: str, endpoint: Callable[..., None]) -> Plain | None:
    return plain(path, inspect.signature(endpoint, eval_str=True).parameters)


def test_numbers_are_read_in_the_order_of_the_address() -> None:
    its = asked("/points/{point}/of/{series}", of_numbers)
    assert its is not None
    assert its.numbered(["12", "3"]) == {"point": 12, "series": 3}
    assert its.left == {"series", "point", "columns", "word"}


@pytest.mark.parametrize("written", ["0", str(2**63), "x"])
def test_a_number_that_cannot_be_is_none(written: str) -> None:
    its = asked("/points/{point}/of/{series}", of_numbers)
    assert its is not None
    assert its.numbered(["12", written]) is None


def test_an_address_without_numbers_says_nothing_else() -> None:
    its = asked("/results", of_nothing)
    assert its is not None
    assert its.numbered([]) == {}
    assert its.left == frozenset()


@pytest.mark.parametrize(
    "endpoint",
    [of_a_name, of_an_undescribed_number, of_a_word_that_is_needed, of_a_header, of_what_nobody_described],
)
def test_what_an_address_does_not_say_is_asked_through_the_framework(endpoint: Callable[..., None]) -> None:
    assert asked("/series/{series}", endpoint) is None
