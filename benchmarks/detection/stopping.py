"""Device time that the sequential rule saves against measuring every case for a fixed number of pairs.

A check of 200 cases, each with earlier checks that fix its prior, is measured flat, and again with every case 5 %
slower. A case takes the pairs up to its verdict, at most the fixed number; all pairs take equally long. After every
block the cases that are still open are judged together, as the service does it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.analysis.discoveries import count_discoveries
from app.analysis.past_noise import past_noise
from app.analysis.sequential import (
    MIN_PAIRS,
    PAIRS_PER_BLOCK,
    TOLERANCE,
    Decision,
    SequentialRule,
    g_from_history,
)
from app.domain.verdicts import Verdict
from benchmarks.detection.checks import CheckCell, make_check
from benchmarks.detection.densities import Array

FIXED_PAIRS = 32
SLOWER = math.log(1.05)
EARLIER_PAIRS = 8
"""Pairs of one earlier check: a case's history is cut into so long ones."""


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
    rules = [_rule(history, len(check.history)) for history in check.history]
    return _counts(judge_together(rules, check.pairs)), _counts(judge_together(rules, check.pairs + SLOWER))


def judge_together(rules: list[SequentialRule], effects: Array) -> list[Decision]:
    """Return the last look at every case of a check; `effects` has shape (cases, pairs), one rule a case."""
    last: dict[int, Decision] = {}
    found, still_open = 0, list(range(len(effects)))
    for n in range(MIN_PAIRS, min(FIXED_PAIRS, effects.shape[1]) + 1, PAIRS_PER_BLOCK):
        for case in still_open:
            last[case] = rules[case].settle(effects[case, :n].tolist(), known=n)[-1]
        log_e = [last[case].log_e_beyond(rules[case].tau0) for case in still_open]
        found = count_discoveries(log_e, alpha=rules[0].alpha, m=rules[0].m, settled=found)
        for case in still_open:
            last[case] = rules[case].as_one_of(max(found, 1), last[case])
        still_open = [case for case in still_open if last[case].verdict is None]
    return [last[case] for case in range(len(effects))]


def _rule(history: Array, m: int) -> SequentialRule:
    past = past_noise([float(np.std(part, ddof=1)) for part in _earlier_checks(history)])
    return SequentialRule(m=m, g=g_from_history(past.sd, TOLERANCE), past=past)


def _earlier_checks(history: Array) -> list[Array]:
    return np.array_split(history, max(1, len(history) // EARLIER_PAIRS))


def _counts(looks: list[Decision]) -> Stopping:
    of = [look.verdict for look in looks]
    return Stopping(
        len(looks),
        sum(look.n for look in looks),
        of.count(Verdict.REGRESSED),
        of.count(Verdict.NO_REGRESSION),
    )
