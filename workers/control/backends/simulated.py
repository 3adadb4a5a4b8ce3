"""Devices that exist in a script only: their times are drawn around nominal ones, as the harness draws a case's.

What the script says of the machine moves them, its noise and the `control` factor of its faults; what it says of the
code does not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

from workers.control.backends.interface import Backend, Work
from workers.control.probes import BYTES, FLOPS, GEMM_BF16, TIMES

NOMINAL: Final = {
    "gemm": (GEMM_BF16, 1e-3, 2e11, FLOPS),
    "triad": ("triad", 5e-4, 1e9, BYTES),
    "h2d": ("h2d", 2e-3, 5e7, BYTES),
    "d2h": ("d2h", 2e-3, 5e7, BYTES),
    "empty_launch": ("empty_launch", 5e-6, 1.0, TIMES),
    "host_loop": ("host_loop", 1e-3, 1.0, TIMES),
}
"""Of each probe: its name, seconds an iteration, and what that amounts to."""


class Simulated(Backend):
    """One device of a script."""

    name = "simulated"

    def __init__(self, simulate: Mapping[str, Any], index: int) -> None:
        """Take a request's `simulate`: `devices`, `pair`, and `call`, which tells the kit's starts in a run apart."""
        self._device = simulate["devices"][index]
        self._pair = simulate.get("pair", 0)
        self._call = simulate.get("call", 0)
        self._factor = simulate.get("control_factor", 1.0) * self._device.get("control_factor", 1.0)

    @classmethod
    def made_for(cls, request: Mapping[str, Any], index: int) -> Self:
        """Return the device of the request's script."""
        return cls(request["simulate"], index)

    @contextmanager
    def work(self, probe: str) -> Iterator[Work]:
        """Give the probe; its runs take no time."""
        name, nominal_s, amount, unit = NOMINAL[probe]
        place = (self._device["seed"], "control", self._call, self._pair, probe)
        generator = random.Random("/".join(map(str, place)))
        expected_s = nominal_s * self._factor

        def run(k: int) -> float:
            return float(k * expected_s * math.exp(generator.gauss(0, self._device["noise_sd"])))

        yield Work(name, run, amount, unit)
