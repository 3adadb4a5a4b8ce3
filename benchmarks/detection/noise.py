"""The noise of performance series: one function a mechanism, and the models of the families that detectors are made by.

A model adds two parts to a series' logarithm. *Core* is what nobody can predict: innovations of a standardised law,
scaled, perhaps correlated. *Nuisance* is what a clairvoyant would remove: spikes, clock states, drift, patterns of the
week. The coefficient of variation of a series is the standard deviation of its core.

A new model is one function and one line in `TUNING` or `VALIDATION`. The family that detectors are judged by has a
module of its own (`held_out`); all of them are registered in `families`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.detection import densities
from benchmarks.detection.densities import Array, Law

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Noise:
    """Realised noise of one series of n points, in ln units; arrays have shape (n,).

    `core` + `nuisance` is what the series shows; `scale` is the standard deviation of the core's innovations at each
    point, `ar` its autoregressive and `ma` its moving-average coefficients, `law` the innovations' law. `quantum` is
    the timer's step relative to the first level, 0 without. The core grows with the level to the power of `growth`.
    """

    core: Array
    nuisance: Array
    scale: Array
    law: Law
    ar: tuple[float, ...] = ()
    ma: tuple[float, ...] = ()
    quantum: float = 0.0
    growth: float = 0.0

    @property
    def long_run_sd(self) -> Array:
        """Return the standard deviation that a mean of many points feels, times the root of their number."""
        return self.scale * (1 + sum(self.ma)) / (1 - sum(self.ar))

    @property
    def whitening(self) -> tuple[float, ...]:
        """Return the share of each earlier point, the last one first, that taken off a point leaves its innovation.

        It is `ar` itself without a moving average; with one it never ends, and is cut where it is below `NEGLIGIBLE`.
        """
        return _inverted(self.ar, self.ma) if self.ma else self.ar

    def under(self, level: Array) -> Noise:
        """Return this noise as it is where the signal is at `level`, shape (n,), ln units."""
        if not self.growth:
            return self
        return with_scale(self, np.clip(np.exp(self.growth * level), 1 / MOST_GROWTH, MOST_GROWTH))


NEGLIGIBLE = 1e-3
"""Share of an earlier point that nothing is lost without."""
MOST_GROWTH = 4.0
"""Times that noise grows with the level, or shrinks, at most."""

Model = Callable[[Rng, Array, float], Noise]
"""(rng, x positions of shape (n,), standard deviation of the core) -> noise."""

Positions = Callable[[Rng, int], Array]
"""(rng, number of points) -> ascending integer positions, shape (n,)."""


def every_run(rng: Rng, n: int) -> Array:
    """Return positions without a gap."""
    return np.arange(n)


def with_gaps(rng: Rng, n: int) -> Array:
    """Return positions of which up to a third is missing, 1 to 15 in a row."""
    missing = np.where(rng.random(n) < rng.uniform(0.02, 0.07), rng.integers(1, 16, n), 0)
    return np.arange(n) + np.cumsum(missing)


@dataclass(frozen=True)
class Entry:
    """A registered model, and which runs its series have."""

    draw: Model
    positions: Positions = every_run


# --- core: what nobody can predict ---------------------------------------------------------------------------------


def independent(rng: Rng, n: int, sd: float, law: Law) -> Noise:
    """Return independent noise of one law."""
    return Noise(sd * law.draw(rng, n), np.zeros(n), np.full(n, sd), law)


def _inverted(ar: tuple[float, ...], ma: tuple[float, ...]) -> tuple[float, ...]:
    """Return an invertible ARMA's coefficients as an AR of infinite order, up to the last that is not negligible."""
    weights: list[float] = []
    least = max(len(ar), len(ma))
    while len(weights) < least or max(map(abs, weights[-least:])) > NEGLIGIBLE:
        lag = len(weights) + 1
        own = (ar[lag - 1] if lag <= len(ar) else 0.0) + (ma[lag - 1] if lag <= len(ma) else 0.0)
        weights.append(own - sum(m * weights[-back] for back, m in enumerate(ma, start=1) if back < lag))
    return tuple(weights)


def autocovariance(ar: tuple[float, ...], ma: tuple[float, ...], lags: int) -> Array:
    """Return the covariances at lags 0 … `lags` − 1 over the innovations' variance, shape (lags,); AR of order 0 to 2.

    Yule-Walker for the autoregressive part, which the moving average then weights.
    """
    first, second = (*ar, 0.0, 0.0)[:2]
    order = len(ma)
    rho = np.zeros(max(lags + order, 2))
    rho[0], rho[1] = 1.0, first / (1 - second)
    for lag in range(2, len(rho)):
        rho[lag] = first * rho[lag - 1] + second * rho[lag - 2]
    gain = (1 - second) / ((1 + second) * ((1 - second) ** 2 - first * first))
    weights = (1.0, *ma)
    at = np.arange(lags)
    mixed = sum(a * b * rho[np.abs(at + i - j)] for i, a in enumerate(weights) for j, b in enumerate(weights))
    return gain * mixed


def correlated(rng: Rng, n: int, sd: float, ar: tuple[float, ...] = (), ma: tuple[float, ...] = ()) -> Noise:
    """Return normal ARMA noise, AR of order 0 to 2, whose marginal standard deviation is `sd`."""
    law = densities.gaussian()
    first, second = (*ar, 0.0, 0.0)[:2]
    scale = sd / math.sqrt(autocovariance(ar, ma, 1)[0])
    burn = 100
    steps = np.convolve(scale * law.draw(rng, n + burn), (1.0, *ma))[: n + burn]
    core = np.zeros(n + burn)
    for t in range(2, n + burn):
        core[t] = first * core[t - 1] + second * core[t - 2] + steps[t]
    return Noise(core[burn:], np.zeros(n), np.full(n, scale), law, ar, ma)


def with_scale(noise: Noise, factor: Array) -> Noise:
    """Return the noise with its standard deviation multiplied point by point."""
    return replace(noise, core=noise.core * factor, scale=noise.scale * factor)


def with_nuisance(noise: Noise, extra: Array) -> Noise:
    """Return the noise with something on top that a clairvoyant could remove."""
    return replace(noise, nuisance=noise.nuisance + extra)


def normal(rng: Rng, x: Array, sd: float) -> Noise:
    """Return independent normal noise."""
    return independent(rng, len(x), sd, densities.gaussian())


def of_law(make: Callable[[Rng], Law]) -> Model:
    """Return the model of independent noise whose law is drawn per series."""
    return lambda rng, x, sd: independent(rng, len(x), sd, make(rng))


def with_ar(make: Callable[[Rng], tuple[float, ...]]) -> Model:
    """Return the model of correlated normal noise whose coefficients are drawn per series."""
    return lambda rng, x, sd: correlated(rng, len(x), sd, make(rng))


def _ar2(rng: Rng) -> tuple[float, ...]:
    return (float(rng.uniform(0.3, 0.6)), float(rng.uniform(-0.25, 0.25)))


def switching_variance(rng: Rng, x: Array, sd: float) -> Noise:
    """Return normal noise whose standard deviation jumps by 2 to 4 times, one to three times; the mean stays."""
    n, factor = len(x), np.ones(len(x))
    for at in rng.integers(5, n - 4, size=rng.integers(1, 4)):
        factor[at:] *= rng.uniform(2, 4) ** rng.choice((-1, 1))
    return with_scale(normal(rng, x, sd), np.clip(factor, 0.25, 4))


def breathing_variance(rng: Rng, x: Array, sd: float) -> Noise:
    """Return normal noise whose standard deviation swells and shrinks smoothly, up to threefold."""
    period, phase = rng.uniform(20, 150), rng.uniform(0, 2 * math.pi)
    factor = np.exp(rng.uniform(0.6, 1.1) * np.sin(2 * math.pi * x / period + phase))
    return with_scale(normal(rng, x, sd), factor)


def quantised(low: float, high: float) -> Model:
    """Return normal noise read from a timer whose step is `low` to `high` standard deviations."""
    return lambda rng, x, sd: replace(normal(rng, x, sd), quantum=float(sd * rng.uniform(low, high)))


# --- nuisance: what a clairvoyant would remove; (rng, x, sd) -> array in ln units -----------------------------------

Nuisance = Callable[[Rng, Array, float], Array]


def on(core: Model, *nuisances: Nuisance) -> Model:
    """Return the model that has nuisances on top of a core."""

    def draw(rng: Rng, x: Array, sd: float) -> Noise:
        noise = core(rng, x, sd)
        for nuisance in nuisances:
            noise = with_nuisance(noise, nuisance(rng, x, sd))
        return noise

    return draw


def spikes(rng: Rng, x: Array, sd: float) -> Array:
    """Return single points, 1 to 5 % of them, off by 10 to 50 sd or by +20 to +300 %; one in five is downwards."""
    n = len(x)
    hit = rng.random(n) < rng.uniform(0.01, 0.05)
    if rng.random() < 0.5:
        height = np.minimum(rng.uniform(10, 50, n) * sd, math.log(4))
        height *= np.where(rng.random(n) < 0.2, -1, 1)
    else:
        height = np.log(rng.uniform(1.2, 4, n))
    return np.where(hit, height, 0.0)


def bursty_spikes(rng: Rng, x: Array, sd: float) -> Array:
    """Return spikes that come in bursts: of 4 to 12 neighbouring points about a third is 8 to 60 sd too slow."""
    n, extra = len(x), np.zeros(len(x))
    for start in rng.integers(0, n, size=rng.poisson(n * rng.uniform(0.004, 0.012))):
        burst = slice(start, min(n, start + int(rng.integers(4, 13))))
        width = burst.stop - burst.start
        extra[burst] = np.where(rng.random(width) < 0.35, np.minimum(rng.uniform(8, 60, width) * sd, 1.5), 0)
    return extra


def two_states(rng: Rng, x: Array, sd: float) -> Array:
    """Return two clock states 3 to 8 sd apart, drawn afresh for every point, 10 to 50 % in the slow one."""
    return np.where(rng.random(len(x)) < rng.uniform(0.1, 0.5), rng.uniform(3, 8) * sd, 0.0)


def sticky_states(rng: Rng, x: Array, sd: float) -> Array:
    """Return two clock states 3 to 8 sd apart that hold for 2 to 6 points on average (a Markov chain)."""
    leave = 1 / rng.uniform(2, 6, size=2)
    return (
        rng.uniform(3, 8)
        * sd
        * chain(rng, len(x), np.array([[1 - leave[0], leave[0]], [leave[1], 1 - leave[1]]]))
    )


def three_states(rng: Rng, x: Array, sd: float) -> Array:
    """Return three clock states, 2 to 5 sd between neighbours, that hold for 1.5 to 4 points on average."""
    stay = 1 - 1 / rng.uniform(1.5, 4)
    move = (1 - stay) / 2
    states = chain(rng, len(x), np.full((3, 3), move) + np.eye(3) * (stay - move))
    return np.array([0.0, rng.uniform(2, 5), rng.uniform(5, 9)])[states] * sd


def slow_episodes(rng: Rng, x: Array, sd: float) -> Array:
    """Return a hot machine's episodes at a lower clock: 5 to 60 points slower by 2 to 30 %, then as before.

    Between two of them lie 5 points and an exponential time of 30 to 150 on average. In a third of the series they
    come ever more often, in a third in bursts. The clock falls to the same state each time, or to another one.
    """
    n, extra = len(x), np.zeros(len(x))
    mean_gap, manner = rng.uniform(30, 150), rng.choice(("steady", "rising", "bursts"))
    same, depth = rng.random() < 0.5, _depth(rng)
    end = 0
    while True:
        gap = {"steady": 1.0, "rising": 2 - 1.7 * min(1, end / n), "bursts": rng.choice((0.2, 1.8))}[manner]
        start = end + 5 + int(rng.exponential(mean_gap * gap))
        if start >= n:
            return extra
        end = start + int(rng.integers(5, 61))
        extra[start:end] = depth if same else _depth(rng)


def _depth(rng: Rng) -> float:
    return math.log1p(float(np.exp(rng.uniform(math.log(0.02), math.log(0.3)))))


def chain(rng: Rng, n: int, transition: Array) -> Array:
    """Return a Markov chain of states 0, 1, …, shape (n,); `transition[i, j]` is the probability of j after i."""
    cumulative, draws = transition.cumsum(axis=1), rng.random(n)
    states, state = np.zeros(n, dtype=int), int(rng.integers(len(transition)))
    for t in range(n):
        state = min(int(np.searchsorted(cumulative[state], draws[t])), len(transition) - 1)
        states[t] = state
    return states


def sine_drift(rng: Rng, x: Array, sd: float) -> Array:
    """Return a slow temperature wave: amplitude 0.5 to 1.5 sd, period of 100 to 400 points."""
    wave = 2 * math.pi * x / rng.uniform(100, 400) + rng.uniform(0, 2 * math.pi)
    return rng.uniform(0.5, 1.5) * sd * np.sin(wave)


def walking_drift(rng: Rng, x: Array, sd: float) -> Array:
    """Return a random walk of small steps (0.03 to 0.08 sd), reflected at ±2 sd."""
    walk = np.cumsum(rng.uniform(0.03, 0.08) * rng.standard_normal(len(x)))
    return sd * (np.abs((walk + 2) % 8 - 4) - 2)


def sawtooth_drift(rng: Rng, x: Array, sd: float) -> Array:
    """Return a rise of 1 to 2.5 sd over 40 to 150 points that falls back within a tenth of that time."""
    period = rng.uniform(40, 150)
    phase = (x / period + rng.random()) % 1
    return rng.uniform(1, 2.5) * sd * np.where(phase < 0.9, phase / 0.9, (1 - phase) / 0.1)


def weekday(rng: Rng, x: Array, sd: float) -> Array:
    """Return a pattern of period 5 to 7 whose values have a standard deviation of 0.5 to 1.5 sd."""
    pattern = rng.standard_normal(rng.integers(5, 8)) * rng.uniform(0.5, 1.5)
    return sd * (pattern - pattern.mean())[x % len(pattern)]


def day_and_night(rng: Rng, x: Array, sd: float) -> Array:
    """Return a rectangular pattern: 2 or 3 fast points of every 6 to 12, faster by 1 to 3 sd."""
    period, night = int(rng.integers(6, 13)), int(rng.integers(2, 4))
    return np.where((x + rng.integers(period)) % period < night, -rng.uniform(1, 3) * sd, 0.0)


# --- models --------------------------------------------------------------------------------------------------------

_GAUSSIAN_AR = with_ar(lambda rng: (float(rng.uniform(0.3, 0.7)),))
_MILD_AR = with_ar(lambda rng: (float(rng.uniform(0.15, 0.3)),))
_STRONG_AR = with_ar(lambda rng: (float(rng.uniform(0.55, 0.7)),))
_LOGNORMAL = of_law(lambda rng: densities.lognormal(float(rng.uniform(0.3, 0.7))))
_T3 = of_law(lambda rng: densities.student(3))
_T4 = of_law(lambda rng: densities.student(4))
_LAPLACE = of_law(lambda rng: densities.laplace_mixture(float(rng.uniform(0.05, 0.15))))
_GAMMA = of_law(lambda rng: densities.gamma(float(rng.uniform(1.5, 5))))
_LOGISTIC = of_law(lambda rng: densities.logistic())

TUNING: dict[str, Entry] = {
    "gaussian": Entry(normal),
    "lognormal": Entry(_LOGNORMAL),
    "t3": Entry(_T3),
    "laplace_mixture": Entry(_LAPLACE),
    "spikes": Entry(on(normal, spikes)),
    "two_states": Entry(on(normal, two_states)),
    "sticky_states": Entry(on(normal, sticky_states)),
    "slow_episodes": Entry(on(normal, slow_episodes)),
    "ar1": Entry(_GAUSSIAN_AR),
    "sine_drift": Entry(on(normal, sine_drift)),
    "walking_drift": Entry(on(normal, walking_drift)),
    "weekday": Entry(on(normal, weekday)),
    "quantised": Entry(quantised(0.7, 1.5)),
    "quantised_coarse": Entry(quantised(2, 5)),
    "switching_variance": Entry(switching_variance),
    "missing_runs": Entry(normal, with_gaps),
    "ar1+spikes": Entry(on(_GAUSSIAN_AR, spikes)),
    "lognormal+two_states": Entry(on(_LOGNORMAL, two_states)),
    "weekday+missing_runs": Entry(on(normal, weekday), with_gaps),
}
"""name -> model, for whoever tunes a detector."""

VALIDATION: dict[str, Entry] = {
    "logistic": Entry(_LOGISTIC),
    "t4": Entry(_T4),
    "gamma": Entry(_GAMMA),
    "bursty_spikes": Entry(on(_LOGISTIC, bursty_spikes)),
    "three_states": Entry(on(normal, three_states)),
    "ar2": Entry(with_ar(_ar2)),
    "strong_ar1": Entry(_STRONG_AR),
    "sawtooth_drift": Entry(on(_LOGISTIC, sawtooth_drift)),
    "day_and_night": Entry(on(normal, day_and_night)),
    "quantised_middle": Entry(quantised(1.5, 2)),
    "breathing_variance": Entry(breathing_variance),
    "t4+missing_runs": Entry(_T4, with_gaps),
    "gamma+bursty_spikes": Entry(on(_GAMMA, bursty_spikes)),
    "mild_ar1+sawtooth_drift": Entry(on(_MILD_AR, sawtooth_drift)),
}
"""name -> model, for whoever asks whether what was tuned holds elsewhere."""
