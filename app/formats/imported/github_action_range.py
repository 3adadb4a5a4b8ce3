"""The range of github-action-benchmark: free text, which tools and people fill with a width or with two ends.

Only what can mean one thing alone is read. Anything else tells no spread: a wrong one would be taken for measured.
"""

from __future__ import annotations

import math
import re

Ends = tuple[float | None, float | None]

_UNKNOWN: Ends = (None, None)
_NUMBER = r"((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
_MARKED = re.compile(rf"(?:±|\+/?-|stddev:)\s*{_NUMBER}(?![0-9]|[.,][0-9])\s*(%?)")
_ALONE = re.compile(rf"\s*{_NUMBER}\s*(%?)\s*")
_BETWEEN = re.compile(rf"\s*(-?{_NUMBER})\s*(?:\.{{2,3}}|…|[-–—]|to)\s*(-?{_NUMBER})\s*")


def read_range(found: object, value: float, *, is_rate: bool) -> Ends:
    """Return the ends of a range such as `± 329`, `10 +/- 2,802`, `±1.12%`, `stddev: 0.3`, 3 or `9.5 ... 11`.

    A width does not sink below 0, and two ends count where the value is between them. Of a rate, which is pytest's, a
    width is the deviation of the time of one call: `1 / value` seconds on average.
    """
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return _UNKNOWN
    text = str(found)
    if width := _MARKED.search(text) or _ALONE.fullmatch(text):
        return _around(value, _number(width[1]), is_share=bool(width[2]), is_rate=is_rate)
    ends = _BETWEEN.fullmatch(text)
    return _enclosing(value, _number(ends[1]), _number(ends[3])) if ends else _UNKNOWN


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _around(value: float, width: float, *, is_share: bool, is_rate: bool) -> Ends:
    if is_share:
        width *= abs(value) / 100
    elif is_rate:
        width *= float(value) * float(value)
    ends = max(value - width, min(value, 0.0)), value + width
    return ends if all(map(math.isfinite, ends)) else _UNKNOWN


def _enclosing(value: float, low: float, high: float) -> Ends:
    return (low, high) if low <= value <= high and math.isfinite(high - low) else _UNKNOWN
