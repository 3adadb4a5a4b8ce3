"""When numbers must not be believed: void pairs, gates that hit one arm, invocations that fail.

Works on what happened, never on how large a value was: a rule that looked at timings could choose its result.
Thresholds and their origin: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from app.analysis.effect import INVALID_VALUE
from app.domain.verdicts import Verdict

Arm = Literal["base", "head"]

MAX_VOID_SHARE = 0.25
"""Over this share of void pairs nothing is measured any more."""

MIN_VOID = 3
"""Fewer void pairs never stop a measurement."""

ASYMMETRY_P = 0.01
"""Below this p-value the gates are taken to hit one arm and not the other."""

FAILURES_IN_A_ROW = 2
"""So many failures of one arm, one after the other, are the arm's own."""


class Standing(NamedTuple):
    """Whether one pair counts: its block, why it is void (None if it is not), and which arm made it so."""

    block: int
    void_reason: str | None = None
    void_arm: Arm | None = None


@dataclass(frozen=True)
class Stop:
    """Measuring ended after `block` because its numbers cannot be believed."""

    block: int
    reason: str


@dataclass
class _Tally:
    """Pairs so far, by what became of them."""

    pairs: int = 0
    void: int = 0
    invalid: int = 0
    base: int = 0
    head: int = 0

    def add(self, standing: Standing) -> None:
        self.pairs += 1
        if standing.void_reason is None:
            return
        self.void += 1
        if standing.void_reason == INVALID_VALUE:
            self.invalid += 1
        else:
            self.base += standing.void_arm == "base"
            self.head += standing.void_arm == "head"

    def reason(self) -> str | None:
        if self._too_many(self.void - self.invalid):
            return "invalid_environment"
        if self._too_many(self.void):
            return INVALID_VALUE
        if binomial_p(self.base, self.base + self.head) < ASYMMETRY_P:
            return "gate_asymmetry"
        return None

    def _too_many(self, void: int) -> bool:
        return void >= MIN_VOID and void > MAX_VOID_SHARE * self.pairs


def first_stop(standings: Sequence[Standing]) -> Stop | None:
    """Return after which block a measurement must end, and why; None while it may go on.

    Judged at the end of each block, in time order. `invalid_environment`: gates made too many pairs void;
    `invalid_value`: too many are void, most for values without a logarithm; `gate_asymmetry`: gates were
    triggered by one arm more often than chance explains.

    Args:
        standings: every pair, in time order, pairs of a block next to each other.
    """
    tally = _Tally()
    for position, standing in enumerate(standings):
        tally.add(standing)
        if tally.void and _ends_block(standings, position) and (reason := tally.reason()):
            return Stop(standing.block, reason)
    return None


def _ends_block(standings: Sequence[Standing], position: int) -> bool:
    return position + 1 == len(standings) or standings[position + 1].block != standings[position].block


def binomial_p(k: int, n: int) -> float:
    """Return the exact two-sided p-value of `k` heads in `n` throws of a fair coin; 1 for n = 0."""
    tail = sum(math.comb(n, i) for i in range(min(k, n - k) + 1))
    return min(1.0, 2 * tail / (1 << n))


class ArmOutcome(NamedTuple):
    """How one invocation of a case ended."""

    arm: Arm
    failed: bool


@dataclass(frozen=True)
class Failure:
    """A case that cannot be compared because an arm fails, and how that is called."""

    verdict: Verdict
    reason: str | None = None


def failure_of(outcomes: Iterable[ArmOutcome]) -> Failure | None:
    """Return whether a case fails on an arm, as things stand after the last of `outcomes`.

    An arm fails when its last two invocations failed. It alone is to blame only if the other arm's last one
    passed; where that failed too, but only once, the next block tells.

    Args:
        outcomes: the case's invocations in time order, without those that a gate made void.
    """
    streak: dict[Arm, int | None] = {"base": None, "head": None}
    for outcome in outcomes:
        streak[outcome.arm] = (streak[outcome.arm] or 0) + 1 if outcome.failed else 0
    down = {arm for arm, length in streak.items() if (length or 0) >= FAILURES_IN_A_ROW}
    if len(down) == len(streak):
        return Failure(Verdict.NOT_MEASURED, "both_fail")
    if "head" in down and streak["base"] == 0:
        return Failure(Verdict.HEAD_FAILS)
    if "base" in down and streak["head"] == 0:
        return Failure(Verdict.BASE_FAILS)
    return None
