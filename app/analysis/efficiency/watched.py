"""What devices did while a case was timed: shares of time and of the highest clock, from the readings beside it.

The readings of an invocation begin before its process does and tell of several cases, so that only those within a
case's own window say something about it. They are columns by name for each device, as the agent packs them
(docs/protocol.md). Devices that work on something together work in step: of limits and clocks the worst counts.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean, median
from sys import float_info
from typing import Any, TypeGuard

FEWEST = 5
"""Readings in a window below which they say nothing: half a second of them."""

SHARES = ("util", "sm_active", "tensor_active", "dram_active")
"""Readings that are shares of time, from 0 to 1; each tells of a moment to a second before it, the warm-up at first."""

POWER = frozenset(("power_cap", "ppt", "board_limit"))
THERMAL = frozenset(("sw_thermal", "hw_thermal", "thermal", "socket_thermal", "vr_thermal", "hbm_thermal"))
"""Names of the reasons that hold a clock down for power, and for heat: those of the agent's gates."""

LARGEST_B = 32 * 2**20
"""Unpacked readings of more than this are no readings: a lease's devices make some megabytes in an hour."""

Columns = Mapping[str, Sequence[Any]]
Window = tuple[int, int]


def unpacked(ticks: bytes) -> list[Columns]:
    """Return the columns of each device from what an agent packed; nothing where it cannot be read."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(ticks, LARGEST_B)
        devices = json.loads(text) if reader.eof else []
    except (zlib.error, ValueError, RecursionError):
        return []
    is_readable = isinstance(devices, list) and all(map(_is_device, devices))
    return devices if is_readable else []


def _is_device(columns: object) -> bool:
    return isinstance(columns, dict) and all(isinstance(told, list) for told in columns.values())


def watched(
    devices: Sequence[Columns],
    window_ns: Window | None,
    highest_hz: Sequence[float | None],
    *,
    fewest: int = FEWEST,
) -> dict[str, float]:
    """Return what the devices did in a window, under the names of `bottleneck.Signs`; what is not told is left out.

    Args:
        devices: the columns of each device.
        window_ns: from when to when, by the clock of `t_ns`; None for all readings.
        highest_hz: the highest clock of each device [Hz], in the same order; None where it is not known.
        fewest: how many readings of a device say something.
    """
    seen = [_within(columns, window_ns) for columns in devices]
    told = {
        name: _together(fmean, [_share(of_device, name, fewest) for of_device in seen]) for name in SHARES
    }
    told |= {
        "power_throttle_share": _together(max, [_held(of_device, POWER, fewest) for of_device in seen]),
        "thermal_throttle_share": _together(max, [_held(of_device, THERMAL, fewest) for of_device in seen]),
        "clock_share": _together(
            min,
            [_clock_share(*one, fewest) for one in zip(seen, _padded(highest_hz, len(seen)), strict=True)],
        ),
    }
    return {name: value for name, value in told.items() if value is not None}


def _within(columns: Columns, window_ns: Window | None) -> dict[str, list[Any]]:
    """Return the readings of a window by name, as long as each other; a column of one value holds for all readings."""
    moments = columns.get("t_ns", ())
    places = [
        place
        for place, moment in enumerate(moments)
        if window_ns is None or (is_number(moment) and window_ns[0] <= moment <= window_ns[1])
    ]
    return {
        name: [told[0]] * len(places) if len(told) == 1 else [told[place] for place in places]
        for name, told in columns.items()
        if len(told) in (1, len(moments))
    }


def _together(combine: Any, values: Sequence[float | None]) -> float | None:
    """Return what the values of all devices come to; None where one of them does not tell."""
    known = [value for value in values if value is not None]
    return combine(known) if known and len(known) == len(values) else None


def _share(told: Mapping[str, Sequence[Any]], name: str, fewest: int) -> float | None:
    known = _numbers(told.get(name, ()))
    return fmean(known) if len(known) >= fewest else None


def _held(told: Mapping[str, Sequence[Any]], reasons: frozenset[str], fewest: int) -> float | None:
    """Return the share of the readings in which one of the reasons held the clock down."""
    known = [held for held in told.get("throttle_reasons", ()) if isinstance(held, list)]
    return (
        fmean([any(one in reasons for one in map(str, held)) for held in known])
        if len(known) >= fewest
        else None
    )


def _clock_share(told: Mapping[str, Sequence[Any]], highest_hz: float | None, fewest: int) -> float | None:
    """Return the median clock while the device had work, over its highest."""
    clocks, utils = told.get("sm_clock_hz", ()), told.get("util", ())
    pairs = zip_longest(clocks, utils)
    busy = _numbers(clock for clock, util in pairs if not is_number(util) or util > 0)
    return median(busy) / highest_hz if len(busy) >= fewest and highest_hz else None


def _numbers(values: Iterable[Any]) -> list[float]:
    return [value for value in values if is_number(value)]


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether what an agent told is a finite number; an integer beyond the range of floats is none either."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= float_info.max


def _padded(values: Sequence[float | None], length: int) -> list[float | None]:
    return [*values, *[None] * length][:length]
