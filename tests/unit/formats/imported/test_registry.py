"""Which format a file is of, and how its bytes become a document."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import DataError
from app.formats.imported.registry import FORMATS, parse, recognise

RATCHET = {
    "project": "acme/vision",
    "commit": "ab" * 20,
    "parent": "cd" * 20,
    "time": "2026-01-31T12:00:00+00:00",
    "device_class": "cpu-x-2t",
    "environment": {"kernel": "6.8"},
    "results": [
        {"benchmark": "b", "metric": "m", "unit": "s", "better": "higher", "values": [0.1, 2], "low": 0.05},
    ],
}


def test_nan_is_read_as_asv_writes_it():
    assert math.isnan(parse(b'{"a": NaN}')["a"])


def test_byte_order_mark_and_json_lines_are_read():
    assert parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert parse(b'{"a": 1}\n\n{"a": 2}\n') == [{"a": 1}, {"a": 2}]


def test_line_breaks_of_unicode_within_a_text_end_no_line():
    assert parse('{"a": "x\u2028y\x85"}\r\n{"a": 2}'.encode()) == [{"a": "x\u2028y\x85"}, {"a": 2}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff{}", "not UTF-8: see byte 0"),
        (b'{"a": 1', "not JSON: Expecting ',' delimiter at line 1, column 8"),
        (b"", "not JSON: Expecting value at line 1, column 1"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"a": 1}\n{"a"', "not JSON: Extra data at line 2, column 1"),
    ],
)
def test_file_that_is_no_json_is_refused_with_the_place(data, message):
    with pytest.raises(DataError) as refused:
        parse(data)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "document", [None, 3, "x", [], {}, [[]], {"results": []}, {"entries": 3}, {"data": []}]
)
def test_other_documents_are_of_no_format(document):
    assert recognise(document) is None


KEYS = [
    "entries",
    "benches",
    "commit_hash",
    "results",
    "benchmarks",
    "context",
    "commit_info",
    "tags",
    "stats",
]
KEYS += ["data", "testbed", "metrics", "project", "commit", "device_class", "branch", "measures"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


def test_whole_number_that_no_float_holds_keeps_nothing_else_out():
    good = RATCHET["results"][0]
    document = RATCHET | {"results": [good | {"values": [10**400]}, good | {"low": 10**400}]}
    reading = FORMATS["ratchet"].read(document, {})
    assert reading.problems == [
        ("results[0]", "values[0] is a number of 401 characters; only finite numbers can be stored")
    ]
    assert [result.low for result in reading.measured[0].results] == [None]


@given(document=JSON)
def test_every_document_is_recognised_or_not_and_read_without_a_fault(document: Any):
    name = recognise(document)
    if name is not None:
        FORMATS[name].read(document, {})


@pytest.mark.parametrize("data", [json.dumps(RATCHET), f"{json.dumps(RATCHET)}\n{json.dumps(RATCHET)}"])
def test_documents_of_our_own_are_taken_as_they_stand(data):
    document = parse(data.encode())
    assert recognise(document) == "ratchet"
    measured = FORMATS["ratchet"].read(document, {}).measured[-1]
    (result,) = measured.results
    assert (measured.commit.sha, measured.commit.parent) == ("ab" * 20, "cd" * 20)
    assert (measured.device_class, measured.environment) == ("cpu-x-2t", {"kernel": "6.8"})
    assert (result.values, result.low, result.high, result.better) == ((0.1, 2), 0.05, None, "higher")
