"""ruptures' PELT for changes of mean (Killick 2012), in C through `KernelCPD(kernel="linear")`; the extra `peers`.

`ruptures.Pelt` gives the same answer for the cost "l2" and takes six seconds for 1000 flat points, as it is Python.
Values are logarithms in robust standard deviations of their differences; the penalty is `PENALTY` · ln n, the best of
a grid on the family `tuning` (README.md).
"""

from __future__ import annotations

import math
from importlib.metadata import version

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector, working_scale

PENALTY = 15.0
MIN_SIZE = 2


def load(penalty: float = PENALTY) -> Detector:
    """Return PELT at a penalty per ln n."""
    from ruptures import KernelCPD

    def detect(values: Array) -> list[int]:
        y = working_scale(values)
        differences = np.diff(y)
        sd = 1.4826 * float(np.median(np.abs(differences))) / math.sqrt(2) or float(np.std(differences))
        if sd == 0:
            return []
        model = KernelCPD(kernel="linear", min_size=MIN_SIZE).fit((y - np.median(y)) / sd)
        return [int(end) for end in model.predict(pen=penalty * math.log(len(values)))[:-1]]

    return Detector("ruptures_pelt", "ruptures PELT l2", detect, version=version("ruptures"))
