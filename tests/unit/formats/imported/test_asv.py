"""Result files of asv, versions 1 and 2."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.imported.asv import read, recognises
from app.formats.imported.model import Reading
from app.formats.imported.registry import FORMATS, recognise
from tests.factories.import_files import parsed

SHA = "22b920c6d0d54112ccbc020eddba9ea7a2d204f3"
MACHINE = {"machine": "cheetah", "cpu": "AMD EPYC 7763 64-Core Processor", "num_cpu": "128", "os": "Linux"}
BENCHMARKS = {
    "s.Suite.time_it": {"type": "time", "unit": "seconds", "param_names": [], "params": [], "version": "v2"},
    "s.time_grid": {
        "type": "time",
        "unit": "seconds",
        "param_names": ["n", "dtype"],
        "params": [["1", "20"], ["'f4'", "<class 'int'>"]],
    },
    "s.peakmem_it": {"type": "peakmemory", "unit": "bytes"},
    "s.mem_it": {"type": "memory", "unit": "bytes"},
    "s.track_rows": {"type": "track", "unit": "rows"},
}
COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"]
COLUMNS += ["stats_q_25", "stats_q_75", "number", "repeat", "samples", "profile"]


def version_2(results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "commit_hash": SHA,
        "date": 1378902176000,
        "params": MACHINE,
        "python": "3.8",
        "requirements": {"numpy": "1.20", "Cython": ""},
        "env_vars": {"CFLAGS": "-O3"},
        "result_columns": COLUMNS,
        "results": results,
    } | fields


def version_1(results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    document = version_2(results, **fields)
    del document["result_columns"]
    return document | {"version": 1}


def results_of(document: dict[str, Any], benchmarks: dict[str, Any] = BENCHMARKS) -> list[Any]:
    reading = read(document, {"benchmarks.json": benchmarks}, Reading())
    assert reading.problems == []
    return [result for measured in reading.measured for result in measured.results]


def test_result_file_is_told_by_its_keys_and_companions_are_not():
    assert recognises(version_2({}))
    assert recognise(version_1({})) == "asv"
    assert recognise(BENCHMARKS) is None
    assert recognise(MACHINE) is None
    assert FORMATS["asv"].companions == ("machine.json", "benchmarks.json")


def test_commit_date_machine_and_environment_are_told():
    (measured,) = read(version_2({"s.Suite.time_it": [[0.5], [], "v2"]}), {}, Reading()).measured
    assert measured.commit.sha == SHA
    assert measured.commit.time == datetime(2013, 9, 11, 12, 22, 56, tzinfo=UTC)
    assert measured.machine.device_class == "cpu-amd-epyc-7763-128t"
    assert measured.environment == {
        "tool": "asv",
        **MACHINE,
        "python": "3.8",
        "numpy": "1.20",
        "Cython": "latest",
        "env-CFLAGS": "-O3",
    }


def test_machine_that_the_file_does_not_tell_is_taken_from_machine_json():
    document = version_2({"s.Suite.time_it": [[0.5], [], "v2"]}, params={})
    (measured,) = read(document, {"machine.json": MACHINE}, Reading()).measured
    assert measured.machine.device_class == "cpu-amd-epyc-7763-128t"


def test_files_of_one_machine_are_of_one_class_whatever_they_told_of_it_over_the_years():
    told = ({"machine": "cheetah", "cpu": "AMD EPYC 7763"}, MACHINE | {"num_cpu": "64"}, {})
    readings = [
        read(version_2({"s.time_x": [[0.5]]}, params=one), {"machine.json": MACHINE}, Reading())
        for one in told
    ]
    assert {r.measured[0].machine.device_class for r in readings} == {"cpu-amd-epyc-7763-128t"}


def test_each_environment_has_cases_of_its_own():
    (result,) = results_of(version_2({"s.Suite.time_it": [[0.5], [], "v2"]}))
    assert result.params == {"python": "3.8", "numpy": "1.20", "Cython": "latest", "env-CFLAGS": "-O3"}


def test_environment_with_the_latest_of_a_requirement_is_another_than_one_without_it():
    matrix: list[dict[str, Any]] = [{"numpy": "", "Cython": "0.29"}, {"Cython": "0.29"}, {"numpy": None}]
    found = [
        results_of(version_2({"s.time_x": [[1.0]]}, requirements=one, env_vars={}))[0].params
        for one in matrix
    ]
    assert found == [
        {"python": "3.8", "numpy": "latest", "Cython": "0.29"},
        {"python": "3.8", "Cython": "0.29"},
        {"python": "3.8"},
    ]


def test_variable_that_is_set_to_nothing_is_another_environment_than_one_that_is_not_set():
    found = [
        results_of(version_2({"s.time_x": [[1.0]]}, env_vars=one))[0].params
        for one in ({"X": ""}, {"X": None})
    ]
    assert [params.get("env-X") for params in found] == ["", None]


def test_parameter_of_a_benchmark_keeps_its_name_and_what_tells_the_environment_gives_way():
    names = ["python", "numpy", "asv-numpy"]
    known = {"s.time_x": {"type": "time", "param_names": names}}
    row = [[1.0], [["'a'"], ["'b'"], ["'c'"]]]
    (result,) = results_of(version_2({"s.time_x": row}, requirements={"numpy": "1.20"}, env_vars={}), known)
    assert result.params == {
        "python": "a",
        "numpy": "b",
        "asv-numpy": "c",
        "asv-python": "3.8",
        "asv-asv-numpy": "1.20",
    }


def test_results_without_benchmarks_json_are_noted():
    document = version_2({"s.time_x": [[1.0]]})
    (alone,) = read(document, {}, Reading()).measured
    (known,) = read(document, {"benchmarks.json": BENCHMARKS}, Reading()).measured
    assert known.notes == ()
    (note,) = alone.notes
    assert note.startswith("without benchmarks.json")


def test_parameters_become_cases_the_last_varying_fastest():
    row = [[1.0, 2.0, 3.0, 4.0], [["1", "20"], ["'f4'", "<class 'int'>"]]]
    cases = [
        (r.params["n"], r.params["dtype"], r.values) for r in results_of(version_2({"s.time_grid": row}))
    ]
    assert cases == [
        (1, "f4", (1.0,)),
        (1, "<class 'int'>", (2.0,)),
        (20, "f4", (3.0,)),
        (20, "<class 'int'>", (4.0,)),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12),
        ("-1.5", -1.5),
        ("1e-08", 1e-08),
        ("'a'", "a"),
        ('"it\'s"', "it's"),
        ("True", True),
        ("None", None),
        ("1.50", "1.50"),
        ("nan", "nan"),
        ("[1, 2]", "[1, 2]"),
        ("9007199254740993", "9007199254740993"),
        ("'<b>💡</b>'", "<b>💡</b>"),
        ("שלום", "שלום"),
        ("''", ""),
        (3, 3),
    ],
)
def test_parameter_is_a_plain_value_where_its_text_says_exactly_that(written, value):
    (result,) = results_of(version_2({"s.time_x": [[1.0], [[written]]]}))
    assert result.params["param1"] == value
    assert type(result.params["param1"]) is type(value)


def test_null_and_nan_are_left_out_and_counted():
    row = [[None, math.nan, 3.0, None], [["1", "20"], ["'f4'", "2"]]]
    reading = read(version_2({"s.time_grid": row, "s.Suite.time_it": [None, [], "v2"]}), {}, Reading())
    assert [result.values for measured in reading.measured for result in measured.results] == [(3.0,)]
    assert dict(reading.left_out) == {"that failed (null)": 3, "that were skipped (NaN)": 1}


def test_kinds_have_their_metric_and_unit():
    rows = {name: [[7]] for name in ("s.peakmem_it", "s.mem_it", "s.track_rows")}
    assert [(r.metric, r.unit, r.better) for r in results_of(version_2(rows))] == [
        ("peak_memory", "B", "lower"),
        ("memory", "B", "lower"),
        ("value", "rows", "lower"),
    ]


def test_benchmark_that_is_listed_no_more_is_known_by_its_prefix():
    rows = {name: [[7]] for name in ("s.time_a", "s.T.peakmem_a", "s.timeraw_a", "s.track_a", "s.other")}
    assert [(r.metric, r.unit) for r in results_of(version_2(rows), {})] == [
        ("latency_p50", "s"),
        ("peak_memory", "B"),
        ("latency_p50", "s"),
        ("value", "1"),
        ("value", "1"),
    ]


def test_results_of_an_older_version_of_their_benchmark_are_left_out():
    reading = read(
        version_2({"s.Suite.time_it": [[0.5], [], "v1"]}), {"benchmarks.json": BENCHMARKS}, Reading()
    )
    assert (reading.measured, sum(reading.left_out.values())) == ([], 1)


def test_samples_are_the_values_and_quartiles_the_spread_where_there_are_none():
    row = [[2.0], [], "v2", None, None, [1.9], [2.1], [1.95], [2.05], [1], [3], [[1.0, 2.0, 3.0]]]
    (result,) = results_of(version_2({"s.Suite.time_it": row}))
    assert (result.values, result.low, result.high) == ((1.0, 2.0, 3.0), None, None)
    (result,) = results_of(version_2({"s.Suite.time_it": row[:9]}))
    assert (result.values, result.low, result.high) == ((2.0,), 1.95, 2.05)


def test_quartile_that_was_rounded_past_the_value_ends_at_the_value():
    row = [[1.23456], [], "v2", None, None, [1.2], [1.3], [1.2346], [1.2345]]
    (result,) = results_of(version_2({"s.Suite.time_it": row}))
    assert (result.low, result.high) == (1.23456, 1.23456)


def test_version_1_has_values_and_objects():
    results = {
        "s.Suite.time_it": 0.5,
        "s.time_grid": {"params": [["1"], ["'f4'", "'f8'"]], "result": [1, 2]},
        "s.time_ci": {"result": 1, "stats": [{"ci_99": [0.9, 1.1], "q_25": 0.95, "q_75": 1.05}]},
    }
    found = results_of(version_1(results))
    assert [(r.values, r.low, r.high) for r in found] == [
        ((0.5,), None, None),
        ((1,), None, None),
        ((2,), None, None),
        ((1,), 0.95, 1.05),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([[1.0, 2.0], [["1"]]], "2 results for 1 combination of parameters"),
        ([[1.0], [["1", "2"]]], "1 result for 2 combinations of parameters"),
        ([["fast"], []], 'the result is "fast"; expected a number'),
        ([[math.inf], []], "the result is Infinity; only finite numbers can be stored"),
        ([[1.0], [[["3"]]]], "a parameter is a list; expected text"),
        (7, "the result is 7; expected a list"),
    ],
)
def test_bad_result_is_told_with_its_place_and_keeps_no_other_out(row, message):
    reading = read(version_2({"s.time_bad": row, "s.time_good": [[1.0]]}), {}, Reading())
    (problem,) = reading.problems
    assert problem[0].startswith('results["s.time_bad"]')
    assert problem[1] == message
    assert [r.benchmark for m in reading.measured for r in m.results] == ["s.time_good"]


def test_file_without_a_commit_is_told():
    reading = read(version_2({"s.time_good": [[1.0]]}, commit_hash=None), {}, Reading())
    assert reading.problems == [("the file", "commit_hash is null; expected text")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(results=st.dictionaries(st.text(max_size=5), JSON, max_size=3), fields=JSON, columns=JSON)
def test_whatever_stands_in_a_file_is_read_or_told(results, fields, columns):
    document = {"commit_hash": SHA, "results": results, "result_columns": columns, "params": fields}
    document |= {"benchmark_version": fields, "requirements": fields, "date": fields}
    read(document, {"benchmarks.json": {name: fields for name in results}, "machine.json": fields}, Reading())


@pytest.fixture
def sample(recordings: Path) -> Path:
    return recordings / "asv"


def test_a_real_file_is_read(sample):
    document = parsed((sample / "22b920c6-py2.7-Cython-numpy1.8.json").read_bytes())
    reading = read(
        document, {"benchmarks.json": parsed((sample / "benchmarks.json").read_bytes())}, Reading()
    )
    (measured,) = reading.measured
    assert (measured.commit.sha, measured.machine.device_class) == (SHA, "cpu-intel-core-i5-2520m")
    assert (len(measured.results), reading.problems) == (20, [])
    assert measured.results[0].values == (0.0004540278911590576,)
    assert sum(reading.left_out.values()) == 3
