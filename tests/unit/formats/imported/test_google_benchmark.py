"""JSON of Google Benchmark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.formats.imported.google_benchmark import read, recognises
from app.formats.imported.model import Reading
from app.formats.imported.registry import recognise
from tests.factories.import_files import parsed


def run(name: str = "BM_sort/64", real_time: Any = 2.0, **fields: Any) -> dict[str, Any]:
    default = {"run_name": name, "run_type": "iteration", "cpu_time": 1.0, "time_unit": "us"}
    return {"name": name, "real_time": real_time} | default | fields


def document(*runs: dict[str, Any], **context: Any) -> dict[str, Any]:
    default = {"date": "2021-09-02T20:49:34+08:00", "host_name": "Corgi.local", "num_cpus": 4, "caches": []}
    return {"context": default | context, "benchmarks": list(runs) or [run()]}


def results_of(*runs: dict[str, Any]) -> list[tuple[Any, ...]]:
    reading = read(document(*runs), {}, Reading())
    assert reading.problems == []
    return [(r.benchmark, r.metric, r.unit, r.better, r.values) for m in reading.measured for r in m.results]


def test_it_is_told_by_its_content():
    assert recognises(document())
    assert recognise(document()) == "google-benchmark"


def test_time_and_machine_are_told():
    (measured,) = read(document(), {}, Reading()).measured
    assert measured.measured_at == datetime(2021, 9, 2, 12, 49, 34, tzinfo=UTC)
    assert measured.machine.device_class == "cpu-corgi-local-4t"
    assert measured.environment == {"tool": "google-benchmark", "host_name": "Corgi.local", "num_cpus": 4}


@pytest.mark.parametrize("key", ["git_sha", "commit", "Git-Commit", "revision"])
def test_commit_may_stand_in_the_context(key):
    (measured,) = read(document(**{key: "ab" * 20}), {}, Reading()).measured
    assert measured.commit.sha == "ab" * 20


def test_file_without_a_commit_names_none():
    assert read(document(), {}, Reading()).measured[0].commit.sha == ""


def test_both_times_are_metrics():
    assert results_of(run()) == [
        ("BM_sort/64", "real_time", "us", "lower", (2.0,)),
        ("BM_sort/64", "cpu_time", "us", "lower", (1.0,)),
    ]


def test_repetitions_are_values_and_aggregates_are_left_out():
    runs = [run(real_time=value) for value in (3.0, 1.0, 2.0)]
    runs += [run(name="BM_sort/64_mean", run_name="BM_sort/64", run_type="aggregate", aggregate_name="mean")]
    assert results_of(*runs)[0] == ("BM_sort/64", "real_time", "us", "lower", (3.0, 1.0, 2.0))


def test_median_stands_where_only_aggregates_were_kept():
    aggregates = [
        run(name=f"BM_{a}", run_name="BM", run_type="aggregate", aggregate_name=a, real_time=value)
        for a, value in (("mean", 1.0), ("median", 2.0), ("stddev", 3.0))
    ]
    assert results_of(*aggregates)[0][4] == (2.0,)


def test_rates_are_metrics_that_grow():
    found = results_of(run(items_per_second=5.0, bytes_per_second=6.0))
    assert found[2:] == [
        ("BM_sort/64", "items_per_second", "items/s", "higher", (5.0,)),
        ("BM_sort/64", "bytes_per_second", "B/s", "higher", (6.0,)),
    ]


def test_what_the_memory_manager_tells_are_metrics_that_shrink():
    found = results_of(run(max_bytes_used=7, allocs_per_iter=0.5))
    assert found[2:] == [
        ("BM_sort/64", "max_bytes_used", "B", "lower", (7,)),
        ("BM_sort/64", "allocs_per_iter", "allocs/iter", "lower", (0.5,)),
    ]


def test_a_row_without_a_name_keeps_no_other_out():
    bad = {"run_name": "BM_bad", "name": 5, "real_time": 1.0, "time_unit": "ns"}
    reading = read(document(bad, run("BM_good")), {}, Reading())
    assert [place for place, _ in reading.problems] == ["benchmarks[0]"]
    assert [one.benchmark for one in reading.measured[0].results] == ["BM_good"] * 2


def test_failed_runs_and_fits_are_left_out_and_counted():
    fit = run("BM_fit_BigO", run_type="aggregate", aggregate_name="BigO")
    reading = read(document(run("BM_bad", error_occurred=True), fit), {}, Reading())
    assert reading.measured == []
    assert dict(reading.left_out) == {"that failed": 1, "that are fits of a benchmark's complexity": 1}


def test_counters_of_the_program_are_left_out_and_counted_once_for_each_benchmark():
    runs = [run(hits=3, FLOPS=1e9, label="x", iterations=10, threads=1, net_heap_growth=-8) for _ in range(2)]
    reading = read(document(*runs), {}, Reading())
    assert [r.metric for m in reading.measured for r in m.results] == ["real_time", "cpu_time"]
    assert dict(reading.left_out) == {
        "that are counters of a program, of which no file tells unit and direction": 2
    }


def old(name: str, real_time: float = 2.0) -> dict[str, Any]:
    """A row as before version 1.5."""
    return {"name": name, "iterations": 10, "real_time": real_time, "cpu_time": 1.0, "time_unit": "ns"}


def real_times(*rows: dict[str, Any]) -> list[tuple[str, tuple[float, ...]]]:
    return [(name, values) for name, metric, _, _, values in results_of(*rows) if metric == "real_time"]


def test_aggregates_of_old_files_are_none_of_their_benchmarks():
    rows = [old("BM", 1.0), old("BM", 3.0), *(old(f"BM_{a}") for a in ("mean", "median", "stddev", "cv"))]
    assert real_times(*rows) == [("BM", (1.0, 3.0))]


def test_median_stands_where_an_old_file_has_only_aggregates():
    assert real_times(old("BM_mean", 1.0), old("BM_median", 2.0), old("BM_stddev", 3.0)) == [("BM", (2.0,))]


def test_benchmark_of_an_old_file_may_be_called_as_an_aggregate_is():
    assert real_times(old("BM_mean"), old("BM_cv")) == [("BM_mean", (2.0,)), ("BM_cv", (2.0,))]
    assert real_times(run("BM", 1.0), run("BM_mean", 3.0)) == [("BM", (1.0,)), ("BM_mean", (3.0,))]


def test_fits_of_old_files_are_left_out_and_counted():
    fits = [{"name": "BM_BigO", "cpu_coefficient": 1, "big_o": "N"}, {"name": "BM_RMS", "rms": 0.05}]
    reading = read(document(old("BM"), *fits), {}, Reading())
    assert [m.results[0].benchmark for m in reading.measured] == ["BM"]
    assert dict(reading.left_out) == {"that are fits of a benchmark's complexity": 2}


def test_benchmark_of_which_only_deviations_were_kept_is_left_out_and_counted():
    deviation = run("BM_cv", run_name="BM", run_type="aggregate", aggregate_name="cv")
    reading = read(document(deviation), {}, Reading())
    assert (reading.measured, dict(reading.left_out)) == ([], {"of which only deviations were kept": 1})


def test_bad_time_is_told_with_its_place_and_keeps_no_other_out():
    reading = read(document(run("bad", real_time="fast"), run("good")), {}, Reading())
    assert reading.problems == [("benchmarks[0]", 'real_time is "fast"; expected a number')]
    assert {r.benchmark for m in reading.measured for r in m.results} == {"good"}


@pytest.fixture
def sample(recordings: Path) -> Path:
    return recordings / "google-benchmark" / "googlecpp_output.json"


def test_a_real_file_is_read(sample):
    reading = read(parsed(sample.read_bytes()), {}, Reading())
    assert [
        (r.benchmark, r.values) for m in reading.measured for r in m.results if r.metric == "real_time"
    ] == [
        ("fib_10", (214.98980114547953,)),
        ("fib_20", (27455.600415007055,)),
    ]
