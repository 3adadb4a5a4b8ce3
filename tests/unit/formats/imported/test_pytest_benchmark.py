"""JSON of pytest-benchmark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.formats.imported.model import Reading
from app.formats.imported.pytest_benchmark import read, recognises
from app.formats.imported.registry import recognise
from tests.factories.import_files import parsed

SHA = "9d55ab0434c9088746ae2d134702d782bf088644"


def benchmark(
    name: str = "bench.py::test_fib", stats: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    its_stats = {"median": 2.0, "min": 1.0, "max": 5.0, "mean": 2.5} if stats is None else stats
    return {"name": name.rpartition(":")[2], "fullname": name, "params": None, "stats": its_stats} | fields


def document(*benchmarks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "machine_info": {
            "node": "corgi",
            "cpu": {"brand_raw": "AMD EPYC 7763", "count": 8},
            "system": "Linux",
        },
        "commit_info": {"id": SHA, "time": "2019-11-16T12:10:30+09:00", "branch": "main"},
        "benchmarks": list(benchmarks) or [benchmark()],
        "datetime": "2019-11-20T00:00:00",
        "version": "3.2.2",
    } | fields


def test_it_is_told_by_its_content():
    assert recognises(document())
    assert recognise(document()) == "pytest-benchmark"


def test_commit_machine_and_environment_are_told():
    (measured,) = read(document(), {}, Reading()).measured
    assert measured.commit.sha == SHA
    assert measured.commit.time == datetime(2019, 11, 16, 3, 10, 30, tzinfo=UTC)
    assert measured.commit.branch == "main"
    assert measured.machine.device_class == "cpu-amd-epyc-7763-8t"
    assert measured.environment == {"tool": "pytest-benchmark", "node": "corgi", "system": "Linux"}


@pytest.mark.parametrize("info", [{"id": "unversioned"}, {}, None])
def test_file_of_a_tree_without_versions_names_no_commit_and_its_own_time(info):
    (measured,) = read(document(commit_info=info), {}, Reading()).measured
    assert (measured.commit.sha, measured.commit.time) == ("", None)
    assert measured.measured_at == datetime(2019, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dirty", "environment", "n_notes"), [(True, True, 1), (False, None, 0), (None, None, 0)]
)
def test_changes_that_were_not_committed_are_noted_and_kept_with_the_environment(dirty, environment, n_notes):
    told = document(commit_info={"id": SHA, "dirty": dirty})
    (measured,) = read(told, {}, Reading()).measured
    assert (measured.commit.sha, measured.environment.get("dirty")) == (SHA, environment)
    assert len(measured.notes) == n_notes


def test_median_stands_with_the_extremes_where_rounds_were_not_kept():
    ((result,),) = (m.results for m in read(document(), {}, Reading()).measured)
    assert (result.metric, result.unit, result.values) == ("latency_p50", "s", (2.0,))
    assert (result.low, result.high) == (1.0, 5.0)


def test_every_round_is_kept_where_the_file_has_them():
    stats = {"median": 2.0, "min": 1.0, "max": 5.0, "data": [1.0, 2.0, 5.0]}
    ((result,),) = (m.results for m in read(document(benchmark(stats=stats)), {}, Reading()).measured)
    assert (result.values, result.low, result.high) == ((1.0, 2.0, 5.0), None, None)


@pytest.mark.parametrize(
    ("name", "params", "wanted"),
    [
        ("b.py::test[10-f4]", {"n": 10, "dtype": "f4"}, ("b.py::test", {"n": 10, "dtype": "f4"})),
        ("b.py::test[10-f4]", {"shape": [2, 3]}, ("b.py::test", {"shape": "[2, 3]"})),
        ("b.py::test[10-f4]", None, ("b.py::test[10-f4]", {})),
        ("b.py::test", None, ("b.py::test", {})),
    ],
)
def test_parameters_make_cases(name, params, wanted):
    found = read(document(benchmark(name, params=params, param="10-f4")), {}, Reading())
    ((result,),) = (m.results for m in found.measured)
    assert (result.benchmark, result.params) == wanted


def test_bad_benchmark_is_told_with_its_place_and_keeps_no_other_out():
    reading = read(document(benchmark(stats={}), benchmark("b.py::good")), {}, Reading())
    assert reading.problems == [("benchmarks[0]", "stats.median is null; expected a number")]
    assert [r.benchmark for m in reading.measured for r in m.results] == ["b.py::good"]


@pytest.fixture
def samples(recordings: Path) -> Path:
    return recordings / "pytest-benchmark"


def test_real_files_are_read(samples):
    readings = [read(parsed(path.read_bytes()), {}, Reading()) for path in sorted(samples.glob("*.json"))]
    assert [(r.problems, len(r.measured[0].results)) for r in readings] == [([], 2), ([], 1)]
