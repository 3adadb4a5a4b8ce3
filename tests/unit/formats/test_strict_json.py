import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import PayloadError
from app.formats import strict_json
from app.formats.strict_json import MAX_DEPTH, read_json

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), inner, max_size=4
        )
    ),
    max_leaves=20,
)


def problems_of(body: bytes) -> list[tuple[str, str]]:
    with pytest.raises(PayloadError) as refused:
        read_json(body)
    return [(problem.path, problem.code) for problem in refused.value.problems]


@given(JSON_VALUES)
def test_what_is_json_is_read_as_it_was_written(value):
    assert read_json(json.dumps(value).encode()) == value


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
BLANKS = st.sampled_from(["", " ", "\t", "\r\n  "])


def as_told(read, body):
    """Return the document, or what is said against it."""
    try:
        return json.dumps(read(body))
    except PayloadError as refused:
        return refused.problems


@given(NUMBERS)
def test_a_number_is_the_double_next_to_it(written):
    assert as_told(read_json, written.encode()) == as_told(strict_json._read_closely, written.encode())


@given(JSON_VALUES, BLANKS, BLANKS, st.booleans())
def test_however_it_is_laid_out_it_is_the_same(value, before, after, is_ascii):
    written = json.dumps(value, separators=(f"{after},{before}", f"{before}:{after}"), ensure_ascii=is_ascii)
    assert read_json(written.encode()) == value


KEYS = st.sampled_from(["a", "b", ":", '\\":', "c :", "\u00e4"])


@given(st.lists(st.tuples(KEYS, BLANKS, KEYS), max_size=4))
def test_a_key_that_stands_twice_is_never_lost(entries):
    written = (f"{json.dumps(key)}{blank}:{json.dumps(text)}" for key, blank, text in entries)
    body = "{" + ",".join(written) + "}"
    assert as_told(read_json, body.encode()) == as_told(strict_json._read_closely, body.encode())
    is_taken = len({key for key, *_ in entries}) == len(entries)
    assert isinstance(as_told(read_json, body.encode()), str) is is_taken


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (b"", [("body", "bad_json")]),
        (b"{", [("body", "bad_json")]),
        (b"{} {}", [("body", "bad_json")]),
        (b"\xef\xbb\xbf{}", [("body", "bad_json")]),
        (b'{"a": "\x01"}', [("body", "bad_json")]),
        (b"\xff\xfe", [("body", "bad_utf8")]),
        (b'"\xed\xa0\x80"', [("body", "bad_utf8")]),
        (b"1" * 5000, [("body", "bad_number")]),
        (b"NaN", [("body", "not_finite")]),
        (b'{"a": [1, NaN, -Infinity]}', [("a[1]", "not_finite"), ("a[2]", "not_finite")]),
        (b'{"a": 1e400}', [("a", "not_finite")]),
        (b'{"a": -1E+400}', [("a", "not_finite")]),
        (b"1" * 310 + b".5", [("body", "not_finite")]),
        (b"[1" + b"0" * 290 + b"e99]", [("[0]", "not_finite")]),
        (b'{"a": 1, "a": 1}', [("a", "duplicate_key")]),
        (b'{"x": [{"a": 1, "b": 2, "b": 3}]}', [("x[0].b", "duplicate_key")]),
        (b'{"a": NaN, "a": 1}', [("a", "duplicate_key")]),
        (b'{"a": "\\u0000"}', [("a", "bad_character")]),
        (b'{"\\u0000": 1}', [('["\\u0000"]', "bad_character")]),
        (b'["\\ud800"]', [("[0]", "bad_character")]),
        (b'["\\uDC00\\uD800"]', [("[0]", "bad_character")]),
        (b"[" * 100_000, [("body", "too_deep")]),
    ],
)
def test_what_is_not_strict_json_is_refused_with_its_place(body, problems):
    assert problems_of(body) == problems


@pytest.mark.parametrize(
    "body", [rb'["\ud83d\ude00"]', rb'["\\u0000 \\ud800"]', b"[1e308]", b'{"a": {"a": 1}}']
)
def test_what_only_looks_suspicious_is_read(body):
    assert read_json(body) == json.loads(body)


def test_nesting_is_read_to_its_limit_and_no_further():
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert read_json(deepest) == json.loads(deepest)
    assert problems_of(b'{"a":' + deepest + b"}") == [("body", "too_deep")]


def test_broken_json_is_refused_with_line_and_column():
    with pytest.raises(PayloadError) as refused:
        read_json(b'{"a": 1,\n "b": oops}')
    (problem,) = refused.value.problems
    assert problem.line == 2
    assert "line 2, column 7" in problem.message


@given(st.binary() | st.text().map(str.encode))
def test_arbitrary_bytes_raise_nothing_but_payload_errors(body):
    with suppress(PayloadError):
        read_json(body)
