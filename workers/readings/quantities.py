"""Numbers as vendors print them, as values in base units; what is no number is None.

"66.92 W", "1410 MHz", "38 MiB", "13.60%", "(1269Mhz)" and {"value": 100, "unit": "%"} are all known here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

UNITS: dict[str, float] = {
    "": 1.0,
    "%": 0.01,
    "w": 1.0,
    "mw": 1e-3,
    "uw": 1e-6,
    "kw": 1e3,
    "j": 1.0,
    "mj": 1e-3,
    "uj": 1e-6,
    "kj": 1e3,
    "hz": 1.0,
    "khz": 1e3,
    "mhz": 1e6,
    "ghz": 1e9,
    "b": 1.0,
    "bytes": 1.0,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "c": 1.0,
    "°c": 1.0,
    "mc": 1e-3,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "rpm": 1.0,
}
"""Vendors' units in lower case -> what to multiply by; one prefix letter has one meaning in each of their families.

`mb` is a million bytes here. A tool that says MB and means MiB is told so by its reader.
"""

NUMBER = re.compile(r"\s*\(?\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d()\[\],;]*)\s*\)?\s*")


def quantity(value: object, *, unit: str | None = None) -> float | None:
    """Return a value in base units, or None for what tells no number: N/A in all its forms, an unknown unit, NaN.

    Args:
        value: text with or without a unit, a number, or a mapping of `value` and `unit`.
        unit: the unit of a number that comes without one, in any case.
    """
    if isinstance(value, Mapping):
        inner: Mapping[str, Any] = value
        return quantity(inner.get("value"), unit=inner.get("unit") or unit)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        number, written = _float(value), ""
    else:
        match = NUMBER.fullmatch(str(value))
        if match is None:
            return None
        number, written = float(match[1]), match[2]
    factor = UNITS.get(str(written or unit or "").lower())
    if factor is None or not math.isfinite(number):
        return None
    return _scaled(number, factor)


def _float(value: float) -> float:
    """Return a number as a float; infinity for an integer that is larger than any."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _scaled(number: float, factor: float) -> float | None:
    """Return the product; a small factor divides, so that 13.6 % is 0.136 and not a neighbour of it."""
    product = number * factor if factor >= 1 else number / round(1 / factor)
    return product if math.isfinite(product) else None


def whole(value: object, *, unit: str | None = None) -> int | None:
    """Return a value in base units as a whole number, or None where it tells none."""
    number = quantity(value, unit=unit)
    return None if number is None else round(number)


def valid_time(text: str) -> str | None:
    """Return a time in ISO 8601 as it is; None for one that no clock shows."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text
