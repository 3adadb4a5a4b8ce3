"""Checks of a pull request with known truth: 200 cases, base and head interleaved, of which 0 to 3 have changed.

A case's noise is a stretch of one of the family's noise models over the time of a run: pairs in the order ABBA or BAAB,
so that what drifts or repeats reaches both sides alike. Half of the cases have the family's first, plain model; the
others draw one. A scenario says how noisy they are and how large the changes. The same stretch began before the check,
with nothing changed: that is the case's A/A history.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.families import MODELS, stream
from benchmarks.detection.generator import readings
from benchmarks.detection.noise import Noise, Rng, autocovariance

CASES = 200
MAX_CHANGED = 3
HISTORY = 24
"""Pairs of base against base that were measured before the check."""
SLOWER = 0.75
"""Probability that a change is for the worse."""


@dataclass(frozen=True)
class Scenario:
    """How hard checks are: ranges of blocks, of the noise's standard deviation and of a change's size (shares).

    A block is one pair; a check has the same number for all its cases.
    """

    blocks: tuple[int, int]
    cv: tuple[float, float]
    sizes: tuple[float, float]


SCENARIOS = {
    "usual": Scenario((8, 20), (0.003, 0.03), (0.02, 0.10)),
    "hard": Scenario((5, 10), (0.005, 0.05), (0.01, 0.06)),
    "long": Scenario((32, 32), (0.003, 0.03), (0.05, 0.05)),
}
"""`long` is for stopping early. `hard` leaves a clairvoyant about the share of changes that the data behind the goals
left him, 0.56."""


@dataclass(frozen=True, eq=False)
class Check:
    """One check as a comparer gets it, and its truth.

    The columns `benchmark`, `side`, `block` and `value` have one row per value, as `ratchet compare` reads them; a
    comparer answers in the order of `benchmarks`. `history` has shape (cases, HISTORY): ln(second / first) of earlier
    pairs without a change. `effect` has shape (cases,): true ln(head / base); `sd` (cases,): the standard error of a
    clairvoyant's estimate; `hidden` (cases, blocks): what the clairvoyant takes off ln(head / base) of each pair.
    """

    benchmarks: tuple[str, ...]
    base: Array
    head: Array
    history: Array
    effect: Array
    sd: Array
    hidden: Array

    @cached_property
    def benchmark(self) -> Array:
        """Return the name of each row's case."""
        return np.repeat(np.array(self.benchmarks), 2 * self.blocks)

    @cached_property
    def side(self) -> Array:
        """Return `base` or `head` of each row."""
        return np.tile(np.repeat(np.array(["base", "head"]), self.blocks), len(self.benchmarks))

    @cached_property
    def block(self) -> Array:
        """Return each row's block, 0-based."""
        return np.tile(np.arange(self.blocks), 2 * len(self.benchmarks))

    @cached_property
    def value(self) -> Array:
        """Return each row's value."""
        return np.stack([self.base, self.head], axis=1).reshape(-1)

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return int(self.base.shape[1])

    @property
    def pairs(self) -> Array:
        """Return ln(head / base) of each pair, shape (cases, blocks)."""
        return np.log(self.head / self.base)

    @property
    def truth(self) -> list[str]:
        """Return the verdict that each case deserves: regressed, improved, or no_regression."""
        return ["regressed" if e > 0 else "improved" if e < 0 else "no_regression" for e in self.effect]


class CheckCell(NamedTuple):
    """What names one check; `make_check` makes it."""

    family: str
    scenario: str
    changed: bool
    copy: int
    seed: int = 1
    cases: int = CASES


def make_check(cell: CheckCell) -> Check:
    """Return one check; with `changed`, 1 to 3 of its cases have."""
    rng = stream(cell.family, f"check/{cell.scenario}/{cell.changed}/{cell.copy}", cell.seed)
    scenario = SCENARIOS[cell.scenario]
    blocks = int(rng.integers(scenario.blocks[0], scenario.blocks[1] + 1))
    effect = np.zeros(cell.cases)
    if cell.changed:
        which = rng.choice(cell.cases, size=rng.integers(1, MAX_CHANGED + 1), replace=False)
        sizes = np.log1p(rng.uniform(*scenario.sizes, size=len(which)))
        effect[which] = sizes * np.where(rng.random(len(which)) < SLOWER, 1, -1)
    rows = [_case(rng, cell.family, scenario, blocks, float(e)) for e in effect]
    base, head, history, hidden, sd = (np.array(column) for column in zip(*rows, strict=True))
    names = tuple(f"case_{number:03d}" for number in range(cell.cases))
    return Check(names, base, head, history, effect, sd, hidden)


def _case(
    rng: Rng, family: str, scenario: Scenario, blocks: int, effect: float
) -> tuple[Array, Array, Array, Array, float]:
    models = list(MODELS[family].values())
    entry = models[0] if rng.random() < 0.5 else models[int(rng.integers(len(models)))]
    pairs = HISTORY + blocks
    x = entry.positions(rng, 2 * pairs)
    cv = math.exp(rng.uniform(*np.log(scenario.cv)))
    noise = entry.draw(rng, x, cv)
    base_at, head_at = _order(rng, pairs)
    level = np.zeros(2 * pairs)
    level[head_at[HISTORY:]] = effect
    noise = noise.under(level)
    values = 10 ** rng.uniform(-4, 4) * readings(level, noise)
    history = np.log(values[head_at] / values[base_at])[:HISTORY]
    base_at, head_at = base_at[HISTORY:], head_at[HISTORY:]
    hidden = noise.nuisance[head_at] - noise.nuisance[base_at]
    return values[base_at], values[head_at], history, hidden, standard_error(noise, base_at, head_at)


def _order(rng: Rng, pairs: int) -> tuple[Array, Array]:
    """Return the positions in time of every pair's base and head; two pairs are ABBA or BAAB."""
    blocks = (pairs + 1) // 2
    head_second = (rng.random(blocks) < 0.5)[:, None] ^ np.array([[False, True]])
    later = head_second.reshape(-1)[:pairs].astype(int)
    first = 2 * np.arange(pairs)
    return first + 1 - later, first + later


def standard_error(noise: Noise, base_at: Array, head_at: Array) -> float:
    """Return the standard deviation of mean(head) − mean(base) of the core, correlation and rounding included."""
    at = np.concatenate([base_at, head_at])
    weights = np.repeat([-1 / len(base_at), 1 / len(head_at)], len(base_at))
    lags = np.abs(at[:, None] - at[None, :])
    covariance = autocovariance(noise.ar, noise.ma, int(lags.max()) + 1)[lags]
    variance = weights @ (covariance * np.outer(noise.scale[at], noise.scale[at])) @ weights
    return math.sqrt(variance + noise.quantum**2 / 12 * float(weights @ weights))
