"""pytest-benchmark: what `--benchmark-json` and `--benchmark-save` write. Times are in seconds.

With `--benchmark-save-data` every round is kept; otherwise there is the median with the fastest and the slowest round.
What was measured with changes that were not committed comes in at the commit that was checked out, as the file has it,
and is told: many a build changes a file with a version, and nobody can say afterwards what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.results import Params
from app.formats.imported.model import ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.values import (
    Object,
    as_count,
    as_list,
    as_number,
    as_object,
    as_params,
    as_text,
    as_time,
    is_number,
    spread_of,
)

_FACTS = (
    "node",
    "machine",
    "system",
    "release",
    "python_implementation",
    "python_version",
    "python_compiler",
)


_DIRTY = "measured with changes that were not committed: they stand at the commit that was checked out"


def recognises(document: Any) -> bool:
    """Tell it by its list of benchmarks and what it says of the machine."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("benchmarks"), list)
        and ("machine_info" in document or "commit_info" in document)
    )


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says; it goes alone."""
    with reading.at("the file"):
        info = as_object(document.get("machine_info"), "machine_info")
        results = []
        for index, benchmark in enumerate(as_list(document.get("benchmarks"), "benchmarks")):
            with reading.at(f"benchmarks[{index}]"):
                results.append(_result(as_object(benchmark, "the benchmark"), f"benchmarks[{index}]"))
        commit = as_object(document.get("commit_info"), "commit_info")
        is_dirty = commit.get("dirty") is True
        environment = {"tool": "pytest-benchmark"} | {name: info[name] for name in _FACTS if info.get(name)}
        reading.add(
            _commit(commit),
            _machine(info),
            environment | ({"dirty": True} if is_dirty else {}),
            results,
            "the file",
            measured_at=as_time(document.get("datetime"), "datetime"),
            notes=[_DIRTY] if is_dirty else [],
        )
    return reading


def _commit(info: Object) -> ImportedCommit:
    sha = as_text(info.get("id"), "commit_info.id", "")
    branch = as_text(info.get("branch"), "commit_info.branch", "")
    is_named = branch not in ("", "(unknown)", "(detached head)")
    return ImportedCommit(
        "" if sha in ("unversioned", "unknown") else sha,
        as_time(info.get("time"), "commit_info.time"),
        branch=branch if is_named else None,
    )


def _machine(info: Object) -> Machine:
    cpu = as_object(info.get("cpu"), "machine_info.cpu")
    brand = cpu.get("brand_raw") or cpu.get("brand") or ""
    return Machine(str(brand), as_count(cpu.get("count")), str(info.get("node") or ""))


def _result(benchmark: Object, place: str) -> ImportedResult:
    stats = as_object(benchmark.get("stats"), "stats")
    name, params = _case(benchmark)
    values, low, high = _values(stats)
    return ImportedResult(name, params, "latency_p50", "s", "lower", values, place, low, high)


def _case(benchmark: Object) -> tuple[str, Params]:
    """Return name and parameters: where those are told, they need not stand in the name again."""
    name = as_text(benchmark.get("fullname") or benchmark.get("name"), "fullname")
    params = as_params(as_object(benchmark.get("params"), "params"))
    ending = f"[{benchmark.get('param')}]"
    return (name.removesuffix(ending), params) if params and name.endswith(ending) else (name, {})


def _values(stats: Object) -> tuple[tuple[float, ...], float | None, float | None]:
    """Return every round, where the file keeps them, else the median with the extremes."""
    data = as_list(stats.get("data"), "stats.data")
    if data and all(map(is_number, data)):
        return tuple(data), None, None
    median = (as_number(stats.get("median"), "stats.median"),)
    return median, *spread_of(median, stats.get("min"), stats.get("max"))
