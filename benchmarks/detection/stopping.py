"""Device time that the sequential rule saves against measuring every case for a fixed number of pairs.

A check of 200 cases, each with the A/A history that fixes its g, is measured flat, and again with every case 5 %
slower. A case takes the pairs up to its verdict, at most the fixed number; all pairs take equally long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.analysis.sequential import TOLERANCE, SequentialRule, g_from_history
from app.domain.verdicts import Verdict
from benchmarks.detection.checks import Check, CheckCell, make_check
from benchmarks.detection.densities import Array

FIXED_PAIRS = 32
SLOWER = math.log(1.05)


@dataclass(frozen=True)
class Stopping:
    """Counts over cases; they add up."""

    cases: int = 0
    pairs: int = 0
    regressed: int = 0
    passed: int = 0

    def __add__(self, other: Stopping) -> Stopping:
        """Return the counts of both."""
        return Stopping(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def saved(self) -> float:
        """Return the share of the fixed pairs that were not needed."""
        return 1 - self.pairs / (FIXED_PAIRS * self.cases)


def run_rule(cell: CheckCell) -> tuple[Stopping, Stopping]:
    """Return the counts of one check of the scenario `long`: flat, and 5 % slower."""
    check = make_check(cell)
    return _stop(check, check.pairs), _stop(check, check.pairs + SLOWER)


def _stop(check: Check, effects: Array) -> Stopping:
    total = Stopping()
    for history, case in zip(check.history, effects, strict=True):
        g = g_from_history(float(np.std(history, ddof=1)), TOLERANCE)
        look = SequentialRule(m=len(effects), g=g).decide(case[:FIXED_PAIRS].tolist())
        assert look is not None
        total += Stopping(1, look.n, look.verdict is Verdict.REGRESSED, look.verdict is Verdict.NO_REGRESSION)
    return total
