"""Google Benchmark: what `--benchmark_format=json` and `--benchmark_out` write.

Repetitions of a benchmark are its values. Means and deviations that the library adds are left out where there are
repetitions; where only they were kept, the median stands for them. Counters of the program itself are left out: a file
tells neither their unit nor which way is better. The file names no commit unless somebody put it into the context, as
with `--benchmark_context=git_sha=…`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from app.domain.results import Better
from app.formats.imported.google_benchmark_runs import aggregate_of, benchmark_of, has_failed, is_fit
from app.formats.imported.model import BadValueError, ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.values import Object, as_count, as_number, as_object, as_text, as_time

_COMMIT_KEYS = (
    "commit",
    "commit_id",
    "commit_hash",
    "commit_sha",
    "git_commit",
    "git_hash",
    "git_sha",
    "git_revision",
    "revision",
    "sha",
)
_TIMES = ("real_time", "cpu_time")
_RATES = {"items_per_second": "items/s", "bytes_per_second": "B/s"}
_MEMORY = {"max_bytes_used": "B", "total_allocated_bytes": "B", "allocs_per_iter": "allocs/iter"}
"""What its memory manager tells, where a program has one."""

_COUNTERS = "that are counters of a program, of which no file tells unit and direction"
_NUMBERS = (int, float)
_OWN = {
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    *_TIMES,
    *_RATES,
    *_MEMORY,
    "net_heap_growth",
}
"""Numbers of a row that are no counters of the program."""

_NOT_KEPT = ("caches", "load_avg", "date")

_Row = tuple[str, Object]
_Kinds = defaultdict[str, list[_Row]]
"""A row with its place in the file."""


def recognises(document: Any) -> bool:
    """Tell it by its context beside a list of benchmarks."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("context"), dict)
        and isinstance(document.get("benchmarks"), list)
    )


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says; it goes alone."""
    with reading.at("the file"):
        context = as_object(document["context"], "context")
        machine = Machine(threads=as_count(context.get("num_cpus")), name=str(context.get("host_name") or ""))
        environment = {name: value for name, value in context.items() if name not in _NOT_KEPT}
        reading.add(
            ImportedCommit(_commit_of(context)),
            machine,
            {"tool": "google-benchmark", **environment},
            list(_results(document["benchmarks"], reading)),
            "the file",
            measured_at=as_time(context.get("date"), "context.date"),
        )
    return reading


def _commit_of(context: Object) -> str:
    told = {name.lower().replace("-", "_").replace(" ", "_"): value for name, value in context.items()}
    return next((str(told[key]) for key in _COMMIT_KEYS if told.get(key)), "")


def _results(benchmarks: list[Any], reading: Reading) -> Iterator[ImportedResult]:
    names = {str(found.get("name")) for found in benchmarks if isinstance(found, dict)}
    for name, some in _by_benchmark(benchmarks, names, reading).items():
        chosen = some[""] or some["median"] or some["mean"]
        if not chosen:
            reading.left_out["of which only deviations were kept"] += 1
            continue
        reading.left_out.update(_COUNTERS for _ in _counters(chosen))
        with reading.at(chosen[0][0]):
            yield from _metrics(name, chosen)


def _by_benchmark(benchmarks: list[Any], names: Set[str], reading: Reading) -> dict[str, _Kinds]:
    """Return the rows of each benchmark that worked and are no fits: its repetitions, as "", and each aggregate."""
    rows: dict[str, _Kinds] = defaultdict(lambda: defaultdict(list))
    for index, found in enumerate(benchmarks):
        place = f"benchmarks[{index}]"
        with reading.at(place):
            run = as_object(found, "the benchmark")
            if has_failed(run):
                reading.left_out["that failed"] += 1
            elif is_fit(run):
                reading.left_out["that are fits of a benchmark's complexity"] += 1
            else:
                rows[benchmark_of(run, names)][aggregate_of(run, names)].append((place, run))
    return rows


def _counters(rows: Iterable[_Row]) -> set[str]:
    """Return the names of all numbers that are nothing of the library's own."""
    return {name for _, run in rows for name, value in run.items() if type(value) in _NUMBERS} - _OWN


def _metrics(name: str, runs: list[_Row]) -> Iterator[ImportedResult]:
    place, first = runs[0]
    unit = as_text(first.get("time_unit"), "time_unit", "ns")
    if any(as_text(run.get("time_unit"), "time_unit", "ns") != unit for _, run in runs):
        raise BadValueError("its repetitions have different time units")
    wanted: list[tuple[str, str, Better]] = [(metric, unit, "lower") for metric in _TIMES]
    wanted += [(metric, rate, "higher") for metric, rate in _RATES.items()]
    wanted += [(metric, its_unit, "lower") for metric, its_unit in _MEMORY.items()]
    for metric, its_unit, better in wanted:
        if metric in first:
            values = tuple(as_number(run.get(metric), metric) for _, run in runs)
            yield ImportedResult(name, {}, metric, its_unit, better, values, place)
