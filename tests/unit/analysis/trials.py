"""The sequential rule and the discoveries of a check on many simulated checks at once: arrays in place of cases.

A second writing of the rule, for speed; `test_sequential_promises.py` holds it against the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from app.analysis.past_noise import NOISIER
from app.analysis.sequential import MIN_PAIRS, PAIRS_PER_BLOCK, SequentialRule, half_width

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""(generator, shape) -> noise of mean 0 and about unit variance; the last axis is time."""


class Outcome(NamedTuple):
    """What became of every case, all of shape (checks, m).

    `verdict`: 1 worse, −1 better, 2 not worse, 0 open; `pairs`: after how many; `sd`: the deviation of their effects.
    """

    verdict: Array
    pairs: Array
    sd: Array

    def false_verdict(self, effect: Array | float = 0.0) -> float:
        """Return the share of checks in which a case of this true effect got the wrong sign, or a sign at effect 0."""
        return float(self._wrong(effect).any(axis=1).mean())

    def false_share(self, effect: Array) -> float:
        """Return the mean share of wrong ones among the signs of a check."""
        return float((self._wrong(effect).sum(1) / np.maximum(self._signs().sum(1), 1)).mean())

    def _signs(self) -> Array:
        return np.abs(self.verdict) == 1

    def _wrong(self, effect: Array | float) -> Array:
        return self._signs() & (self.verdict != np.sign(effect))


def simulate(
    rule: SequentialRule,
    effects: Array,
    *,
    past_sd: Array | float | None = None,
    together: bool = True,
) -> Outcome:
    """Return how checks end whose pairs have these effects, shape (checks, m, pairs).

    `past_sd`, shape (checks, m), stands for the standard deviation of `rule.past`. Not `together`, every case is
    judged as if it were the only one that changed.
    """
    checks, m, pairs = effects.shape
    totals, squares = np.zeros((checks, m)), np.zeros((checks, m))
    verdict, taken, sd = np.zeros((checks, m), dtype=int), np.full((checks, m), pairs), np.zeros((checks, m))
    found = np.zeros(checks, dtype=int)
    past = np.asarray(rule.past.sd if past_sd is None else past_sd)
    for n in range(1, pairs + 1):
        totals += effects[:, :, n - 1]
        squares += effects[:, :, n - 1] ** 2
        if n < MIN_PAIRS or n % PAIRS_PER_BLOCK:
            continue
        mean = totals / n
        own = np.maximum(squares - n * mean * mean, 0.0)
        moderated = own <= NOISIER * (n - 1) * past**2 if rule.past.freedom else np.zeros((), dtype=bool)
        freedom = np.where(moderated, rule.past.freedom, 0.0)
        s = np.sqrt((own + freedom * past**2) / (n - 1 + freedom))
        is_open = verdict == 0
        log_e = np.where(is_open, _log_e(n, np.abs(mean) - rule.tau0, s, rule.g, freedom), -np.inf)
        if together:
            found = _found(log_e, rule, found)
        enough = np.log(rule.m / (rule.alpha * np.maximum(found, 1)))[:, None]
        changed = is_open & (log_e >= enough)
        verdict[changed] = np.sign(mean[changed]).astype(int)
        bound = mean + s * _widths(n, rule.g, rule.alpha_pass, rule.past.freedom, moderated)
        passed = is_open & ~changed & (bound < rule.tau) & (bound >= -rule.tau0)
        verdict[passed] = 2
        taken[changed | passed] = n
        sd[is_open] = np.sqrt(own[is_open] / (n - 1))
    return Outcome(verdict, taken, sd)


def earlier_sd(
    rng: np.random.Generator, draw: Draw, sd: Callable[[], Array], shape: tuple[int, int], *, checks: int
) -> Array:
    """Return the median standard deviation of earlier checks that the rule itself ended, per case, of this shape.

    `sd` gives the true ones of a check, of the same shape; the tolerance lies two of them away.
    """
    rule = SequentialRule(m=200)
    return (
        np.median(
            [simulate(rule, 0.01 * sd()[:, :, None] * draw(rng, (*shape, 16))).sd for _ in range(checks)],
            axis=0,
        )
        / 0.01
    )


def _log_e(n: int, beyond: Array, s: Array, g: float, freedom: Array) -> Array:
    a = 1 + n * g
    with np.errstate(divide="ignore", invalid="ignore"):
        x = n * beyond * beyond / ((n - 1 + freedom) * s * s)
    log_e = -0.5 * math.log(a) + (n + freedom) / 2 * (np.log1p(x) - np.log1p(x / a))
    return np.where(beyond > 0, log_e, -np.inf)


def _found(log_e: Array, rule: SequentialRule, settled: Array) -> Array:
    """Return how many cases of each check changed, by the definition of e-BH."""
    # Below the easiest level of all no case can be a discovery: few are left to be sorted.
    easiest = math.log(rule.m / (rule.alpha * log_e.shape[1]))
    few = max(1, int((log_e >= easiest).sum(axis=1).max()))
    strongest = -np.partition(-log_e, few - 1, axis=1)[:, :few]
    strongest = -np.sort(-strongest, axis=1)
    more = np.arange(1, few + 1)
    holds = strongest >= np.log(rule.m / (rule.alpha * (settled[:, None] + more)))
    return settled + np.where(holds.any(axis=1), few - np.argmax(holds[:, ::-1], axis=1), 0)


def _widths(n: int, g: float, alpha: float, past: float, moderated: Array) -> Array:
    return np.where(moderated, half_width(n, 1.0, g, alpha, past), half_width(n, 1.0, g, alpha))


# --- noise ---------------------------------------------------------------------------------------------------------


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return independent normal noise."""
    return rng.standard_normal(shape, dtype=np.float32)


def student(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return Student's t noise with 3 degrees of freedom."""
    return rng.standard_t(3, shape) / math.sqrt(3)


def spiky(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return normal noise of which 5 % is ten standard deviations off, to either side."""
    hit = rng.random(shape, dtype=np.float32)
    return normal(rng, shape) + np.where(hit < 0.025, 10, np.where(hit > 0.975, -10, 0))


def three_states(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return three discrete values, equally likely."""
    return 1.2247 * rng.integers(-1, 2, shape)


def common(share: float) -> Draw:
    """Return normal noise that all cases of a check have in common for this share of its variance."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        checks, _, pairs = shape
        theirs = math.sqrt(share) * normal(rng, (checks, 1, pairs))
        return theirs + math.sqrt(1 - share) * normal(rng, shape)

    return draw


def correlated(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return AR(1) noise with a coefficient of 0.5 from one pair to the next."""
    noise = normal(rng, shape)
    for n in range(1, shape[-1]):
        noise[..., n] = 0.5 * noise[..., n - 1] + math.sqrt(0.75) * noise[..., n]
    return noise
