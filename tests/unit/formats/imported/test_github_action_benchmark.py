"""`data.js` of github-action-benchmark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.imported.github_action_benchmark import read, recognises
from app.formats.imported.model import Reading
from app.formats.imported.registry import recognise
from tests.factories.import_files import parsed

COMMIT = {
    "id": "45d78258e495044a551046f50604da3c893052ce",
    "message": "add <b>example</b> 💡\n\nlonger",
    "timestamp": "2019-11-10T00:06:58+09:00",
    "author": {"name": "rhysd", "email": "r@example.org"},
    "url": "https://github.com/x/y/commit/45d7",
}


def entry(*benches: dict[str, Any], tool: str = "cargo", **fields: Any) -> dict[str, Any]:
    return {"commit": COMMIT, "date": 1573312140323, "tool": tool, "benches": list(benches)} | fields


def bench(name: str = "fib_10", value: Any = 254, **fields: Any) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": "ns/iter"} | fields


def data_js(**suites: list[dict[str, Any]]) -> dict[str, Any]:
    return {"lastUpdate": 1, "repoUrl": "https://github.com/x/y", "entries": suites}


def results_of(*benches: dict[str, Any], tool: str = "cargo") -> list[Any]:
    reading = read(data_js(Suite=[entry(*benches, tool=tool)]), {}, Reading())
    assert reading.problems == []
    return [result for measured in reading.measured for result in measured.results]


@pytest.mark.parametrize("ending", ["", ";", ";\n"])
def test_script_is_parsed_and_recognised(ending):
    script = f"window.BENCHMARK_DATA = {json.dumps(data_js(Suite=[entry(bench())]), indent=2)}{ending}"
    assert recognise(parsed(script.encode())) == "github-action-benchmark"
    assert recognise(data_js()) == "github-action-benchmark"
    assert not recognises({"entries": {"Suite": 3}})


def test_commit_author_and_subject_are_told():
    (measured,) = read(data_js(Suite=[entry(bench())]), {}, Reading()).measured
    commit = measured.commit
    assert (commit.sha, commit.author, commit.subject) == (COMMIT["id"], "rhysd", "add <b>example</b> 💡")
    assert commit.time == datetime(2019, 11, 9, 15, 6, 58, tzinfo=UTC)
    assert measured.machine.device_class == "unknown"


def test_every_suite_has_cases_of_its_own():
    measured = read(
        data_js(linux=[entry(bench())], windows=[entry(bench()), entry(bench())]), {}, Reading()
    ).measured
    assert [m.results[0].params for m in measured] == [
        {"suite": "linux"},
        {"suite": "windows"},
        {"suite": "windows"},
    ]


@pytest.mark.parametrize(
    ("tool", "unit", "wanted"),
    [
        ("cargo", "ns/iter", ("time", "ns", "lower")),
        ("go", "ns/op", ("time", "ns", "lower")),
        ("go", "B/op", ("value", "B/op", "lower")),
        ("go", "MB/s", ("throughput", "MB/s", "higher")),
        ("go", "allocs/op", ("value", "allocs/op", "lower")),
        ("benchmarkjs", "ops/sec", ("throughput", "operations/s", "higher")),
        ("pytest", "iter/sec", ("throughput", "iter/sec", "higher")),
        ("googlecpp", "us/iter", ("time", "us", "lower")),
        ("catch2", "ms", ("time", "ms", "lower")),
        ("jmh", "ops/s", ("throughput", "ops/s", "higher")),
        ("jmh", "ms/op", ("time", "ms", "lower")),
        ("customBiggerIsBetter", "points", ("value", "points", "higher")),
        ("customSmallerIsBetter", "Percent", ("value", "%", "lower")),
        ("customSmallerIsBetter", "MB/s", ("throughput", "MB/s", "lower")),
        ("a tool of tomorrow", "req/s", ("throughput", "req/s", "higher")),
    ],
)
def test_metric_unit_and_direction_follow_from_the_tool(tool, unit, wanted):
    (result,) = results_of(bench(unit=unit), tool=tool)
    assert (result.metric, result.unit, result.better) == wanted


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ("± 35", 65, 135),
        ("+/- 35", 65, 135),
        ("± 1,035", 0, 1135),
        ("±1.5%", 98.5, 101.5),
        ("stddev: 2.5e-1", 99.75, 100.25),
        ("3", 97, 103),
        (3, 97, 103),
        ("100 +/- 10", 90, 110),
        ("100 ± 10", 90, 110),
        ("95 ... 110", 95, 110),
        ("95-110", 95, 110),
        ("9.5e1 – 1.1e2", 95, 110),
        ("101-110", None, None),
        ("110-95", None, None),
        ("3 of 5", None, None),
        ("0,5", None, None),
        ("± 0,5", None, None),
        (True, None, None),
        ("1e999", None, None),
        ("a lot", None, None),
        (None, None, None),
    ],
)
def test_range_is_the_spread(written, low, high):
    (result,) = results_of(bench(value=100, range=written))
    assert (result.low, result.high) == (low, high)


def test_range_beyond_all_numbers_is_none():
    (result,) = results_of(bench(value=1.7e308, range="± 1e308"))
    assert (result.low, result.high) == (None, None)


def test_range_of_a_rate_of_pytest_is_of_the_time_of_one_call():
    fast = bench(value=40_000, unit="iter/sec", range="stddev: 0.00001")
    slow = bench("slow", value=2, unit="iter/sec", range="stddev: 1")
    (first, second) = results_of(fast, slow, tool="pytest")
    assert (first.low, first.high) == (pytest.approx(24_000), pytest.approx(56_000))
    assert (second.low, second.high) == (0, 6)


def test_value_may_be_written_as_text_and_the_unit_left_out():
    (first, second) = results_of(bench(value="31", unit=""), bench("b", value="7.5", unit=None))
    assert (first.values, first.unit, second.values, second.unit) == ((31.0,), "1", (7.5,), "1")


def test_name_that_stands_several_times_in_an_entry_was_measured_as_often():
    (result,) = results_of(bench(value=1, range="± 5"), bench(value=3), bench(value=2))
    assert (result.values, result.low, result.high) == ((1, 3, 2), None, None)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "**bold** `x`", "🚀", "שלום עולם", "x" * 2000])
def test_names_come_as_they_are(name):
    (result,) = results_of(bench(name=name))
    assert result.benchmark == name


def test_bad_bench_is_told_with_its_place_and_keeps_no_other_out():
    reading = read(data_js(**{"My Suite": [entry(bench(value="fast"), bench("good"))]}), {}, Reading())
    assert reading.problems == [('entries["My Suite"][0].benches[0]', 'value is "fast"; expected a number')]
    assert [r.benchmark for m in reading.measured for r in m.results] == ["good"]


def test_entry_without_a_commit_is_told_and_keeps_no_other_out():
    reading = read(data_js(S=[entry(bench(), commit={}), entry(bench())]), {}, Reading())
    assert reading.problems == [("entries.S[0]", "commit.id is null; expected text")]
    assert len(reading.measured) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(
    some=st.lists(JSON, max_size=3),
    fields=st.dictionaries(st.sampled_from(["name", "value", "unit", "range"]), JSON),
)
def test_whatever_stands_in_a_file_is_read_or_told(some, fields):
    read({"entries": {"S": [*some, entry(fields), entry(commit=fields), {"benches": some}]}}, {}, Reading())
