"""Ticks of a picture's vertical axis, and their numbers: a chart tells their unit once, a small picture with each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from app.reports import quantities

_FEW = 8
"""Ticks, at most about, as in the chart's script."""

_PLAIN = (1e-4, 1e6)
"""Numbers that are written out; others are told with a power of ten."""

_LEAST_POWER = -323
"""Powers of ten below this are 0."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Ticks(NamedTuple):
    """Values, their numbers, and what the numbers are in: `k samples/s`, `MiB`, `× 10³⁰⁰`."""

    values: list[float]
    numbers: list[str]
    unit: str


def ticks(low: float, high: float, unit: str) -> Ticks:
    """Return the ticks of an axis from `low` up to `high` [`unit`], in steps that are round in the unit shown."""
    size, symbol = _scale(max(abs(low), abs(high)), unit)
    bottom, top = low / size, high / size
    step = _round_step((top - bottom) / _FEW)
    steps = range(math.ceil(bottom / step - 1e-9), math.floor(top / step + 1e-9) + 1)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    numbers = [f"{i * step:.{decimals}f}".replace("-", "−") for i in steps]
    return Ticks([i * step * size for i in steps], numbers, symbol)


def tick_labels(values: Sequence[float], unit: str) -> list[str]:
    """Return what a small picture's axis is labelled with at these values, two or more at equal distances.

    All have one prefix, and digits enough to tell neighbours apart.
    """
    size, symbol = _scale(max(map(abs, values)), unit)
    step = abs(values[1] / size - values[0] / size)
    decimals = max(0, 1 - math.floor(math.log10(step))) if step else 0
    told = [f"{value / size:.{decimals}f}" for value in values]
    if all(one.endswith("0") for one in told) and decimals:
        told = [f"{value / size:.{decimals - 1}f}" for value in values]
    return [f"{one.replace('-', '−')} {symbol}".rstrip() for one in told]


def share_labels(values: Sequence[float]) -> list[str]:
    """Return what an axis of shares is labelled with at these values: `31 %`, `99 %`."""
    return [f"{one} %" for one in tick_labels([100 * value for value in values], "1")]


def _scale(largest: float, unit: str) -> tuple[float, str]:
    symbol, size = quantities.display_unit(largest, unit)
    rest = largest / size
    if not rest or _PLAIN[0] <= rest < _PLAIN[1]:
        return size, symbol
    power = max(_LEAST_POWER, math.floor(math.log10(rest)))
    return size * 10.0**power, f"× 10{str(power).translate(_RAISED)} {symbol}".rstrip()


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(one for one in (1, 2, 5, 10) if one * power >= least * (1 - 1e-9))
