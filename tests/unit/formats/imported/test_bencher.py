"""Reports and performance queries of Bencher."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.formats.imported.bencher import read, recognises
from app.formats.imported.model import Reading
from app.formats.imported.registry import recognise

SHA = "cd" * 20
LATENCY = {"name": "Latency", "slug": "latency", "units": "nanoseconds (ns)"}
THROUGHPUT = {"name": "Throughput", "slug": "throughput", "units": "operations / second (ops/s)"}


def metric(value: Any, low: Any = None, high: Any = None) -> dict[str, Any]:
    return {"value": value, "lower_value": low, "upper_value": high}


def report(*iterations: list[Any], **fields: Any) -> dict[str, Any]:
    one = {
        "benchmark": {"name": "fib"},
        "measures": [{"measure": LATENCY, "metric": metric(88.0, 87.5, 88.75)}],
    }
    return {
        "uuid": "u",
        "branch": {"name": "main", "head": {"version": {"number": 3, "hash": SHA}}},
        "testbed": {"name": "ubuntu-latest"},
        "start_time": "2024-05-01T10:00:00Z",
        "results": list(iterations) or [[one]],
    } | fields


@pytest.mark.parametrize("document", [report(), [report(), report()]])
def test_reports_are_told_by_their_content(document):
    assert recognises(document)
    assert recognise(document) == "bencher"


def test_commit_branch_testbed_and_time_are_told():
    (measured,) = read(report(), {}, Reading()).measured
    assert (measured.commit.sha, measured.commit.branch) == (SHA, "main")
    assert (measured.device_class, measured.measured_at) == (
        "ubuntu-latest",
        datetime(2024, 5, 1, 10, tzinfo=UTC),
    )


def test_measures_are_metrics_with_their_spread():
    measures = [
        {"measure": LATENCY, "metric": metric(88.0, 87.5, 88.75)},
        {"measure": THROUGHPUT, "metric": metric(5)},
    ]
    (measured,) = read(report([{"benchmark": {"name": "fib"}, "measures": measures}]), {}, Reading()).measured
    assert [(r.benchmark, r.metric, r.unit, r.better, r.values, r.low, r.high) for r in measured.results] == [
        ("fib", "latency", "ns", "lower", (88.0,), 87.5, 88.75),
        ("fib", "throughput", "operations/s", "higher", (5,), None, None),
    ]


def test_iterations_are_values_of_one_result():
    some = [
        [{"benchmark": {"name": "fib"}, "measures": [{"measure": LATENCY, "metric": metric(v, 1, 9)}]}]
        for v in (3, 2)
    ]
    (measured,) = read(report(*some), {}, Reading()).measured
    assert [(r.values, r.low, r.high) for r in measured.results] == [((3, 2), None, None)]


def test_reports_by_measure_are_read_too():
    old = [{"measure": LATENCY, "benchmarks": [{"name": "fib", "metric": metric(8)}]}]
    branch = {"name": "main", "version": {"number": 3, "hash": SHA}}
    (measured,) = read([report(old, branch=branch)], {}, Reading()).measured
    assert (measured.commit.sha, measured.results[0].benchmark, measured.results[0].values) == (
        SHA,
        "fib",
        (8,),
    )


def test_query_holds_whole_series():
    points = [
        {
            "report": f"r{i}",
            "start_time": f"2024-05-0{i}T10:00:00Z",
            "version": {"hash": f"{i:040x}"},
            "metric": metric(i),
        }
        for i in (1, 2)
    ]
    series = {"branch": {"name": "main"}, "testbed": {"name": "t"}, "measure": LATENCY, "metrics": points}
    query = {"project": {}, "results": [series | {"benchmark": {"name": name}} for name in ("a", "b")]}
    assert recognise(query) == "bencher"
    found = read(query, {}, Reading()).measured
    assert [(m.commit.sha[-1], [(r.benchmark, r.values) for r in m.results]) for m in found] == [
        ("1", [("a", (1,)), ("b", (1,))]),
        ("2", [("a", (2,)), ("b", (2,))]),
    ]


def test_bad_metric_is_told_with_its_place():
    bad = [{"benchmark": {"name": "fib"}, "measures": [{"measure": LATENCY, "metric": metric("fast")}]}]
    assert read([report(bad)], {}, Reading()).problems == [
        ("[0].results[0][0]", 'metric.value is "fast"; expected a number')
    ]
