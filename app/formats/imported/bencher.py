"""Bencher: reports (`bencher report list`, `view`) and performance queries (`bencher perf`) as its API gives them.

A report is what one run measured on a testbed at one version of a branch; a query holds whole series. Neither says
which way is better, so that follows from the unit: rates grow. `lower_value` and `upper_value` are the spread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from app.formats.imported.model import ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.quantities import clean_unit, direction_of
from app.formats.imported.values import Object, as_list, as_number, as_object, as_text, as_time, spread_of


def recognises(document: Any) -> bool:
    """Tell a report by its testbed and results, a query by the metrics of its first result."""
    first = next(iter(_reports(document)), None)
    if not isinstance(first, dict) or not isinstance(first.get("results"), list):
        return False
    return "testbed" in first or _is_query(first)


def _reports(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


def _is_query(document: Object) -> bool:
    results = document.get("results")
    first = results[0] if isinstance(results, list) and results else None
    return isinstance(first, dict) and "metrics" in first and "testbed" in first


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says; it goes alone."""
    for index, found in enumerate(_reports(document)):
        read_one(found, f"[{index}]" if isinstance(document, list) else "", reading)
    return reading


def read_one(found: Any, place: str, reading: Reading) -> None:
    """Note what one report or query says; `place` is empty where it is alone in its file."""
    with reading.at(place or "the file"):
        told = as_object(found, "the report")
        (_read_query if _is_query(told) else _read_report)(told, place, reading)


def _read_report(report: Object, place: str, reading: Reading) -> None:
    results = []
    for iteration, some in enumerate(as_list(report.get("results"), "results")):
        for index, found in enumerate(as_list(some, "an iteration")):
            where = f"{place}.results[{iteration}][{index}]".removeprefix(".")
            with reading.at(where):
                results += list(_measures(as_object(found, "the result"), where))
    _add(report, report.get("start_time"), _joined(results), place or "the file", reading)


def _measures(found: Object, place: str) -> Iterator[ImportedResult]:
    """Yield the results of a benchmark with its measures, or of a measure with its benchmarks, as before 0.4."""
    if "benchmarks" in found:
        measure = as_object(found.get("measure") or found.get("metric_kind"), "measure")
        for benchmark in as_list(found["benchmarks"], "benchmarks"):
            yield _result(benchmark, measure, as_object(benchmark, "the benchmark").get("metric"), place)
        return
    for one in as_list(found.get("measures"), "measures"):
        told = as_object(one, "the measure")
        yield _result(found.get("benchmark"), told.get("measure"), told.get("metric"), place)


def _result(benchmark: Any, measure: Any, metric: Any, place: str) -> ImportedResult:
    its_measure, its_metric = as_object(measure, "measure"), as_object(metric, "metric")
    unit = clean_unit(as_text(its_measure.get("units"), "measure.units", "1"))
    value = (as_number(its_metric.get("value"), "metric.value"),)
    low, high = spread_of(value, its_metric.get("lower_value"), its_metric.get("upper_value"))
    return ImportedResult(
        benchmark=as_text(as_object(benchmark, "benchmark").get("name"), "benchmark.name"),
        params={},
        metric=as_text(its_measure.get("slug") or its_measure.get("name"), "measure.slug"),
        unit=unit,
        better=direction_of(unit),
        values=value,
        place=place,
        low=low,
        high=high,
    )


def _joined(results: list[ImportedResult]) -> list[ImportedResult]:
    """Return the results with the iterations of one benchmark and measure as one."""
    joined: dict[tuple[str, str], ImportedResult] = {}
    for one in results:
        known = joined.get((one.benchmark, one.metric))
        values = known.values + one.values if known else one.values
        low, high = (None, None) if known else (one.low, one.high)
        joined[one.benchmark, one.metric] = ImportedResult(
            one.benchmark, {}, one.metric, one.unit, one.better, values, one.place, low, high
        )
    return list(joined.values())


def _read_query(query: Object, place: str, reading: Reading) -> None:
    runs: dict[str, list[tuple[Object, Object, ImportedResult]]] = defaultdict(list)
    for index, found in enumerate(query["results"]):
        where = f"{place}.results[{index}]".removeprefix(".")
        with reading.at(where):
            series = as_object(found, "the result")
            for number, one in enumerate(as_list(series.get("metrics"), "metrics")):
                with reading.at(f"{where}.metrics[{number}]"):
                    told = as_object(one, "the metric")
                    point = _result(
                        series.get("benchmark"),
                        series.get("measure"),
                        told.get("metric"),
                        f"{where}.metrics[{number}]",
                    )
                    # One report is of one testbed and one version of a branch.
                    run = str(told.get("report") or f"{where}.{number}")
                    runs[run].append((series, told, point))
    for some in runs.values():
        series, told, _ = some[0]
        with reading.at(some[0][2].place):
            results = _joined([result for _, _, result in some])
            _add(
                series | {"version": told.get("version")},
                told.get("start_time"),
                results,
                results[0].place,
                reading,
            )


def _add(told: Object, start_time: Any, results: list[ImportedResult], place: str, reading: Reading) -> None:
    branch = as_object(told.get("branch"), "branch")
    head = as_object(branch.get("head"), "branch.head")
    version = as_object(told.get("version") or head.get("version") or branch.get("version"), "version")
    testbed = as_object(told.get("testbed"), "testbed")
    commit = ImportedCommit(
        as_text(version.get("hash"), "version.hash", ""),
        branch=as_text(branch.get("name"), "branch.name", "") or None,
    )
    name = as_text(testbed.get("name"), "testbed.name", "")
    reading.add(
        commit,
        Machine(name=name),
        {"tool": "bencher", "testbed": name},
        results,
        place,
        measured_at=as_time(start_time, "start_time"),
        device_class=name,
    )
