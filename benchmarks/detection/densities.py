"""Standardised noise: what is drawn, and its log density, which only the oracle uses.

Every law has mean 0 and variance 1. A log density lacks its constant and is bounded below by `LOWEST`, so that a
point outside a law's support counts as very unlikely, not as impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

LOWEST = -60.0
"""Bound of a log density: a misplaced point outside the support costs this, not infinity."""


@dataclass(frozen=True)
class Law:
    """A standardised distribution: `draw(rng, n)` and `log_density(u)`, both arrays of shape (n,)."""

    draw: Callable[[np.random.Generator, int], Array]
    log_density: Callable[[Array], Array]


def gaussian() -> Law:
    """Return the normal law."""
    return Law(lambda rng, n: rng.standard_normal(n), lambda u: np.maximum(-0.5 * u * u, LOWEST))


def student(df: float) -> Law:
    """Return Student's t with `df` > 2 degrees of freedom, scaled to variance 1."""
    scale = math.sqrt((df - 2) / df)

    def log_density(u: Array) -> Array:
        return -0.5 * (df + 1) * np.log1p((u / scale) ** 2 / df)

    return Law(lambda rng, n: scale * rng.standard_t(df, n), log_density)


def laplace_mixture(share: float = 0.1, ratio: float = 6.0) -> Law:
    """Return normal noise of which a `share` is Laplace with `ratio` times the standard deviation."""
    narrow = 1 / math.sqrt(1 - share + share * ratio * ratio)
    b = narrow * ratio / math.sqrt(2)

    def draw(rng: np.random.Generator, n: int) -> Array:
        wide = rng.random(n) < share
        return np.where(wide, rng.laplace(0, b, n), narrow * rng.standard_normal(n))

    def log_density(u: Array) -> Array:
        normal = (1 - share) * np.exp(-0.5 * (u / narrow) ** 2) / (narrow * math.sqrt(2 * math.pi))
        return np.maximum(np.log(normal + share * np.exp(-np.abs(u) / b) / (2 * b) + 1e-300), LOWEST)

    return Law(draw, log_density)


def lognormal(shape: float) -> Law:
    """Return a shifted log-normal law of standard deviation `shape` in logarithms: skewed to the right."""
    mean = math.exp(shape * shape / 2)
    sd = mean * math.sqrt(math.expm1(shape * shape))

    def log_density(u: Array) -> Array:
        logs = np.log(np.maximum(u * sd + mean, 1e-12))
        return np.maximum(-logs - 0.5 * (logs / shape) ** 2, LOWEST)

    return Law(lambda rng, n: (np.exp(shape * rng.standard_normal(n)) - mean) / sd, log_density)


def gamma(shape: float) -> Law:
    """Return a shifted gamma law: skewed to the right, with a lower end."""
    root = math.sqrt(shape)

    def log_density(u: Array) -> Array:
        w = np.maximum(u * root + shape, 1e-12)
        peak = (shape - 1) * math.log(shape) - shape
        return np.maximum((shape - 1) * np.log(w) - w - peak, LOWEST)

    return Law(lambda rng, n: (rng.gamma(shape, 1.0, n) - shape) / root, log_density)


def logistic() -> Law:
    """Return the logistic law: tails between normal and Laplace."""
    s = math.sqrt(3) / math.pi
    return Law(
        lambda rng, n: rng.logistic(0, s, n),
        lambda u: np.maximum(-np.abs(u) / s - 2 * np.log1p(np.exp(-np.abs(u) / s)), LOWEST),
    )
