"""`intel_gpu_top -J`: an object a period; in an array since version 1.18, one after the other before.

Described in intel_gpu_top(1) of igt-gpu-tools. The array is closed only when the tool ends by itself, and the last
object may be cut. Engines are named with a number where there may be several of a class (`Video/0`). An engine's `busy`
is a share of the period and may be a little over all of it. The device has work at least as long as its busiest engine;
how their times overlap is not told. `power.GPU` is the GPU's own, `Package` the whole processor's; early versions tell
one `value`, the GPU's. A GPU of several tiles has parts for each, as `frequency-gt0`, the first of which are read.
`imc-bandwidth` is of the host's memory. A client is a process that has the device open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from workers.readings.quantities import quantity
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, Tick, facts, tick

OPENING = re.compile(
    r'\s*\[?\s*\{\s*"(?:period|frequency(?:-gt\d)?|interrupts|rc6(?:-gt\d)?|power|engines|clients|imc-bandwidth)"\s*:'
)


def recognises(text: str) -> bool:
    """Tell whether the text begins with a period of the tool's, alone or in an array."""
    return OPENING.match(_without_words(text)) is not None and '"engines"' in text


def _without_words(text: str) -> str:
    """Return the text from its first object on, with the bracket before it; warnings may come first."""
    start = re.search(r"(?:^|\n)[ \t]*(\[\s*)?\{", text)
    return text[start.start() :] if start else ""


def read(text: str) -> list[DeviceRecord]:
    """Return the GPU with a reading a period.

    Raises:
        UnreadableError: not one period is whole.
    """
    periods = list(_objects(_without_words(text)))
    if not periods:
        raise UnreadableError("intel_gpu_top: the text ends within its first period")
    return [DeviceRecord("intel", "intel", facts(), tuple(map(_reading, periods)))]


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the whole objects of a stream, with or without brackets and commas around them."""
    decoder, at = json.JSONDecoder(), 0
    while (start := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            return
        if "engines" in found:
            yield found


def _reading(period: Mapping[str, Any]) -> Tick:
    frequency = _part(period, "frequency") or _part(period, "frequency-gt0")
    power, engines = _part(period, "power"), _parts(period, "engines")
    busy = [quantity(engine.get("busy"), unit=engine.get("unit", "%")) for engine in engines]
    known = [share for share in busy if share is not None]
    return tick(
        util=min(max(known), 1.0) if known else None,
        sm_clock_hz=quantity(frequency.get("actual"), unit=frequency.get("unit", "MHz")) or None,
        power_w=quantity(power.get("GPU", power.get("value")), unit=power.get("unit", "W")),
        foreign_pids=_pids(period),
    )


def _part(period: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = period.get(name)
    return part if isinstance(part, Mapping) else {}


def _parts(period: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [part for part in _part(period, name).values() if isinstance(part, Mapping)]


def _pids(period: Mapping[str, Any]) -> list[int] | None:
    """Return the processes that have the device open; None where the tool does not list them."""
    if not isinstance(period.get("clients"), Mapping):
        return None
    pids = (quantity(client.get("pid")) for client in _parts(period, "clients"))
    return sorted({int(pid) for pid in pids if pid is not None})


READERS = (Reader("intel_gpu_top", "json", recognises, read),)
