"""Google Benchmark: what `--benchmark_format=json` and `--benchmark_out` write.

Repetitions of a benchmark are its values. Means, deviations and fits that the library adds are left out where there are
repetitions; where only they were kept, the median stands for them. The file names no commit unless somebody put it into
the context, as with `--benchmark_context=git_sha=…`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.domain.results import Better
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
_NOT_KEPT = ("caches", "load_avg", "date")


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
    runs: dict[str, list[tuple[str, Object]]] = defaultdict(list)
    for index, found in enumerate(benchmarks):
        with reading.at(f"benchmarks[{index}]"):
            run = as_object(found, "the benchmark")
            name = as_text(run.get("run_name") or run.get("name"), "name")
            runs[name].append((f"benchmarks[{index}]", run))
    for name, some in runs.items():
        chosen = _chosen(some)
        if not chosen:
            reading.left_out["that failed or are only fits"] += 1
            continue
        with reading.at(chosen[0][0]):
            yield from _metrics(name, chosen)


def _chosen(runs: Iterable[tuple[str, Object]]) -> list[tuple[str, Object]]:
    """Return the repetitions that worked, or their median where only aggregates were kept."""
    good = [(place, run) for place, run in runs if not run.get("error_occurred") and not run.get("skipped")]
    repetitions = [(place, run) for place, run in good if run.get("run_type") != "aggregate"]
    medians = [(place, run) for place, run in good if run.get("aggregate_name") == "median"]
    means = [(place, run) for place, run in good if run.get("aggregate_name") == "mean"]
    return repetitions or medians or means


def _metrics(name: str, runs: list[tuple[str, Object]]) -> Iterator[ImportedResult]:
    place, first = runs[0]
    unit = as_text(first.get("time_unit"), "time_unit", "ns")
    if any(as_text(run.get("time_unit"), "time_unit", "ns") != unit for _, run in runs):
        raise BadValueError("its repetitions have different time units")
    wanted: list[tuple[str, str, Better]] = [(metric, unit, "lower") for metric in _TIMES]
    wanted += [(metric, rate, "higher") for metric, rate in _RATES.items()]
    for metric, its_unit, better in wanted:
        if metric in first:
            values = tuple(as_number(run.get(metric), metric) for _, run in runs)
            yield ImportedResult(name, {}, metric, its_unit, better, values, place)
