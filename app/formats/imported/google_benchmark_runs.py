"""The rows of a file of Google Benchmark: which repeat a benchmark, and which say something about its repetitions.

Since version 1.5 each row tells that itself. Before, an aggregate is a row as any other, whose name goes on behind that
of its benchmark; `BM_mean` is one where the file has the benchmark `BM`, or its deviation beside its mean.
"""

from __future__ import annotations

from collections.abc import Set

from app.formats.imported.values import Object, as_text

_AGGREGATES = ("mean", "median", "stddev", "cv")
_OF_FITS = ("big_o", "rms")
_FITS = ("BigO", "RMS")


def name_of(run: Object) -> str:
    """Return the name of a row, which is that of its benchmark or goes on behind it."""
    return as_text(run.get("name") or run.get("run_name"), "name")


def benchmark_of(run: Object, names: Set[str]) -> str:
    """Return the name of the benchmark that a row is about; `names` are those of all rows."""
    if run.get("run_name"):
        return as_text(run["run_name"], "run_name")
    name = name_of(run)
    return name.removesuffix(f"_{aggregate}") if (aggregate := aggregate_of(run, names)) else name


def aggregate_of(run: Object, names: Set[str]) -> str:
    """Return what a row has computed of repetitions, such as `median`; nothing for a repetition."""
    if run.get("run_type"):
        return str(run.get("aggregate_name")) if run["run_type"] == "aggregate" else ""
    benchmark, _, ending = name_of(run).rpartition("_")
    is_aggregated = benchmark in names or {f"{benchmark}_mean", f"{benchmark}_stddev"} <= names
    return ending if ending in _AGGREGATES and is_aggregated else ""


def is_fit(run: Object) -> bool:
    """Tell a fit of a benchmark's complexity, or its error."""
    return run.get("aggregate_name") in _FITS or (
        "real_time" not in run and any(key in run for key in _OF_FITS)
    )


def has_failed(run: Object) -> bool:
    """Tell a run that ended with an error, or was skipped."""
    return bool(run.get("error_occurred") or run.get("skipped"))
