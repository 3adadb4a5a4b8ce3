"""The sequential rule: after every block, is a metric worse, better, not worse, or still open?

The rule looks again and again at growing data, so its interval must hold at all looks together: a confidence
sequence, not a t interval. It comes from the t likelihood ratio mixed over a normal prior of the standardised
effect, mean 0 and variance `g`; by Ville's inequality it covers the true mean at every n at once with
probability ≥ 1 − alpha, whenever and for whatever reason the measurement stops. Effects are taken as
independent and about normal around one mean.

Sources: T. L. Lai, "On confidence sequences", Annals of Statistics 4 (1976); M. Lindon, D. W. Ham, M. Tingley
and I. Bojinov, "Anytime-valid linear models and regression adjusted causal inference in randomized
experiments", arXiv:2210.08589; H. Wang and A. Ramdas, "Anytime-valid t-tests and confidence sequences for
Gaussian means with unknown variance", arXiv:2310.03722. Constants and their origin: docs/statistics.md.

Not here: what an effect is (`effect.py`), void pairs and failures (`validity.py`), budgets (`budget.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from app.domain.verdicts import Verdict

ALPHA = 0.01
"""Probability of any false `regressed` or `improved` over all looks and gating metrics of a check."""

ALPHA_PASS = 0.05
"""Level of the interval that `no_regression` must keep below the tolerance."""

MINIMUM_EFFECT = 0.005
"""tau0: nothing smaller is called a change (ln units)."""

TOLERANCE = 0.02
"""tau: `no_regression` says that nothing worse than this is left in the interval (ln units)."""

MIN_PAIRS = 4
"""Fewer pairs are never judged."""

MAX_PAIRS = 96
"""A case stops at this many valid pairs."""

PAIRS_PER_BLOCK = 2
"""Looks fall on whole blocks, in which the order of the arms cancels."""

PRIOR_WITHOUT_HISTORY = 4.0
"""g of a case whose noise is not known yet: effects of about two pair standard deviations."""

PRIOR_MIN, PRIOR_MAX = 1.0, 25.0
"""Bounds of g: outside them the interval opens too late, or is too wide at the number of pairs in reach."""


def g_from_history(sigma_hist: float | None, tau: float) -> float:
    """Return the prior's variance g for a case, to be fixed before its first pair.

    Args:
        sigma_hist: standard deviation of pair effects of this case in earlier runs (ln units); None without.
        tau: the tolerance, which is the size of effect to be found soonest (ln units).

    Raises:
        ValueError: `sigma_hist` is negative or not a number.
    """
    if sigma_hist is None:
        return PRIOR_WITHOUT_HISTORY
    if not sigma_hist >= 0:
        raise ValueError(f"sigma_hist is a standard deviation and cannot be {sigma_hist!r}")
    ratio = tau / sigma_hist if sigma_hist else math.inf
    return min(max(ratio * ratio, PRIOR_MIN), PRIOR_MAX)


def half_width(n: int, s: float, g: float, alpha: float) -> float:
    """Return half the width of the interval for the mean effect after `n` pairs.

    Args:
        n: pairs, ≥ 2.
        s: standard deviation of the effects, ≥ 0, in the unit of the answer.
        g: variance of the prior, > 0.
        alpha: 1 − level, between 0 and 1; however small, nothing overflows.

    Returns:
        The half width; infinite while `n` pairs cannot exclude any mean at this level, whatever `s` is.
        With `s` = 0 it is 0 from then on: identical effects leave one mean.
    """
    width = _width_per_sd(n, g, alpha)
    return width if math.isinf(width) else s * width


@lru_cache(maxsize=65_536)
def _width_per_sd(n: int, g: float, alpha: float) -> float:
    # K and A of docs/statistics.md as logarithms: K overflows a float for a small alpha and few pairs.
    log_a = math.log1p(n * g)
    log_k = (0.5 * log_a - math.log(alpha)) * 2 / n
    if log_k >= log_a:
        return math.inf
    return math.sqrt((n - 1) / n * math.expm1(log_k) / -math.expm1(log_k - log_a))


def log_e_value(n: int, mean: float, s: float, g: float) -> float:
    """Return the logarithm of the e-value against "no effect" after `n` ≥ 2 pairs.

    Finite for all finite arguments; with `s` = 0 it is the limit: the largest that `n` pairs can give, or the
    smallest if the mean is 0 as well. At least −ln(alpha) exactly when the interval at alpha excludes 0.
    """
    log_a = math.log1p(n * g)
    per_sd = mean / s if s > 0 else math.copysign(math.inf, mean) if mean else 0.0
    x = per_sd * per_sd * (n / (n - 1))
    gain = log_a if math.isinf(x) else math.log1p(x) - math.log1p(x / math.exp(log_a))
    return 0.5 * (n * gain - log_a)


class Moments(NamedTuple):
    """Count, mean and standard deviation (ddof = 1; 0 for one value) of values so far."""

    n: int
    mean: float
    sd: float


def running_moments(values: Iterable[float]) -> Iterator[Moments]:
    """Yield the moments after each value; identical values give a standard deviation of exactly 0.

    Welford's recurrence (Technometrics 4, 1962): one pass, no cancellation.

    Raises:
        ValueError: a value is not finite.
    """
    mean = squares = 0.0
    for n, value in enumerate(values, start=1):
        if not math.isfinite(value):
            raise ValueError(f"value {n} is {value!r}; moments need finite values")
        step = value - mean
        mean += step / n
        squares += step * (value - mean)
        yield Moments(n, mean, math.sqrt(squares / (n - 1)) if n > 1 else 0.0)


class Decision(NamedTuple):
    """What the rule says at one look; effects in ln units, positive = worse.

    `sd` is the effects' own, `s` the one used (never below the floor). `half` and `half_pass` are half widths
    at alpha/m and at alpha_pass, infinite while unbounded.
    """

    n: int
    mean: float
    sd: float
    s: float
    half: float
    half_pass: float
    g: float
    verdict: Verdict | None
    """None while it is open."""
    passes: bool
    """The interval at alpha_pass lies below the tolerance, at a look that counts."""

    @property
    def low(self) -> float:
        """Lower end of the interval at alpha/m."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval at alpha/m."""
        return self.mean + self.half

    @property
    def hi_pass(self) -> float:
        """Upper end of the interval at alpha_pass."""
        return self.mean + self.half_pass

    @property
    def could_hide(self) -> float | None:
        """How much worse head might still be (ln units, ≥ 0); None if nothing bounds it."""
        return None if math.isinf(self.half_pass) else max(0.0, self.hi_pass)

    @property
    def log_e(self) -> float:
        """Evidence against "no effect": the logarithm of the e-value."""
        return log_e_value(self.n, self.mean, self.s, self.g)

    @property
    def final(self) -> Verdict:
        """The verdict when no more pairs will come."""
        if self.verdict is not None:
            return self.verdict
        return Verdict.NO_REGRESSION if self.passes else Verdict.INCONCLUSIVE


@dataclass(frozen=True)
class SequentialRule:
    """The rule with everything that must be fixed before the first pair.

    alpha: error level of the job; m: its gating (case, metric) pairs, which share alpha; alpha_pass: level of
    `no_regression`; tau0 ≤ tau: minimum effect and tolerance (ln units); g: variance of the prior; s_floor:
    smallest standard deviation that the timer can resolve (ln units).
    """

    alpha: float = ALPHA
    m: int = 1
    alpha_pass: float = ALPHA_PASS
    tau0: float = MINIMUM_EFFECT
    tau: float = TOLERANCE
    g: float = PRIOR_WITHOUT_HISTORY
    s_floor: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that make no rule."""
        if not (0 < self.alpha < 1 and 0 < self.alpha_pass < 1):
            raise ValueError(
                f"alpha {self.alpha!r} and alpha_pass {self.alpha_pass!r} must lie between 0 and 1"
            )
        if self.m < 1:
            raise ValueError(f"m is {self.m}; at least one metric shares alpha")
        if not 0 <= self.tau0 <= self.tau or self.tau == 0:
            raise ValueError(
                f"minimum effect {self.tau0!r} must be ≥ 0 and at most the tolerance {self.tau!r}, which is > 0"
            )
        if not (self.g > 0 and self.s_floor >= 0):
            raise ValueError(f"g {self.g!r} must be > 0 and s_floor {self.s_floor!r} ≥ 0")

    @property
    def level(self) -> float:
        """Confidence of the interval `low` to `high`: 1 − alpha/m."""
        return 1 - self.alpha / self.m

    def looks(self, effects: Iterable[float]) -> Iterator[Decision]:
        """Yield what the rule says after each whole block of `effects`, in order, beyond a verdict too."""
        for moments in running_moments(effects):
            if moments.n % PAIRS_PER_BLOCK == 0:
                yield self._look(moments)

    def settle(self, effects: Iterable[float]) -> tuple[Decision, ...]:
        """Return the looks up to and including the first with a verdict; all of them while it is open.

        A verdict never changes: pairs that come after it are not looked at.
        """
        seen = []
        for look in self.looks(effects):
            seen.append(look)
            if look.verdict is not None:
                break
        return tuple(seen)

    def decide(self, effects: Iterable[float]) -> Decision | None:
        """Return the look that settled it, else the latest; None before the first whole block."""
        looks = self.settle(effects)
        return looks[-1] if looks else None

    def _look(self, moments: Moments) -> Decision:
        n, mean, sd = moments
        s = max(sd, self.s_floor)
        half = half_width(n, s, self.g, self.alpha / self.m)
        half_pass = half_width(n, s, self.g, self.alpha_pass)
        passes = n >= MIN_PAIRS and mean + half_pass < self.tau
        verdict = self._verdict(mean, half, half_pass) if n >= MIN_PAIRS else None
        return Decision(n, mean, sd, s, half, half_pass, self.g, verdict, passes)

    def _verdict(self, mean: float, half: float, half_pass: float) -> Verdict | None:
        if mean - half > self.tau0:
            return Verdict.REGRESSED
        if mean + half < -self.tau0:
            return Verdict.IMPROVED
        # `no_regression` needs less evidence than `improved` and would always come first. It waits while the
        # weaker interval says "improved", and stands when the pairs end (`final`).
        if -self.tau0 <= mean + half_pass < self.tau:
            return Verdict.NO_REGRESSION
        return None
