"""Values of a file of another tool, each held against what is expected in its place.

Raises BadValueError everywhere that something else was found.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from app.domain.results import Params
from app.formats.imported.model import BadValueError
from app.formats.problems import shown

Object = dict[str, Any]

OMITTED = (None, "")


def as_object(found: Any, name: str) -> Object:
    """Return an object; one that is missing is empty."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadValueError(f"{name} is {shown(found)}; expected an object")
    return found


def as_list(found: Any, name: str) -> list[Any]:
    """Return a list; one that is missing is empty."""
    if found is None:
        return []
    if not isinstance(found, list):
        raise BadValueError(f"{name} is {shown(found)}; expected a list")
    return found


def as_text(found: Any, name: str, default: str | None = None) -> str:
    """Return a text that is not empty, or the default where there is none."""
    if found in OMITTED and default is not None:
        return default
    if not isinstance(found, str) or not found:
        raise BadValueError(f"{name} is {shown(found)}; expected text")
    return found


def as_number(found: Any, name: str) -> float:
    """Return a finite number, as it is written: whole ones stay so."""
    if type(found) not in (int, float):
        raise BadValueError(f"{name} is {shown(found)}; expected a number")
    if not is_number(found):
        raise BadValueError(f"{name} is {shown(found)}; only finite numbers can be stored")
    return found  # type: ignore[no-any-return]


def from_text(found: Any) -> Any:
    """Return the number that a text says, as some clients write them; anything else as it is."""
    try:
        return float(found) if isinstance(found, str) else found
    except ValueError:
        return found


def is_number(found: Any) -> bool:
    """Tell whether it is a finite number, whole ones that no float holds being none."""
    try:
        return type(found) in (int, float) and math.isfinite(found)
    except OverflowError:
        return False


def as_numbers(found: Any, name: str) -> tuple[float, ...]:
    """Return a list of finite numbers, at least one."""
    if not (numbers := as_list(found, name)):
        raise BadValueError(f"{name} is empty; expected at least one number")
    return tuple(as_number(value, f"{name}[{index}]") for index, value in enumerate(numbers))


def as_count(found: Any) -> int | None:
    """Return a whole number above 0, also one that is written as text; None for anything else."""
    text = str(found).strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else None


def as_time(found: Any, name: str) -> datetime | None:
    """Return a time: ISO 8601, without an offset as UTC; None where there is none."""
    if found in OMITTED:
        return None
    try:
        time = datetime.fromisoformat(found)
    except (TypeError, ValueError):
        raise BadValueError(f"{name} is {shown(found)}; expected an ISO 8601 time") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def from_milliseconds(found: Any, name: str) -> datetime | None:
    """Return a time that is given in milliseconds since 1970, as JavaScript does; None where there is none."""
    if found is None:
        return None
    try:
        return datetime.fromtimestamp(as_number(found, name) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        raise BadValueError(f"{name} is {shown(found)}; expected milliseconds since 1970") from None


def as_params(found: Object) -> Params:
    """Return parameters: text, numbers, truth values and null as they are, anything else as its JSON."""
    return {name: _as_scalar(value) for name, value in found.items()}


def _as_scalar(value: Any) -> str | int | float | bool | None:
    is_scalar = value is None or isinstance(value, str | int) or is_number(value)
    return value if is_scalar else json.dumps(value, sort_keys=True, ensure_ascii=False)


def spread_of(values: tuple[float, ...], low: Any, high: Any) -> tuple[float | None, float | None]:
    """Return the ends of a spread that a file tells, drawn out to the values where rounding left them outside."""
    return (
        min(low, *values) if is_number(low) else None,
        max(high, *values) if is_number(high) else None,
    )


def first_line(text: Iterable[str] | Any) -> str:
    """Return a commit message's first line; anything else is none."""
    return text.strip().partition("\n")[0].strip() if isinstance(text, str) else ""
