"""A right document of each format in which any one part was replaced by something else: read, or told as a problem."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.imported.model import Reading
from app.formats.imported.registry import FORMATS, recognise
from tests.unit.formats.imported import (
    test_asv,
    test_bencher,
    test_conbench,
    test_github_action_benchmark,
    test_google_benchmark,
    test_pytest_benchmark,
    test_registry,
)

RIGHT: dict[str, Any] = {
    "asv": test_asv.version_2({"s.time_grid": [[1.5, None, 3.5, 4], [["1", "20"], ["'f4'", "'f8'"]], "v2"]}),
    "asv version 1": test_asv.version_1(
        {
            "s.time_grid": {
                "result": [1.5, 2],
                "params": [["1", "20"]],
                "samples": [[1, 2], None],
                "stats": [{}],
            }
        }
    ),
    "github-action-benchmark": test_github_action_benchmark.data_js(
        Suite=[test_github_action_benchmark.entry(test_github_action_benchmark.bench(range="± 3"))]
    ),
    "pytest-benchmark": test_pytest_benchmark.document(),
    "google-benchmark": test_google_benchmark.document(),
    "conbench": [test_conbench.result()],
    "bencher": test_bencher.report(),
    "ratchet": test_registry.RATCHET,
}
BENCHMARKS = test_asv.BENCHMARKS

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)

Path = tuple[str | int, ...]


def paths(document: Any, before: Path = ()) -> Iterator[Path]:
    """Every place in a document, from the outermost."""
    yield before
    if isinstance(document, dict | list):
        items = document.items() if isinstance(document, dict) else enumerate(document)
        for key, inner in items:
            yield from paths(inner, (*before, key))


def damaged(document: Any, path: Path, by: Any) -> Any:
    """The document with another thing in this place."""
    if not path:
        return by
    its = copy.deepcopy(document)
    within = its
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = by
    return its


@pytest.mark.parametrize("name", RIGHT)
@given(data=st.data())
def test_one_wrong_part_is_read_or_told(name: str, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(paths(RIGHT[name]))))
    document = damaged(RIGHT[name], path, data.draw(ANYTHING))
    if (format_name := recognise(document)) is not None:
        FORMATS[format_name].read(document, {"benchmarks.json": BENCHMARKS}, Reading())


@given(data=st.data())
def test_wrong_files_beside_those_of_asv_are_read_or_told(data: st.DataObject) -> None:
    beside = {"benchmarks.json": BENCHMARKS, "machine.json": test_asv.MACHINE}
    path = data.draw(st.sampled_from(list(paths(beside))[1:]))
    FORMATS["asv"].read(RIGHT["asv"], damaged(beside, path, data.draw(ANYTHING)), Reading())


@pytest.mark.parametrize("name", RIGHT)
def test_the_documents_are_right_before(name: str) -> None:
    reading = FORMATS[recognise(RIGHT[name]) or ""].read(
        RIGHT[name], {"benchmarks.json": BENCHMARKS}, Reading()
    )
    assert reading.problems == []
    assert sum(len(measured.results) for measured in reading.measured)
