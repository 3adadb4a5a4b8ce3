"""The three families of noise models, and the random streams that keep them apart.

`tuning` is what a detector is tuned on, `validation` what its failures may be looked at on, `held_out` what it is
judged by: nobody who works on a detector looks into that one's module or at its single models, or it is held out no
longer.
No two families share a model with the same parameters, nor a stream.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from benchmarks.detection import held_out
from benchmarks.detection.noise import TUNING, VALIDATION, Entry, Rng

MODELS: dict[str, dict[str, Entry]] = {
    "tuning": TUNING,
    "validation": VALIDATION,
    "held_out": held_out.MODELS,
}
"""family -> name -> model; the first of a family is its plainest."""

STREAMS = {"tuning": "tuning", "validation": "held_out", "held_out": "held out, second"}
"""family -> first part of its streams' names. `validation` was held out once, and its series are still the same."""


def stream(family: str, path: str, seed: int) -> Rng:
    """Return the random stream of what is called `path` within a family; the same every time."""
    return np.random.default_rng([seed, crc32(f"{STREAMS[family]}/{path}".encode())])
