"""airspeed velocity's step detection (`asv.step_detect`), as its published pages use it; the extra `peers` installs it.

It fits piecewise constants in the l1 norm with a penalty chosen by an information criterion; there is nothing to set.
"""

from __future__ import annotations

from importlib.metadata import version

from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector


def load() -> Detector:
    """Return asv's detector."""
    from asv.step_detect import detect_steps

    def detect(values: Array) -> list[int]:
        return [left for left, *_ in detect_steps(values.tolist())[1:]]

    return Detector("asv", "asv step_detect", detect, version=version("asv"))
