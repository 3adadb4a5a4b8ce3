"""Telemetry while an invocation runs: every device of a lease read ten times a second, beside the measured process.

The first reading is taken before the process starts and the last when it has ended, so that counters can be
subtracted. A device that does not answer costs readings, never the invocation.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import zlib
from collections.abc import Sequence
from typing import Protocol

from workers.devices.base import Device
from workers.readings.record import Tick

PERIOD_S = 0.1
LONGEST_WAIT_S = 2.0
"""How long the end of an invocation waits for a reading on its way."""

MOST_TICKS = 8192
"""Of one device in one invocation; beyond, every second one is left out and they are taken half as often."""

LONGEST_PACKED = 1_500_000
"""Characters of an invocation's raw readings; beyond, they are sent half as often: the service takes some megabytes."""


class HostReadings(Protocol):
    """What other programs did to the host since the last look."""

    def look(self) -> dict[str, object]:
        """Return readings of the host by name."""


class NoHost:
    """In place of a host whose load is told already, or does not matter."""

    def look(self) -> dict[str, object]:
        """Return nothing."""
        return {}


class Sampler:
    """Reads devices in a thread of its own, from `start` to `stop`; may be started again."""

    def __init__(self, devices: Sequence[Device], host: HostReadings, *, period_s: float = PERIOD_S) -> None:
        self._devices = devices
        self._host = host
        self._period_s = period_s
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._ticks: list[list[Tick]] = []

    def start(self) -> None:
        """Take the first reading, then go on beside the caller."""
        self._over, self._ticks = threading.Event(), [[] for _ in self._devices]
        self._take(self._ticks)
        arguments = (self._over, self._ticks)
        self._thread = threading.Thread(target=self._work, args=arguments, name="telemetry", daemon=True)
        self._thread.start()

    def stop(self) -> list[list[Tick]]:
        """Take the last reading and return all of each device, in time order, nulls left out."""
        assert self._thread is not None, "a sampler is stopped after its start"
        self._over.set()
        self._thread.join(LONGEST_WAIT_S)
        self._thread = None
        return [list(ticks) for ticks in self._ticks]

    def _work(self, over: threading.Event, ticks: list[list[Tick]]) -> None:
        period_s = self._period_s
        while not over.wait(period_s):
            self._take(ticks)
            if len(ticks[0]) >= MOST_TICKS:
                period_s *= 2
                for of_device in ticks:
                    _thin(of_device)
        self._take(ticks)

    def _take(self, ticks: list[list[Tick]]) -> None:
        host = {name: value for name, value in self._host.look().items() if value is not None}
        for device, taken in zip(self._devices, ticks, strict=True):
            told = {name: value for name, value in device.reading().items() if value is not None}
            told.pop("unavailable", None)
            taken.append({"t_ns": time.monotonic_ns(), **host, **told})


def _thin(ticks: list[Tick]) -> None:
    """Leave out every second reading; what must not be overlooked goes to the one before."""
    for kept, dropped in zip(ticks[0:-1:2], ticks[1:-1:2], strict=False):
        for name in ("foreign_pids", "throttle_reasons"):
            if dropped.get(name):
                kept[name] = sorted({*(kept.get(name) or ()), *dropped[name]})
    del ticks[1:-1:2]


def packed(ticks: Sequence[Sequence[Tick]]) -> str:
    """Return raw readings as text to be sent: base64 of zlib of JSON, a list of columns for each device."""
    step = 1
    while len(text := _packed([of_device[::step] for of_device in ticks])) > LONGEST_PACKED:
        step *= 2
    return text


def _packed(ticks: Sequence[Sequence[Tick]]) -> str:
    columns = [_columns(of_device) for of_device in ticks]
    return base64.b64encode(zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 9)).decode()


def _columns(ticks: Sequence[Tick]) -> dict[str, list[object]]:
    """Return readings by name, with null where one has none; what never changes is told once."""
    names = dict.fromkeys(name for tick in ticks for name in tick)
    columns = {name: [tick.get(name) for tick in ticks] for name in names}
    return {
        name: told[:1] if all(value == told[0] for value in told) else told for name, told in columns.items()
    }
