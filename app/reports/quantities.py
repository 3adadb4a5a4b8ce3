"""Numbers as people read them in a report: changes, intervals, levels, durations and values with their unit.

Text only, the same for HTML, terminal and titles. Units and prefixes are `app.domain.units`'; nothing is computed
here that a verdict depends on.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from app.domain.units import ABSENT as ABSENT
from app.domain.units import format_quantity, to_base

UNBOUNDED = "unbounded"
"""What stands for an interval that excludes nothing."""

_WIDE = 0.2
"""Beyond this width the two halves of an interval differ visibly."""

_TIMES_FROM = 9.0
"""From ten times base on, a factor reads better than a percentage."""

_FULL_BELOW = 1e6
"""Numbers below this are written out."""

_EXPONENT = re.compile(r"e\+?(−?)0*(?=\d)")


def finite(value: float | None) -> float | None:
    """Return `value`, or None where it is missing, NaN or infinite."""
    return value if value is not None and math.isfinite(value) else None


def percent(fraction: float | None) -> str:
    """Return an unsigned share: `3.1 %`, `0.42 %`, `140 %`; `–` where there is none."""
    share = finite(fraction)
    return ABSENT if share is None else f"{_percent_digits(abs(share))} %"


def change(fraction: float | None) -> str:
    """Return head/base − 1 with its sign: `+6.1 %`, `−0.42 %`, `×12.4` from ten times on; `–` if there is none."""
    value = finite(fraction)
    if value is None:
        return ABSENT
    return _written(f"×{1 + value:.3g}") if value >= _TIMES_FROM else f"{_signed(value)} %"


def factor(times: float | None) -> str:
    """Return how many times something is, with three digits, near one with four: `2.31`, `0.61`, `1.004`, `12300`."""
    value = finite(times)
    if value is None:
        return ABSENT
    if value == 0 or not 1e-4 <= value < _FULL_BELOW:
        return _written(f"{value:.3g}")
    places = 3 if 0.9 <= value < 1.1 else 2 - math.floor(math.log10(value))
    return f"{value:.{max(places, 0)}f}"


def factors(low: float | None, high: float | None) -> str:
    """Return a range of factors: `2.20 … 2.43`; empty where it has no ends, or they read alike."""
    ends = factor(low), factor(high)
    return "" if low is None or high is None or ends[0] == ends[1] else " … ".join(ends)


def threshold(fraction: float) -> str:
    """Return a setting, which has no needless digits: `0.5 %`, `2 %`."""
    return f"{trim(f'{100 * fraction:.3g}')} %"


def interval(low: float | None, high: float | None) -> str:
    """Return the interval of a change: `+4.9 … +7.4 %`; a missing bound is infinite on its side."""
    bottom, top = finite(low), finite(high)
    if bottom is None and top is None:
        return UNBOUNDED
    if any(end is not None and end >= _TIMES_FROM for end in (bottom, top)):
        return f"{'−∞' if bottom is None else change(bottom)} … {'+∞' if top is None else change(top)}"
    return f"{'−∞' if bottom is None else _signed(bottom)} … {'+∞' if top is None else _signed(top)} %"


def plus_minus(low: float | None, high: float | None) -> str:
    """Return half an interval as `±0.8` (percentage points), or nothing where it is unbounded.

    Intervals are symmetric in logarithms; a wide one is not in percent, and is written out: `(+20 … +555 %)`.
    """
    bottom, top = finite(low), finite(high)
    if bottom is None or top is None:
        return ""
    if top - bottom > _WIDE:
        return f"({interval(bottom, top)})"
    return f"±{_percent_digits((top - bottom) / 2)}"


def level(confidence: float | None) -> str:
    """Return a confidence level with as many nines as it has: `99 %`, `99.979 %`."""
    value = finite(confidence)
    if value is None:
        return ABSENT
    missing = (1 - value) * 100
    decimals = max(0, 1 - math.floor(math.log10(missing))) if missing > 0 else 0
    return f"{trim(f'{value * 100:.{min(decimals, 8)}f}')} %"


def duration(seconds: float | None) -> str:
    """Return a time span [s] in at most two steps: `0.4 s`, `42 s`, `8 min 12 s`, `1 h 03 min`."""
    value = finite(seconds)
    if value is None:
        return ABSENT
    if value < 10:
        return f"{trim(f'{value:.1f}')} s"
    minutes, rest = divmod(round(value), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    parts = [f"{minutes} min"] * bool(minutes) + [f"{rest} s"] * bool(rest)
    return " ".join(parts)


def moment(time: datetime | None) -> str:
    """Return a time as `2026-11-21 11:28 UTC`; a time without zone is taken as UTC."""
    if time is None:
        return ABSENT
    return (time.astimezone(UTC) if time.tzinfo else time).strftime("%Y-%m-%d %H:%M UTC")


def quantity(value: float | None, unit: str) -> str:
    """Return a value with its unit: `−1.23 ms`; `–` where there is none."""
    return _written(format_quantity(value, unit))


def before_after(base: float | None, head: float | None, unit: str) -> tuple[str, str]:
    """Return base's and head's values with one prefix for both and digits enough to tell them apart.

    `("12.41", "13.17 ms")`; where one side is missing the other keeps its unit.
    """
    first, second = finite(base), finite(head)
    if first is None or second is None:
        return quantity(first, unit), quantity(second, unit)
    symbol, size = display_unit(max(abs(first), abs(second)), unit)
    left, right = _alike(first / size, second / size)
    return left, f"{right} {symbol}".rstrip()


def in_columns(base: float | None, head: float | None, unit: str) -> tuple[str, str]:
    """Return both values as `before_after` does, each with its unit: neither stands beside the other everywhere."""
    left, right = before_after(base, head, unit)
    symbol = right.partition(" ")[2] if ABSENT not in (left, right) else ""
    return f"{left} {symbol}".rstrip(), right


def between(low: float, high: float, unit: str) -> str:
    """Return a range of values with one prefix for both: `12.1 … 13.0 ms`; a range of one value as that value."""
    first, second = before_after(low, high, unit)
    return second if low == high else f"{first} … {second}"


def display_unit(largest: float, unit: str) -> tuple[str, float]:
    """Return the symbol that values up to `largest` [`unit`] are shown in, and its size in `unit`: `("ms", 0.001)`."""
    _, _, symbol = format_quantity(largest, unit).partition(" ")
    size = to_base(1.0, symbol)[0] / (to_base(1.0, unit)[0] or 1.0) if symbol else 1.0
    return symbol, size


def trim(digits: str) -> str:
    """Return a decimal number without the zeros that its fraction ends in."""
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _signed(fraction: float) -> str:
    digits = _percent_digits(abs(fraction))
    if float(digits) == 0:
        return digits
    return ("+" if fraction > 0 else "−") + digits


def _percent_digits(magnitude: float) -> str:
    points = magnitude * 100
    if points == 0:
        return "0"
    if points < 0.995:
        return f"{points:.2f}"
    if points < 99.95:
        return f"{points:.1f}"
    return f"{points:.0f}" if points < _FULL_BELOW else _written(f"{points:.2g}")


def _alike(first: float, second: float) -> tuple[str, str]:
    """Return two numbers with four digits in the larger, and as many decimals in the other if it is near.

    Whole ones have all of their digits.
    """
    small, large = sorted((abs(first), abs(second)))
    are_whole = first.is_integer() and second.is_integer()
    if are_whole and large < _FULL_BELOW:
        return _fixed(first, 0), _fixed(second, 0)
    if are_whole or small * 10 < large or not 1e-3 <= large < 1e15:
        return _short(first), _short(second)
    decimals = max(0, 3 - math.floor(math.log10(large)))
    return _fixed(first, decimals), _fixed(second, decimals)


def _fixed(value: float, decimals: int) -> str:
    return _written(f"{value:.{decimals}f}")


def _short(value: float) -> str:
    """Return a number with four digits, with zeros rather than a power of ten where it is not too long."""
    digits = f"{value:.4g}"
    return _fixed(float(digits), 0) if 1e4 <= abs(float(digits)) < _FULL_BELOW else _written(digits)


def _written(told: str) -> str:
    """Return a number, or one with its unit, with minus signs for hyphens and nothing needless in its exponent."""
    number, space, symbol = told.partition(" ")
    return _EXPONENT.sub(r"e\1", number.replace("-", "−")) + space + symbol
