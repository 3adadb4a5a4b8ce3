"""Which format a file is of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.imported.model import Reading
from app.formats.imported.registry import FORMATS, recognise
from tests.factories.import_files import parsed

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
    reading = FORMATS["ratchet"].read(document, {}, Reading())
    assert reading.problems == [
        ("results[0]", "values[0] is a number of 401 characters; only finite numbers can be stored")
    ]
    assert [result.low for result in reading.measured[0].results] == [None]


@given(document=JSON)
def test_every_document_is_recognised_or_not_and_read_without_a_fault(document: Any):
    name = recognise(document)
    if name is not None:
        FORMATS[name].read(document, {}, Reading())


@pytest.mark.parametrize("data", [json.dumps(RATCHET), f"{json.dumps(RATCHET)}\n{json.dumps(RATCHET)}"])
def test_documents_of_our_own_are_taken_as_they_stand(data):
    document = parsed(data.encode())
    assert recognise(document) == "ratchet"
    measured = FORMATS["ratchet"].read(document, {}, Reading()).measured[-1]
    (result,) = measured.results
    assert (measured.commit.sha, measured.commit.parent) == ("ab" * 20, "cd" * 20)
    assert (measured.device_class, measured.environment) == ("cpu-x-2t", {"kernel": "6.8"})
    assert (result.values, result.low, result.high, result.better) == ((0.1, 2), 0.05, None, "higher")
