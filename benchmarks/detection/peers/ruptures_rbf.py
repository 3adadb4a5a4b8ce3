"""ruptures' kernel change points with a Gaussian kernel, exact by dynamic programming in C; the extra `peers`.

The library has no default penalty. The one here is `PENALTY` · ln n, the best of a grid on the family `tuning`
(README.md); the bandwidth is the library's own, from the median distance.
"""

from __future__ import annotations

import math
from importlib.metadata import version

from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector, working_scale

PENALTY = 1.0
MIN_SIZE = 2


def load(penalty: float = PENALTY) -> Detector:
    """Return kernel change points at a penalty per ln n."""
    from ruptures import KernelCPD

    def detect(values: Array) -> list[int]:
        model = KernelCPD(kernel="rbf", min_size=MIN_SIZE).fit(working_scale(values))
        return [int(end) for end in model.predict(pen=penalty * math.log(len(values)))[:-1]]

    # Its matrix of distances needs n² · 16 bytes: 1.6 GB at 10 000 points.
    return Detector("ruptures_rbf", "ruptures KernelCPD rbf", detect, version=version("ruptures"))
