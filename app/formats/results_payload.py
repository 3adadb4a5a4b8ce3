"""Results from elsewhere: the document that `POST /api/v1/results` takes, read and judged whole.

docs/api-results.md is its description for people. Nothing here knows what is stored: whether a unit agrees
with its series is for the service to say. Values are brought to base units here, at the door.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from app.domain.results import Better, Params
from app.domain.units import to_base
from app.formats.fields import (
    Field,
    read_better,
    read_commit,
    read_free_object,
    read_name,
    read_object,
    read_params,
    read_time,
)
from app.formats.problems import Path, Problems, shown
from app.formats.strict_json import read_json
from workers.protocol import params_key

MAX_RESULTS = 10_000
MAX_VALUES = 100_000
MAX_MAGNITUDE = 1e300
"""No value is larger, in its own unit and in the base one, so that no median or difference overflows."""

EXACT_INTEGERS = 2**53
"""Beyond it a double no longer holds every integer."""

OLDEST, NEWEST = timedelta(days=-30), timedelta(minutes=5)
"""How far a client's time may be from ours without a flag."""

_NEVER_NEGATIVE = ("s", "B", "J")
"""Base units of time, memory and energy, also per something: `J/token`."""


@dataclass(frozen=True)
class PostedResult:
    """The values of one metric of one case, at least one, in order and in the base unit `unit`.

    `flags`: `all_zero`, or `constant` (two values or more, all equal); `integer_above_2_53`.
    """

    benchmark: str
    params: Params
    metric: str
    unit: str
    better: Better
    values: tuple[float, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class ResultsPayload:
    """What was measured at one commit on one device class. Commit ids are in lower case.

    `time` is the commit's. `flags` hold for every result: `client_time` where `time` is far from ours.
    """

    project: str
    commit: str
    device_class: str
    results: tuple[PostedResult, ...]
    parent: str | None = None
    branch: str | None = None
    time: datetime | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def read_payload(body: bytes, *, now: datetime) -> ResultsPayload:
    """Return what the document says.

    Args:
        body: UTF-8 JSON.
        now: the service's time, with an offset.

    Raises:
        PayloadError: the document is refused whole; it lists up to 50 problems with their paths.
    """
    problems = Problems()
    fields = read_object(read_json(body), _PAYLOAD, (), problems)
    problems.refuse_if_any()
    payload = ResultsPayload(**fields)
    if payload.parent == payload.commit:
        problems.add(("parent",), "bad_commit", "the parent is the commit itself")
    _check_unique(payload.results, problems)
    problems.refuse_if_any()
    is_far = payload.time is not None and not OLDEST <= payload.time - now <= NEWEST
    return replace(payload, flags=("client_time",) if is_far else ())


def _check_unique(results: Iterable[PostedResult], problems: Problems) -> None:
    first: dict[tuple[str, str, str], int] = {}
    for index, result in enumerate(results):
        earlier = first.setdefault((result.benchmark, params_key(result.params), result.metric), index)
        if earlier != index:
            what = f"results[{earlier}] has the same benchmark, params and metric; put all values into one"
            problems.add(("results", index), "duplicate_result", what)


def _read_results(found: Any, path: Path, problems: Problems) -> tuple[PostedResult, ...]:
    if not isinstance(found, list) or not found:
        problems.add(path, "bad_type", f"expected a list of at least one result, found {_list_shown(found)}")
        return ()
    if len(found) > MAX_RESULTS:
        problems.add(path, "too_many", f"{len(found)} results; at most {MAX_RESULTS} are taken in one post")
        return ()
    if (total := sum(map(_n_values, found))) > MAX_VALUES:
        problems.add(path, "too_many", f"{total} values; at most {MAX_VALUES} are taken in one post")
        return ()
    results = (_read_result(item, (*path, index), problems) for index, item in enumerate(found))
    return tuple(result for result in results if result is not None)


def _n_values(result: Any) -> int:
    values = result.get("values") if isinstance(result, dict) else None
    return len(values) if isinstance(values, list) else 0


def _read_result(found: Any, path: Path, problems: Problems) -> PostedResult | None:
    before = len(problems)
    fields = read_object(found, _RESULT, path, problems)
    if len(problems) > before:
        return None
    values, unit = _in_base_unit(fields["values"], fields["unit"])
    _check_range(values, unit, (*path, "values"), problems)
    return PostedResult(
        benchmark=fields["benchmark"],
        params=fields.get("params", {}),
        metric=fields["metric"],
        unit=unit,
        better=fields["better"],
        values=values,
        flags=_flags(fields["values"]),
    )


def _read_values(found: Any, path: Path, problems: Problems) -> list[int | float]:
    if not isinstance(found, list) or not found:
        problems.add(path, "bad_type", f"expected a list of at least one number, found {_list_shown(found)}")
        return []
    for index, value in enumerate(found):
        if type(value) not in (int, float):
            problems.add((*path, index), "not_a_number", f"expected a number, found {shown(value)}")
        elif abs(value) > MAX_MAGNITUDE:
            problems.add((*path, index), "out_of_range", f"{shown(value)} is beyond ±{MAX_MAGNITUDE:g}")
    return found


def _in_base_unit(values: list[int | float], unit: str) -> tuple[tuple[float, ...], str]:
    one, base = to_base(1.0, unit)
    if one == 1.0:
        return tuple(map(float, values)), base
    return tuple(to_base(float(value), unit)[0] for value in values), base


def _check_range(values: Iterable[float], unit: str, path: Path, problems: Problems) -> None:
    may_be_negative = unit.partition("/")[0] not in _NEVER_NEGATIVE
    for index, value in enumerate(values):
        if abs(value) > MAX_MAGNITUDE:
            problems.add((*path, index), "out_of_range", f"{value:g} {unit} is beyond ±{MAX_MAGNITUDE:g}")
        elif value < 0 and not may_be_negative:
            what = f"{value:g} {unit} is negative; time, memory and energy never are"
            problems.add((*path, index), "negative", what)


def _flags(values: list[int | float]) -> tuple[str, ...]:
    flags = []
    if not any(values):
        flags.append("all_zero")
    elif len(values) > 1 and min(values) == max(values):
        flags.append("constant")
    if any(type(value) is int and abs(value) > EXACT_INTEGERS for value in values):
        flags.append("integer_above_2_53")
    return tuple(flags)


def _list_shown(found: Any) -> str:
    return "an empty list" if found == [] else shown(found)


_RESULT = {
    "benchmark": Field(read_name),
    "params": Field(read_params, required=False),
    "metric": Field(read_name),
    "unit": Field(read_name),
    "better": Field(read_better),
    "values": Field(_read_values),
}

_PAYLOAD = {
    "project": Field(read_name),
    "commit": Field(read_commit),
    "parent": Field(read_commit, required=False),
    "branch": Field(read_name, required=False),
    "time": Field(read_time, required=False),
    "device_class": Field(read_name),
    "environment": Field(read_free_object, required=False),
    "results": Field(_read_results),
}
