"""Plain values as JSON: what the database wrote stands there as it wrote it, and nothing else is changed either."""

from __future__ import annotations

import json
from collections import deque
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.plain_json import WrittenTexts, plain_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(PLAIN)
def test_what_is_written_reads_back_the_same(document: Any) -> None:
    assert json.loads(plain_json(document)) == document


@given(st.lists(TEXTS))
def test_texts_that_are_written_already_are_the_same_texts(texts: list[str]) -> None:
    written = WrittenTexts(json.dumps(texts), len(texts))
    assert list(written) == texts
    assert len(written) == len(texts)
    assert json.loads(plain_json({"subject": written})) == {"subject": texts}


def test_texts_that_are_written_already_stand_as_they_were_written() -> None:
    assert plain_json({"a": WrittenTexts('["\\u00e9", "b"]', 2)}) == b'{"a":["\\u00e9", "b"]}'


def test_of_written_texts_one_is_told_or_some() -> None:
    written = WrittenTexts('["a", "b", "c"]', 3)
    assert (written[0], written[-1], written[1:]) == ("a", "c", ["b", "c"])


def test_texts_are_not_read_to_be_counted_or_written() -> None:
    unreadable = WrittenTexts("[no JSON]", 2)
    assert len(unreadable) == 2
    assert plain_json(unreadable) == b"[no JSON]"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_null(number: float) -> None:
    assert plain_json([number]) == b"[null]"
    assert plain_json([number, 2**70]) == b"[null,1180591620717411303424]"


def test_an_integer_of_any_size_is_told_with_written_texts_beside_it() -> None:
    document = {"seed": 2**70, "row": range(3), "subject": WrittenTexts('["a", "b"]', 2)}
    assert json.loads(plain_json(document)) == {"seed": 2**70, "row": [0, 1, 2], "subject": ["a", "b"]}


@pytest.mark.parametrize("many", [(1, 2), range(1, 3), deque([1, 2]), [1, 2]])
def test_whatever_can_be_gone_through_is_an_array(many: Any) -> None:
    assert plain_json(many) == b"[1,2]"


@pytest.mark.parametrize("value", [object(), "\ud800", [object()], {"a": MappingProxyType({"b": 1})}])
def test_what_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="serializ"):
        plain_json(value)
