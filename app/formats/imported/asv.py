"""airspeed velocity (asv): the result files `results/MACHINE/HASH-ENVIRONMENT.json` of its versions 1 and 2.

A file is about one commit in one environment. It names no units: those are in `benchmarks.json`, one folder up, and
facts of the machine also in `machine.json` beside the file. A benchmark that `benchmarks.json` no longer lists is
known by the prefix of its name, as asv itself tells kinds apart. As in asv's own graphs each environment has series
of its own, also one in which a requirement is not installed beside one that has its latest version, and results of an
older version of their benchmark are left out.

The format is described in asv's "Developer Docs", section "Benchmark suite layout and file formats".
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from app.domain.results import Better, Params
from app.formats.imported.model import (
    BadValueError,
    ImportedCommit,
    ImportedResult,
    Machine,
    Reading,
)
from app.formats.imported.quantities import clean_unit
from app.formats.imported.values import (
    Object,
    as_count,
    as_list,
    as_number,
    as_object,
    as_text,
    from_milliseconds,
    is_number,
    spread_of,
)
from app.formats.imported.wording import counted
from app.formats.problems import json_path, shown

BENCHMARKS, MACHINE = "benchmarks.json", "machine.json"

_METRICS: dict[str, tuple[str, str]] = {
    "time": ("latency_p50", "s"),
    "timeraw": ("latency_p50", "s"),
    "peakmemory": ("peak_memory", "B"),
    "memory": ("memory", "B"),
    "track": ("value", "1"),
}
"""Kind of a benchmark -> metric and unit. A time is the median over asv's samples."""

_KINDS = {"time": "time", "timeraw": "timeraw", "peakmem": "peakmemory", "mem": "memory", "track": "track"}
"""Prefix of a benchmark's name -> its kind."""

_LITERAL = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|'.*'|\".*\"|True|False|None", re.DOTALL)
_EXACT_INTEGERS = 2**53
_LONGEST_LITERAL = 255

_LATEST = "latest"
"""Version of a requirement for which asv's configuration names none; one that is not installed is null or missing."""

_NO_BENCHMARKS = (
    f"without {BENCHMARKS}: their parameters are called param1, param2, …, their units follow from their names, "
    "and none is left out for its version"
)

_FACTS = ("arch", "cpu", "machine", "num_cpu", "os", "ram")


@dataclass(frozen=True)
class _Benchmark:
    """What is known of a benchmark: metric, unit, names of its parameters, and its version, None where it has none."""

    metric: str
    unit: str
    param_names: tuple[str, ...]
    version: str | None
    better: Better = "lower"
    """asv draws no other conclusion from any of its kinds."""


@dataclass(frozen=True)
class _Entry:
    """The results of one benchmark: lists with one element for each combination of its parameters."""

    result: list[Any]
    params: list[list[Any]]
    version: Any = None
    samples: list[Any] | None = None
    low: list[Any] | None = None
    high: list[Any] | None = None


def recognises(document: Any) -> bool:
    """Tell a result file by its keys."""
    return (
        isinstance(document, dict) and "commit_hash" in document and isinstance(document.get("results"), dict)
    )


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what a result file says; `companions` are the two files that go with it, as far as there are any.

    What `benchmarks.json` would have told is guessed where it is missing, and that is noted.
    """
    with reading.at("the file"):
        benchmarks = as_object(companions.get(BENCHMARKS), BENCHMARKS)
        told = as_object(document.get("params"), "params")
        machine = as_object(companions.get(MACHINE), MACHINE)
        variables, environment = _environment(document, _facts(told, machine))
        commit = ImportedCommit(
            as_text(document["commit_hash"], "commit_hash"), from_milliseconds(document.get("date"), "date")
        )
        results = list(_results(document, benchmarks, variables, reading))
        notes = [] if BENCHMARKS in companions else [_NO_BENCHMARKS]
        reading.add(commit, _machine(_facts(machine, told)), environment, results, "the file", notes=notes)
    return reading


def _facts(first: Object, second: Object) -> Object:
    facts = {name: first.get(name) or second.get(name) for name in _FACTS}
    return {name: fact for name, fact in facts.items() if fact}


def _machine(facts: Object) -> Machine:
    """Return the machine; `machine.json` knows it best, as what the files of years tell of one has changed with asv."""
    name = str(facts.get("machine") or "")
    return Machine(str(facts.get("cpu") or ""), as_count(facts.get("num_cpu")), name)


def _environment(document: Object, facts: Object) -> tuple[Params, Object]:
    """Return what tells this environment's series from others', and all that is known of it."""
    software: dict[str, Any] = {"python": document.get("python") or None}
    for name, version in as_object(document.get("requirements"), "requirements").items():
        software[name] = _LATEST if version == "" else version
    for name, value in as_object(document.get("env_vars"), "env_vars").items():
        software[f"env-{name}"] = value
    variables = {name: str(value) for name, value in software.items() if value is not None}
    return dict(variables), {"tool": "asv", **facts, **variables}


def _results(
    document: Object, benchmarks: Object, variables: Params, reading: Reading
) -> Iterator[ImportedResult]:
    columns = document.get("result_columns")
    for name, found in document["results"].items():
        place = json_path(("results", name))
        with reading.at(place):
            entry = _version_2(found, columns) if columns else _version_1(found, document, name)
            benchmark = _benchmark(name, as_object(benchmarks.get(name), f"{BENCHMARKS} of it"))
            if None not in (entry.version, benchmark.version) and str(entry.version) != benchmark.version:
                reading.left_out["of an older version of their benchmark"] += len(entry.result)
            else:
                yield from _cases(name, benchmark, entry, variables, place, reading)


def _version_1(found: Any, document: Object, name: str) -> _Entry:
    """Read a value, or an object with the values of all parameters."""
    version = as_object(document.get("benchmark_version"), "benchmark_version").get(name)
    if not isinstance(found, dict):
        return _Entry([found], [], version)
    result, params = found.get("result"), as_list(found.get("params"), "params")
    stats = [one if isinstance(one, dict) else {} for one in _listed(found.get("stats"))]
    return _Entry(
        _missing(params) if result is None else _listed(result),
        params,
        version,
        _samples(found.get("samples"), bool(params)),
        [one.get("q_25") for one in stats],
        [one.get("q_75") for one in stats],
    )


def _samples(found: Any, has_params: bool) -> list[Any] | None:
    """Return lists of samples; without parameters the file may have the one list alone."""
    if found is None:
        return None
    samples = as_list(found, "samples")
    return samples if has_params or not samples or isinstance(samples[0], list) else [samples]


def _version_2(found: Any, columns: Any) -> _Entry:
    """Read a list of columns, of which the last ones may be left out."""
    names = [as_text(column, "a name in result_columns") for column in as_list(columns, "result_columns")]
    row = dict(zip(names, as_list(found, "the result"), strict=False))
    params = as_list(row.get("params"), "params")
    result = row.get("result")
    return _Entry(
        _missing(params) if result is None else _listed(result),
        params,
        row.get("version"),
        row.get("samples"),
        row.get("stats_q_25"),
        row.get("stats_q_75"),
    )


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _missing(params: list[Any]) -> list[Any]:
    return [None] * math.prod(len(values) if isinstance(values, list) else 1 for values in params)


def _benchmark(name: str, known: Object) -> _Benchmark:
    prefix = name.rpartition(".")[2].partition("_")[0]
    kind = as_text(known.get("type"), "its type", _KINDS.get(prefix, ""))
    metric, unit = _METRICS.get(kind, ("value", "1"))
    names = as_list(known.get("param_names"), "its param_names")
    version = known.get("version")
    return _Benchmark(
        metric,
        clean_unit(as_text(known.get("unit"), "its unit", unit)),
        tuple(map(str, names)),
        None if version is None else str(version),
    )


def _cases(
    name: str, benchmark: _Benchmark, entry: _Entry, variables: Params, place: str, reading: Reading
) -> Iterator[ImportedResult]:
    values = [as_list(some, "params") for some in entry.params]
    combinations = list(product(*values))
    if len(entry.result) != len(combinations):
        n_wanted = counted(len(combinations), "combination")
        raise BadValueError(f"{counted(len(entry.result), 'result')} for {n_wanted} of parameters")
    names = _param_names(benchmark.param_names, len(values))
    for index, (value, combination) in enumerate(zip(entry.result, combinations, strict=True)):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            reading.left_out["that failed (null)" if value is None else "that were skipped (NaN)"] += 1
            continue
        with reading.at(f"{place}, case {index + 1}"):
            own = {param: _literal(text) for param, text in zip(names, combination, strict=True)}
            measured, low, high = _values(as_number(value, "the result"), entry, index)
            yield ImportedResult(
                benchmark=name,
                params=_beside(own, variables) | own,
                metric=benchmark.metric,
                unit=benchmark.unit,
                better=benchmark.better,
                values=measured,
                place=f"{place}, case {index + 1}" if combination else place,
                low=low,
                high=high,
            )


def _beside(own: Params, variables: Params) -> Params:
    """Return what tells the environment, under names that the benchmark's own parameters leave free."""
    return {_free(name, own): value for name, value in variables.items()}


def _free(name: str, taken: Params) -> str:
    return _free(f"asv-{name}", taken) if name in taken else name


def _param_names(known: tuple[str, ...], n: int) -> list[str]:
    """Return a name for each parameter: the known one, else what asv itself calls it."""
    return [known[i] if i < len(known) and known[i] else f"param{i + 1}" for i in range(n)]


def _literal(found: Any) -> str | int | float | bool | None:
    """Return what a parameter's `repr` stands for: a plain value where it says exactly that, else its text."""
    if found is None or isinstance(found, int) or is_number(found):
        return found  # type: ignore[no-any-return]
    if not isinstance(found, str):
        raise BadValueError(f"a parameter is {shown(found)}; expected text")
    if len(found) > _LONGEST_LITERAL or not _LITERAL.fullmatch(found):
        return found
    try:
        value = ast.literal_eval(found)
    except (ValueError, SyntaxError):
        return found
    is_plain = isinstance(value, str | int | None) or is_number(value)
    is_large = type(value) is int and abs(value) > _EXACT_INTEGERS
    return value if is_plain and not is_large and repr(value) == found else found


def _values(value: float, entry: _Entry, index: int) -> tuple[tuple[float, ...], float | None, float | None]:
    """Return the samples, where the file keeps them, else the result with its quartiles."""
    samples = _at(entry.samples, index)
    if isinstance(samples, list) and samples and all(map(is_number, samples)):
        return tuple(samples), None, None
    return (value,), *spread_of((value,), _at(entry.low, index), _at(entry.high, index))


def _at(some: list[Any] | None, index: int) -> Any:
    return some[index] if isinstance(some, list) and index < len(some) else None
