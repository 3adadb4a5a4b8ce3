"""github-action-benchmark: `data.js`, or the JSON file that it may keep in its place, with every suite of a repository.

Which way is better follows from the tool that was measured with, as in the action itself, which has benchmark.js,
pytest and `customBiggerIsBetter` grow; only of JMH and Go, whose rates it does not tell from times, by the unit.
Suites may have benchmarks of the same name, so the suite is a parameter of each case. A name that stands several times
in one entry has been measured as often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.results import Better
from app.formats.imported.github_action_range import read_range
from app.formats.imported.model import BadValueError, ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.quantities import clean_unit, direction_of, metric_of
from app.formats.imported.values import (
    Object,
    as_list,
    as_number,
    as_object,
    as_text,
    as_time,
    first_line,
    from_milliseconds,
    from_text,
)
from app.formats.problems import json_path

_PYTEST = "pytest"
_HIGHER = ("benchmarkjs", _PYTEST, "customBiggerIsBetter")
_LOWER = (
    "cargo",
    "googlecpp",
    "catch2",
    "julia",
    "benchmarkdotnet",
    "benchmarkluau",
    "customSmallerIsBetter",
)


def recognises(document: Any) -> bool:
    """Tell it by its suites, each a list of entries with benches."""
    entries = document.get("entries") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        return False
    suites = [suite for suite in entries.values() if isinstance(suite, list)]
    first = next((suite[0] for suite in suites if suite), None)
    return len(suites) == len(entries) and (first is None or (isinstance(first, dict) and "benches" in first))


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says of every suite; it goes alone."""
    for suite, entries in document["entries"].items():
        for index, entry in enumerate(entries):
            place = json_path(("entries", suite, index))
            with reading.at(place):
                _read_entry(suite, as_object(entry, "the entry"), place, reading)
    return reading


def _read_entry(suite: str, entry: Object, place: str, reading: Reading) -> None:
    told = as_object(entry.get("commit"), "commit")
    measured_at = from_milliseconds(entry.get("date"), "date")
    tool = as_text(entry.get("tool"), "tool", "")
    results: dict[tuple[str, str], ImportedResult] = {}
    for index, bench in enumerate(as_list(entry.get("benches"), "benches")):
        with reading.at(f"{place}.benches[{index}]"):
            result = _result(as_object(bench, "the bench"), suite, tool, f"{place}.benches[{index}]")
            key = result.benchmark, result.metric
            results[key] = _joined(results[key], result) if key in results else result
    commit = ImportedCommit(
        as_text(told.get("id"), "commit.id"),
        as_time(told.get("timestamp"), "commit.timestamp"),
        author=first_line(as_object(told.get("author"), "commit.author").get("name")),
        subject=first_line(told.get("message")),
    )
    environment = {"tool": "github-action-benchmark", "benchmark_tool": tool}
    reading.add(commit, Machine(), environment, list(results.values()), place, measured_at=measured_at)


def _result(bench: Object, suite: str, tool: str, place: str) -> ImportedResult:
    value = as_number(from_text(bench.get("value")), "value")
    unit = clean_unit(as_text(bench.get("unit"), "unit", "1"))
    low, high = read_range(bench.get("range"), value, is_rate=tool == _PYTEST)
    return ImportedResult(
        benchmark=as_text(bench.get("name"), "name"),
        params={"suite": suite},
        metric=metric_of(unit),
        unit=unit,
        better=_direction(tool, unit),
        values=(value,),
        place=place,
        low=low,
        high=high,
    )


def _direction(tool: str, unit: str) -> Better:
    if tool in _HIGHER:
        return "higher"
    return "lower" if tool in _LOWER else direction_of(unit)


def _joined(first: ImportedResult, other: ImportedResult) -> ImportedResult:
    """Return one result of both; the values tell their own spread."""
    if first.unit != other.unit:
        raise BadValueError(f"unit is {other.unit!r}, and above in this entry {first.unit!r}")
    return ImportedResult(
        first.benchmark,
        first.params,
        first.metric,
        first.unit,
        first.better,
        first.values + other.values,
        first.place,
    )
