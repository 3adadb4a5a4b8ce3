"""Results from elsewhere: the document that `POST /api/v1/results` takes, read and judged whole.

docs/api-results.md is its description for people. Nothing here knows what is stored: whether a unit agrees
with its series is for the service to say. Values are brought to base units here, at the door.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from app.domain.results import Better, Params
from app.domain.units import all_to_base, to_base
from app.formats.fields import (
    NO_PARAMS,
    Field,
    read_better,
    read_commit,
    read_free_object,
    read_name,
    read_object,
    read_params,
    read_position,
    read_project,
    read_text,
    read_time,
)
from app.formats.problems import Path, Problems, shown
from app.formats.strict_json import read_json

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


class PostedResult(NamedTuple):
    """The values of one metric of one case, at least one, in order and in the base unit `unit`.

    `low` and `high` are the spread that a summary tells, where nobody kept the measurements, else the smallest and
    the largest value. `flags`: `all_zero`, or `constant` (two values or more, all equal);
    `integer_above_2_53`. `version` is what the benchmark itself was: another one is a series of its own.
    """

    benchmark: str
    params: Params
    metric: str
    unit: str
    better: Better
    values: tuple[float, ...]
    low: float
    high: float
    flags: tuple[str, ...]
    version: str
    params_key: str
    """The parameters as canonical JSON."""


class ResultsPayload(NamedTuple):
    """What was measured at one commit on one device class. Commit ids are in lower case.

    `time` is the commit's, and `position` its number in the first-parent order of its branch, the oldest first.
    `measured_at` is None for what is posted as it is measured. `flags` hold for every result: `backdated` where
    `measured_at` is given, `client_time` where `time` is far from it, or else from ours.
    """

    project: str
    commit: str
    device_class: str
    results: tuple[PostedResult, ...]
    environment: dict[str, Any]
    parent: str | None = None
    branch: str | None = None
    time: datetime | None = None
    author: str = ""
    subject: str = ""
    position: int | None = None
    measured_at: datetime | None = None
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
    payload = ResultsPayload(**{"environment": {}} | fields, flags=tuple(_payload_flags(fields, now)))
    if payload.parent == payload.commit:
        problems.add(("parent",), "bad_commit", "the parent is the commit itself")
    if payload.measured_at is not None and payload.measured_at - now > NEWEST:
        what = f"{payload.measured_at.isoformat()} has not come yet; write when it was measured"
        problems.add(("measured_at",), "bad_time", what)
    _check_unique(payload.results, problems)
    problems.refuse_if_any()
    return payload


def _payload_flags(fields: dict[str, Any], now: datetime) -> Iterable[str]:
    if "measured_at" in fields:
        yield "backdated"
    time = fields.get("time")
    if time is not None and not OLDEST <= time - fields.get("measured_at", now) <= NEWEST:
        yield "client_time"


def _check_unique(results: Iterable[PostedResult], problems: Problems) -> None:
    first: dict[tuple[str, str, str], int] = {}
    for index, result in enumerate(results):
        earlier = first.setdefault((result.benchmark, result.params_key, result.metric), index)
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
    values, unit = all_to_base(fields["values"], fields["unit"])
    smallest, largest = min(values), max(values)
    if largest > MAX_MAGNITUDE or smallest < _least(unit):
        _name_what_is_beyond(values, unit, (*path, "values"), problems)
    params, params_key = fields.get("params", NO_PARAMS)
    return PostedResult(
        benchmark=fields["benchmark"],
        params=params,
        metric=fields["metric"],
        unit=unit,
        better=fields["better"],
        values=values,
        low=_bound(fields, "low", min, smallest, path, problems) if "low" in fields else smallest,
        high=_bound(fields, "high", max, largest, path, problems) if "high" in fields else largest,
        flags=_flags(fields["values"], is_constant=smallest == largest),
        version=fields.get("version", ""),
        params_key=params_key,
    )


def _read_values(found: Any, path: Path, problems: Problems) -> list[int | float]:
    if not isinstance(found, list) or not found:
        problems.add(path, "bad_type", f"expected a list of at least one number, found {_list_shown(found)}")
        return []
    if (
        not set(map(type, found)) <= _NUMBERS
        or not -MAX_MAGNITUDE <= min(found) <= max(found) <= MAX_MAGNITUDE
    ):
        for index, value in enumerate(found):
            _read_number(value, (*path, index), problems)
    return found


_NUMBERS = {int, float}


def _read_number(found: Any, path: Path, problems: Problems) -> None:
    if type(found) not in (int, float):
        problems.add(path, "not_a_number", f"expected a number, found {shown(found)}")
    elif abs(found) > MAX_MAGNITUDE:
        problems.add(path, "out_of_range", f"{shown(found)} is beyond ±{MAX_MAGNITUDE:g}")


def _read_bound(found: Any, path: Path, problems: Problems) -> float:
    _read_number(found, path, problems)
    return found if type(found) in (int, float) else 0.0


def _bound(
    fields: dict[str, Any],
    key: str,
    pick: Callable[[float, float], float],
    value: float,
    path: Path,
    problems: Problems,
) -> float:
    """Return the end of the spread beyond the outermost value on one side, in the base unit as that is."""
    bound, unit = to_base(fields[key], fields["unit"])
    if pick(bound, value) != bound:
        what = f"{bound:g} {unit} is on the wrong side of the value {value:g} {unit}"
        problems.add((*path, key), "out_of_range", what)
    return bound


@lru_cache(maxsize=256)
def _least(unit: str) -> float:
    """Return the smallest value that there is in a base unit."""
    return 0 if unit.partition("/")[0] in _NEVER_NEGATIVE else -MAX_MAGNITUDE


def _name_what_is_beyond(values: Sequence[float], unit: str, path: Path, problems: Problems) -> None:
    for index, value in enumerate(values):
        if abs(value) > MAX_MAGNITUDE:
            problems.add((*path, index), "out_of_range", f"{value:g} {unit} is beyond ±{MAX_MAGNITUDE:g}")
        elif value < _least(unit):
            what = f"{value:g} {unit} is negative; time, memory and energy never are"
            problems.add((*path, index), "negative", what)


def _flags(values: list[int | float], *, is_constant: bool) -> tuple[str, ...]:
    """Return what is to be said of values as they came; `is_constant` where they are one value in the base unit."""
    flags = []
    if is_constant and not any(values):
        flags.append("all_zero")
    elif is_constant and len(values) > 1 and min(values) == max(values):
        flags.append("constant")
    if int in map(type, values) and any(type(its) is int and abs(its) > EXACT_INTEGERS for its in values):
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
    "low": Field(_read_bound, required=False),
    "high": Field(_read_bound, required=False),
    "version": Field(read_text, required=False),
}

_PAYLOAD = {
    "project": Field(read_project),
    "commit": Field(read_commit),
    "parent": Field(read_commit, required=False),
    "branch": Field(read_name, required=False),
    "time": Field(read_time, required=False),
    "author": Field(read_text, required=False),
    "subject": Field(read_text, required=False),
    "position": Field(read_position, required=False),
    "measured_at": Field(read_time, required=False),
    "device_class": Field(read_name),
    "environment": Field(read_free_object, required=False),
    "results": Field(_read_results),
}
