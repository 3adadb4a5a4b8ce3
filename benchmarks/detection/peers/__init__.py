"""The detectors under test: one module each, which `load()`s a `Detector` or says why it cannot.

A new one is a module with `load()` and a line in `DETECTORS`. Detectors get raw values in their order, generated ones
positive and in any unit, real ones of any sign, and return the indices of first points of new regimes.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.generator import Series
from benchmarks.detection.online import Alarm, by_prefixes, delay, delay_by_prefixes


class NotInstalledError(Exception):
    """The peer is not there; the message says how to get it."""


class Values(Protocol):
    """What a detector may see of a series: values and ascending integer positions, both of shape (n,)."""

    @property
    def values(self) -> Array: ...

    @property
    def x(self) -> Array: ...


def working_scale(values: Array) -> Array:
    """Return logarithms, for peers that want differences alike at every level; as they are if one is not positive."""
    return np.log(values) if (values > 0).all() else values


@dataclass(frozen=True)
class Detector:
    """A detector; `online` is its own form for growing series, None where prefixes are run again."""

    name: str
    title: str
    detect: Callable[..., list[int]]
    online: Callable[..., list[Alarm]] | None = None
    version: str = ""
    cpu_s: Callable[[], float] = time.process_time
    takes_x: bool = False

    def find(self, series: Values, end: int | None = None) -> list[int]:
        """Return the changes in the first `end` points of a series; default all."""
        return self.detect(*self._given(series, end))

    def watch(self, series: Series) -> list[Alarm]:
        """Return the alarms while a series grows."""
        if self.online is None:
            return by_prefixes(lambda values: self.find(series, len(values)))(series.values)
        return self.online(*self._given(series, None))

    def delay(self, series: Series) -> float:
        """Return the delay after the step of a series, in points; see `online.delay`."""
        if self.online is None:
            return delay_by_prefixes(series, lambda values: self.find(series, len(values)))
        return delay(series, self.watch(series))

    def _given(self, series: Values, end: int | None) -> tuple[Array, ...]:
        return (series.values[:end], series.x[:end]) if self.takes_x else (series.values[:end],)


DETECTORS = {
    "ours": "benchmarks.detection.peers.ours",
    "otava": "benchmarks.detection.peers.otava",
    "ruptures_rbf": "benchmarks.detection.peers.ruptures_rbf",
    "ruptures_pelt": "benchmarks.detection.peers.ruptures_pelt",
    "asv": "benchmarks.detection.peers.asv",
    "reference": "benchmarks.detection.peers.binary_segmentation",
}
"""name -> module."""


@lru_cache
def load(name: str) -> Detector:
    """Return the detector of this name.

    Raises:
        KeyError: no such name.
        NotInstalledError: it is not installed here.
    """
    try:
        return importlib.import_module(DETECTORS[name]).load()
    except ModuleNotFoundError as error:
        raise NotInstalledError(f"no module {error.name!r}: install the extra `peers`") from error
