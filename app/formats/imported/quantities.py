"""Units as other tools write them, and what follows from a unit where a tool says nothing else."""

from __future__ import annotations

import re

from app.domain.results import Better
from app.domain.units import base_unit

_SPELLINGS = {
    "nsec": "ns",
    "usec": "us",
    "msec": "ms",
    "nanoseconds": "ns",
    "nanosecond": "ns",
    "nanosecond (ns)": "ns",
    "nanoseconds (ns)": "ns",
    "microseconds": "us",
    "milliseconds": "ms",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "secs": "s",
    "minutes": "min",
    "kilobytes": "kB",
    "megabytes": "MB",
    "gigabytes": "GB",
    "byte": "B",
    "bytes": "B",
    "b": "B",
    "b/s": "B/s",
    "i/s": "items/s",
    "ops/sec": "operations/s",
    "operations / second (ops/s)": "operations/s",
    "operations / second": "operations/s",
    "percent": "%",
    "unit": "1",
    "units": "1",
}
"""Spellings of tools that we write otherwise, in lower case."""

_EACH = re.compile(r"\s*/\s*(iter|iteration|op|operation|call|run)$", re.IGNORECASE)
_RATE = re.compile(r"/\s*(s|sec|second)$", re.IGNORECASE)


def clean_unit(unit: str) -> str:
    """Return a unit as we write it: `ns` for `ns/iter`, `items/s` for `i/s`, 1 for none; others as they are."""
    text = unit.strip()
    text = _SPELLINGS.get(text.lower(), text) or "1"
    alone = _EACH.sub("", text)
    alone = _SPELLINGS.get(alone.lower(), alone)
    return alone if alone != text and base_unit(alone) == "s" else text


def direction_of(unit: str) -> Better:
    """Return which way is better, by the unit alone: more per second is, and less of anything else."""
    is_rate = _RATE.search(unit) or base_unit(unit).endswith("/s")
    return "higher" if is_rate else "lower"


def metric_of(unit: str) -> str:
    """Return what to call a quantity of which only the unit is known."""
    if base_unit(unit) == "s":
        return "time"
    return "throughput" if direction_of(unit) == "higher" else "value"
