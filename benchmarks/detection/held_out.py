"""The noise models that detectors are judged by. Do not read on if you work on a detector.

The causes are those of every family: heavy tails, spikes, clock states, correlation, drift, calendars, timers, changing
variance, missing runs. The mechanisms are others, or have parameters that no other family has. Whether their figures
are fit to judge by was seen from the oracle and the peers alone.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.detection import densities
from benchmarks.detection.densities import LOWEST, Array, Law
from benchmarks.detection.noise import (
    Entry,
    Model,
    Noise,
    Rng,
    chain,
    correlated,
    normal,
    of_law,
    on,
    with_scale,
)

# --- laws: standardised, as in `densities` ---------------------------------------------------------------------------


def skew_normal(shape: float) -> Law:
    """Return Azzalini's skew normal law: a normal one that leans to the right a little; `shape` 0 is normal."""
    delta = shape / math.hypot(1, shape)
    mean = delta * math.sqrt(2 / math.pi)
    sd = math.sqrt(1 - mean * mean)

    def draw(rng: Rng, n: int) -> Array:
        first, second = rng.standard_normal((2, n))
        return (delta * np.abs(first) + math.sqrt(1 - delta * delta) * second - mean) / sd

    def log_density(u: Array) -> Array:
        from scipy.special import log_ndtr

        raw = u * sd + mean
        return np.maximum(-0.5 * raw * raw + log_ndtr(shape * raw), LOWEST)

    return Law(draw, log_density)


def contended(share: float, wait: float) -> Law:
    """Return normal noise of which a `share` has waited for others, exponentially, `wait` normal sd on average."""
    mean = share * wait
    sd = math.sqrt(1 + share * (2 - share) * wait * wait)

    def draw(rng: Rng, n: int) -> Array:
        waited = np.where(rng.random(n) < share, rng.exponential(wait, n), 0.0)
        return (rng.standard_normal(n) + waited - mean) / sd

    def log_density(u: Array) -> Array:
        from scipy.special import log_ndtr

        raw = u * sd + mean
        free = -0.5 * raw * raw - 0.5 * math.log(2 * math.pi)
        behind = 0.5 / wait**2 - raw / wait + log_ndtr(raw - 1 / wait) - math.log(wait)
        with np.errstate(divide="ignore"):
            both = np.logaddexp(np.log1p(-share) + free, math.log(share) + behind)
        return np.maximum(both, LOWEST)

    return Law(draw, log_density)


def best_of_many(shape: float) -> Law:
    """Return a Weibull law, which the smallest of many repeats tends to where repeats have a lower end."""
    mean = math.gamma(1 + 1 / shape)
    sd = math.sqrt(math.gamma(1 + 2 / shape) - mean * mean)

    def log_density(u: Array) -> Array:
        raw = np.maximum(u * sd + mean, 1e-12)
        return np.maximum((shape - 1) * np.log(raw) - raw**shape, LOWEST)

    return Law(lambda rng, n: (rng.weibull(shape, n) - mean) / sd, log_density)


# --- core ----------------------------------------------------------------------------------------------------------


def moving_average(rng: Rng, x: Array, sd: float) -> Noise:
    """Return noise in which each disturbance lasts for 3 or 4 runs, and fades."""
    fade = float(rng.uniform(0.45, 0.75))
    return correlated(rng, len(x), sd, ma=tuple(fade**lag for lag in range(1, rng.integers(3, 5))))


def latent_ar1(rng: Rng, x: Array, sd: float) -> Noise:
    """Return a hidden AR(1) state that is measured with white noise: ARMA(1, 1)."""
    return correlated(rng, len(x), sd, (float(rng.uniform(0.72, 0.82)),), (float(-rng.uniform(0.35, 0.55)),))


def rounded_digits(rng: Rng, x: Array, sd: float) -> Noise:
    """Return noise in values that are given in steps of 0.1 to 2 % of the first level, whatever the noise."""
    return replace(normal(rng, x, sd), quantum=float(math.exp(rng.uniform(math.log(0.001), math.log(0.02)))))


def volatile(rng: Rng, x: Array, sd: float) -> Noise:
    """Return noise whose standard deviation wanders: its logarithm is AR(1), so that unruly runs come together."""
    stay, width = rng.uniform(0.9, 0.97), rng.uniform(0.35, 0.6)
    return with_scale(normal(rng, x, sd), np.exp(width * _relaxing(rng, np.arange(len(x)), stay)))


def noisier_when_slower(rng: Rng, x: Array, sd: float) -> Noise:
    """Return noise that grows with the level to the power of 2 to 4, in the unit of the values."""
    return replace(_SKEW_NORMAL(rng, x, sd), growth=float(rng.uniform(1, 3)))


def _relaxing(rng: Rng, x: Array, stay: float) -> Array:
    """Return a stationary AR(1) state of variance 1 at positions x, of which `stay` is left a position later."""
    state = np.zeros(len(x))
    state[0] = rng.standard_normal()
    kept = stay ** np.diff(x)
    moves = np.sqrt(1 - kept * kept) * rng.standard_normal(len(x) - 1)
    for t in range(1, len(x)):
        state[t] = kept[t - 1] * state[t - 1] + moves[t - 1]
    return state


# --- nuisance ------------------------------------------------------------------------------------------------------


def cron_spikes(rng: Rng, x: Array, sd: float) -> Array:
    """Return what a job that comes every 10 to 35 runs, give or take two, costs the run that it meets."""
    n, extra = len(x), np.zeros(len(x))
    period = int(rng.integers(10, 36))
    hit = np.arange(rng.integers(period), n, period)
    hit = np.clip(hit + rng.integers(-2, 3, len(hit)), 0, n - 1)
    extra[hit] = np.minimum(20 * sd * np.exp(0.8 * rng.standard_normal(len(hit))), 1.4)
    return extra


def recovering_spikes(rng: Rng, x: Array, sd: float) -> Array:
    """Return spikes of 8 to 40 sd of which each later run feels 15 to 45 % of what the one before felt."""
    n, extra = len(x), np.zeros(len(x))
    keep = rng.uniform(0.15, 0.45)
    for start in np.flatnonzero(rng.random(n) < rng.uniform(0.006, 0.015)):
        left = n - start
        extra[start:] += min(rng.uniform(8, 40) * sd, 1.2) * keep ** np.arange(left)
    return extra


def rare_state(rng: Rng, x: Array, sd: float) -> Array:
    """Return two clock states 3 to 10 sd apart, drawn afresh for every point, 3 to 8 % in the slow one."""
    return np.where(rng.random(len(x)) < rng.uniform(0.03, 0.08), rng.uniform(3, 10) * sd, 0.0)


def turbo_state(rng: Rng, x: Array, sd: float) -> Array:
    """Return two clock states 3 to 9 sd apart, drawn afresh for every point, 60 to 85 % in the slow one."""
    return np.where(rng.random(len(x)) < rng.uniform(0.6, 0.85), rng.uniform(3, 9) * sd, 0.0)


def throttling(rng: Rng, x: Array, sd: float) -> Array:
    """Return a clock that stays for 7 to 20 points on average and is then 3 to 8 sd slower for 2 to 5."""
    slow_down, recover = 1 / rng.uniform(7, 20), 1 / rng.uniform(2, 5)
    states = chain(rng, len(x), np.array([[1 - slow_down, slow_down], [recover, 1 - recover]]))
    return rng.uniform(3, 8) * sd * states


def thermal_drift(rng: Rng, x: Array, sd: float) -> Array:
    """Return a temperature that wanders and relaxes over 100 to 300 positions, with 0.4 to 0.9 sd."""
    return rng.uniform(0.4, 0.9) * sd * _relaxing(rng, x, math.exp(-1 / rng.uniform(100, 300)))


def hour_of_day(rng: Rng, x: Array, sd: float) -> Array:
    """Return a smooth day of 8, 12 or 24 positions: a wave of 0.6 to 1.4 sd and a smaller one twice as fast."""
    turn = 2 * math.pi * x / rng.choice((8, 12, 24))
    first, second = rng.uniform(0, 2 * math.pi, 2)
    wave = np.sin(turn + first) + rng.uniform(0, 0.5) * np.sin(2 * turn + second)
    return rng.uniform(0.6, 1.4) * sd * wave


def working_week(rng: Rng, x: Array, sd: float) -> Array:
    """Return a week that is quiet at its end and busiest in its middle, by 1.2 to 3 sd, with one or two runs a day."""
    day = ((x + rng.integers(14)) // rng.integers(1, 3)) % 7
    return rng.uniform(1.2, 3) * sd * np.where(day < 5, np.sin(math.pi * (day + 0.5) / 5), 0.0)


# --- positions -----------------------------------------------------------------------------------------------------


def sparse_runs(rng: Rng, n: int) -> Array:
    """Return positions of which about half is skipped, and now and then 20 to 120 in a row."""
    skipped = np.where(rng.random(n) < rng.uniform(0.3, 0.6), rng.integers(1, 4, n), 0)
    away = np.where(rng.random(n) < rng.uniform(0.003, 0.01), rng.integers(20, 121, n), 0)
    return np.arange(n) + np.cumsum(skipped + away)


# --- models --------------------------------------------------------------------------------------------------------

_SKEW_NORMAL: Model = of_law(lambda rng: skew_normal(float(rng.uniform(1, 3))))
_CONTENTION: Model = of_law(lambda rng: contended(float(rng.uniform(0.15, 0.4)), float(rng.uniform(3, 6))))
_ALWAYS_WAITING: Model = of_law(lambda rng: contended(1.0, float(rng.uniform(1, 3))))
_BEST_OF_MANY: Model = of_law(lambda rng: best_of_many(float(rng.uniform(1.3, 2.4))))

MODELS: dict[str, Entry] = {
    "skew_normal": Entry(_SKEW_NORMAL),
    "t2.5": Entry(of_law(lambda rng: densities.student(2.5))),
    "contention": Entry(_CONTENTION),
    "best_of_many": Entry(_BEST_OF_MANY),
    "cron_spikes": Entry(on(_SKEW_NORMAL, cron_spikes)),
    "turbo_state": Entry(on(_SKEW_NORMAL, turbo_state)),
    "throttling": Entry(on(_SKEW_NORMAL, throttling)),
    "moving_average": Entry(moving_average),
    "latent_ar1": Entry(latent_ar1),
    "thermal_drift": Entry(on(_SKEW_NORMAL, thermal_drift)),
    "working_week": Entry(on(_SKEW_NORMAL, working_week)),
    "rounded_digits": Entry(rounded_digits),
    "volatile": Entry(volatile),
    "noisier_when_slower": Entry(noisier_when_slower),
    "waiting+rare_state": Entry(on(_ALWAYS_WAITING, rare_state)),
    "moving_average+recovering_spikes": Entry(on(moving_average, recovering_spikes)),
    "hour_of_day+sparse_runs": Entry(on(_SKEW_NORMAL, hour_of_day), sparse_runs),
    "contention+thermal_drift+sparse_runs": Entry(on(_CONTENTION, thermal_drift), sparse_runs),
}
"""name -> model, for whoever judges a detector."""
