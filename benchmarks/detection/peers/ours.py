"""Ratchet's own detector, as `ratchet detect` uses it."""

from __future__ import annotations

import importlib

from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector, NotInstalledError

OFFLINE = ("app.analysis.detection.changes", "examine")
"""Module and function: (values, x) -> something with `change_points`, each with its `index`."""
ONLINE = ("app.analysis.detection.online", "online")
"""Module and function: (values, x) -> [(index of the newest point, index of the change)]; may be absent."""


def load() -> Detector:
    """Return our detector.

    Raises:
        NotInstalledError: it is not there.
    """
    examine, online = _function(OFFLINE), _function(ONLINE)
    if examine is None:
        raise NotInstalledError(f"no {'.'.join(OFFLINE)}")

    def detect(values: Array, x: Array) -> list[int]:
        return [point.index for point in examine(values, x).change_points]

    return Detector("ours", "Ratchet", detect, online, takes_x=True)


def _function(place: tuple[str, str]):
    """Return the function; None if its module is absent or has no such name."""
    module, name = place
    try:
        return getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if not module.startswith(error.name or "?"):
            raise
        return None
