"""How many metrics of a job changed, judged together: many that change at once need less evidence each.

The e-BH procedure: of M e-values, the k largest are discoveries if each of them is at least M / (alpha · k), for the
largest such k. The expected share of false ones among them is at most alpha, however the e-values depend on each
other; so where nothing changed, the probability of any discovery is. With one discovery it asks for what M single
tests would, with M for as little as one test alone.

A discovery is settled, and its e-value stays as it was; so the number of discoveries never falls, and what was one
remains one.

Source: R. Wang, A. Ramdas, False discovery rate control with e-values, JRSS B 84 (2022). The interval of a discovery
at level 1 − alpha · k / M: Z. Xu, R. Wang, A. Ramdas, Post-selection inference for e-value based confidence intervals,
Electronic Journal of Statistics 18 (2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def count_discoveries(log_e: Iterable[float], *, alpha: float, m: int, settled: int = 0) -> int:
    """Return how many metrics changed, the `settled` ones among them.

    Args:
        log_e: logarithms of the open metrics' e-values, in any order; −∞ for those that cannot change now.
        alpha: error level of the job.
        m: the job's gating metrics, ≥ 1, open or not.
        settled: how many were discoveries before.
    """
    strongest_first = sorted(log_e, reverse=True)
    for more in range(len(strongest_first), 0, -1):
        if strongest_first[more - 1] >= math.log(m / alpha) - math.log(settled + more):
            return settled + more
    return settled
