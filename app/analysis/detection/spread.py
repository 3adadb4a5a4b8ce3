"""Changes of the noise alone: the level stays, and runs scatter more, or less, from some commit on.

The roots of the distances from the level have about the same, nearly normal, scatter whatever the noise is, so that a
change of the noise is a change of their level, and is searched for as such.
"""

from __future__ import annotations

import math

import numpy as np

from app.analysis.arrays import running_sums
from app.analysis.detection.noise import profile_of
from app.analysis.detection.outliers import robust_sd
from app.analysis.detection.results import Episode
from app.analysis.detection.scan import Scan
from app.analysis.detection.search import Found, boundaries_of, levels_of
from app.analysis.detection.segments import Segments

EVIDENT = 6.0
"""Standard errors of a change of the noise: scatter is judged with less care than levels."""

LEAST_RATIO = 1.5
"""Smaller ratios of two standard deviations are of no interest."""


def changes_of_noise(found: Found) -> list[Episode]:
    """Return where the noise changed, each from there on; nothing if it is the same all along."""
    if not found.noise_varies:
        return []
    y, n = found.segments.y, found.segments.n
    rest = y - levels_of(y, found.boundaries)
    roots = np.sqrt(np.abs(rest))
    weight_sums = np.arange(n + 1.0)
    sums = running_sums(roots)
    floor = 1e-3 * math.sqrt(found.segments.noise.sd)
    # How much runs scatter does not wander as their level does.
    noise = profile_of(roots - float(roots.mean()), floor, weight_sums, wandering=0.0)
    segments = Segments(roots, np.ones(n), noise, sums, running_sums(roots * roots))
    places = boundaries_of(segments, Scan(sums, weight_sums), roots, None)
    edges = segments.edges(places)
    episodes = []
    for start, at, end in zip(edges, edges[1:], edges[2:], strict=False):
        evidence = float(segments.evidence(np.array([start, at, end]))[0])
        before, after = robust_sd(rest[start:at]), robust_sd(rest[at:end])
        if (
            evidence >= EVIDENT
            and min(before, after) > 0
            and abs(math.log(after / before)) >= math.log(LEAST_RATIO)
        ):
            episodes.append(Episode(at, end, "variance", after / before - 1))
    return episodes
