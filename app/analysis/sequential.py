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

Not here: what an effect is (`effect.py`), what earlier checks say of the noise (`past_noise.py`), how many metrics
change together (`discoveries.py`), void pairs and failures (`validity.py`), budgets (`budget.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from app.analysis.past_noise import NO_PAST, PastNoise
from app.domain.verdicts import Verdict

ALPHA = 0.01
"""Probability of any false `regressed` or `improved`, over all looks and gating metrics of a check without a change."""

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


CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
"""Verdicts that say that a metric changed."""


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


def half_width(n: int, s: float, g: float, alpha: float, past: float = 0.0) -> float:
    """Return half the width of the interval for the mean effect after `n` pairs.

    Args:
        n: pairs, ≥ 2.
        s: standard deviation of the effects, ≥ 0, in the unit of the answer.
        g: variance of the prior, > 0.
        alpha: 1 − level, between 0 and 1; however small, nothing overflows.
        past: degrees of freedom of `s` beyond the n − 1 of these pairs, ≥ 0.

    Returns:
        The half width; infinite while `n` pairs cannot exclude any mean at this level, whatever `s` is.
        With `s` = 0 it is 0 from then on: identical effects leave one mean.
    """
    width = _widths(g, alpha, past)[n]
    return s * width if width < math.inf else width


class _Widths(dict[int, float]):
    """Half widths per standard deviation by number of pairs, each computed when it is first asked for."""

    def __init__(self, g: float, alpha: float, past: float) -> None:
        super().__init__()
        self._of = g, alpha, past

    def __missing__(self, n: int) -> float:
        self[n] = width = _width_per_sd(n, *self._of)
        return width


_widths = lru_cache(maxsize=4096)(_Widths)


def _width_per_sd(n: int, g: float, alpha: float, past: float) -> float:
    # K and A of docs/statistics.md as logarithms: K overflows a float for a small alpha and few pairs.
    log_a = math.log1p(n * g)
    log_k = (0.5 * log_a - math.log(alpha)) * 2 / (n + past)
    if log_k >= log_a:
        return math.inf
    return math.sqrt((n - 1 + past) / n * math.expm1(log_k) / -math.expm1(log_k - log_a))


def log_e_value(n: int, mean: float, s: float, g: float, past: float = 0.0) -> float:
    """Return the logarithm of the e-value against "no effect" after `n` ≥ 2 pairs; arguments as of `half_width`.

    Finite for all finite arguments; with `s` = 0 it is the limit: the largest that `n` pairs can give, or the
    smallest if the mean is 0 as well. At least −ln(alpha) exactly when the interval at alpha excludes 0.
    """
    log_a = math.log1p(n * g)
    per_sd = mean / s if s > 0 else math.copysign(math.inf, mean) if mean else 0.0
    x = per_sd * per_sd * (n / (n - 1 + past))
    gain = log_a if math.isinf(x) else math.log1p(x) - math.log1p(x / math.exp(log_a))
    return 0.5 * ((n + past) * gain - log_a)


class Moments(NamedTuple):
    """Count, mean and standard deviation (ddof = 1; 0 for one value) of values so far."""

    n: int
    mean: float
    sd: float


def running_moments(values: Sequence[float], every: int = 1, first: int = 1) -> Iterator[Moments]:
    """Yield the moments after each `every` values, from `first` on.

    Identical values give a standard deviation of exactly 0.

    Welford's recurrence (Technometrics 4, 1962): one pass, no cancellation.

    Raises:
        ValueError: a value is not finite.
    """
    if not all(map(math.isfinite, values)):
        n, value = next(item for item in enumerate(values, start=1) if not math.isfinite(item[1]))
        raise ValueError(f"value {n} is {value!r}; moments need finite values")
    mean = squares = 0.0
    for n, value in enumerate(values, start=1):
        step = value - mean
        mean += step / n
        squares += step * (value - mean)
        if n >= first and n % every == 0:
            yield Moments(n, mean, math.sqrt(squares / (n - 1)) if n > 1 else 0.0)


class Decision(NamedTuple):
    """What the rule says at one look; effects in ln units, positive = worse.

    `sd` is the effects' own, `s` the one used: moderated by `past` degrees of freedom of earlier checks, never below
    the floor. `half` and `half_pass` are half widths at `alpha` and at alpha_pass, infinite while unbounded.
    """

    n: int
    mean: float
    sd: float
    s: float
    past: float
    half: float
    half_pass: float
    alpha: float
    g: float
    verdict: Verdict | None
    """None while it is open."""
    passes: bool
    """The interval at alpha_pass lies below the tolerance, at a look that counts."""

    @property
    def low(self) -> float:
        """Lower end of the interval at alpha."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the interval at alpha."""
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
        return log_e_value(self.n, self.mean, self.s, self.g, self.past)

    def log_e_beyond(self, minimum: float) -> float:
        """Return the logarithm of the e-value against every effect of at most `minimum` ≥ 0 either way.

        At least −ln(a) exactly when the interval at a lies beyond `minimum` on one side of 0; −∞ where the mean
        itself does not, and at looks that do not count.
        """
        beyond = abs(self.mean) - minimum
        if beyond <= 0 or self.n < MIN_PAIRS:
            return -math.inf
        return log_e_value(self.n, beyond, self.s, self.g, self.past)

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
    smallest standard deviation that the timer can resolve (ln units); past: what earlier checks say of the noise.
    """

    alpha: float = ALPHA
    m: int = 1
    alpha_pass: float = ALPHA_PASS
    tau0: float = MINIMUM_EFFECT
    tau: float = TOLERANCE
    g: float = PRIOR_WITHOUT_HISTORY
    s_floor: float = 0.0
    past: PastNoise = NO_PAST

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
        if not (self.past.sd >= 0 and self.past.freedom >= 0):
            raise ValueError(f"{self.past!r} is no noise that earlier checks could have had")

    def looks(self, effects: Sequence[float], known: int = 0) -> Iterator[Decision]:
        """Return what the rule says after each whole block of `effects`, in order, beyond a verdict too.

        Those before the one at `known` pairs are left out, but never the newest.
        """
        newest = len(effects) // PAIRS_PER_BLOCK * PAIRS_PER_BLOCK
        return map(self._look, running_moments(effects, PAIRS_PER_BLOCK, min(known, newest)))

    def settle(self, effects: Sequence[float], known: int = 0) -> tuple[Decision, ...]:
        """Return the looks up to and including the first with a verdict; all of them while it is open.

        A verdict never changes: pairs that come after it are not looked at. With the looks before the one at `known`
        pairs known to have left it open, they are left out.
        """
        seen = []
        for look in self.looks(effects, known):
            seen.append(look)
            if look.verdict is not None:
                break
        return tuple(seen)

    def decide(self, effects: Sequence[float]) -> Decision | None:
        """Return the look that settled it, else the latest; None before the first whole block."""
        looks = self.settle(effects)
        return looks[-1] if looks else None

    def as_one_of(self, found: int, look: Decision) -> Decision:
        """Return the look as that of one of `found` ≥ 1 metrics of the job that changed (`discoveries.py`).

        That is the look as it was if its interval, at alpha · found/m, is still not beyond the minimum effect.
        """
        again = self._look(Moments(look.n, look.mean, look.sd), found)
        return again if again.verdict in CHANGED else look

    @cached_property
    def _by_past(self) -> dict[float, tuple[_Widths, _Widths]]:
        """Widths at alpha/m and at alpha_pass, by the freedom that earlier checks lend."""
        levels = self.alpha / self.m, self.alpha_pass
        return {
            past: (_widths(self.g, levels[0], past), _widths(self.g, levels[1], past))
            for past in {0.0, self.past.freedom}
        }

    def _look(self, moments: Moments, found: int = 1) -> Decision:
        n, mean, sd = moments
        s, past = self.past.moderate(n, sd)
        s, alpha = max(s, self.s_floor), self.alpha * found / self.m
        gate, passing = self._by_past[past]
        width = gate[n] if found == 1 else _widths(self.g, alpha, past)[n]
        width_pass = passing[n]
        half = s * width if width < math.inf else width
        half_pass = s * width_pass if width_pass < math.inf else width_pass
        counts = n >= MIN_PAIRS
        verdict = self._verdict(mean, half, half_pass) if counts else None
        passes = counts and mean + half_pass < self.tau
        return Decision(n, mean, sd, s, past, half, half_pass, alpha, self.g, verdict, passes)

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
