"""Variances that learn from one another: few values a case, but many cases in a check.

Variances of all cases are taken as drawn from one scaled inverse chi-squared law, whose spread says how much a case's
own variance is to be believed: each is drawn towards the common one and gains degrees of freedom.

Source: G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004), section 6.2.
"""

from __future__ import annotations

import math

import numpy as np

from app.analysis.arrays import Array
from app.analysis.student import digamma, trigamma

FEWEST_CASES = 10
"""With fewer cases a common law cannot be told from chance."""

FAR = 10.0
"""Times the common variance above which a case is of another kind: it keeps its own, and learns nothing."""

MOST_FREEDOM = 200.0
"""Prior degrees of freedom at most: beyond, all cases have one variance."""


def moderated(variances: Array, freedom: Array) -> tuple[Array, Array]:
    """Return moderated variances and their degrees of freedom; all arrays of shape (cases,).

    Args:
        variances: of the cases, > 0 where they are to learn and teach; others are returned as they are.
        freedom: their degrees of freedom, > 0.
    """
    known = (variances > 0) & (freedom >= 1)
    if known.sum() < FEWEST_CASES:
        return variances, freedom
    prior, prior_freedom = _prior(variances[known], freedom[known])
    moderate, gained = variances.copy(), freedom.copy()
    known &= variances <= FAR * prior
    moderate[known] = (prior_freedom * prior + freedom[known] * variances[known]) / (
        prior_freedom + freedom[known]
    )
    gained[known] += prior_freedom
    return moderate, gained


def _prior(variances: Array, freedom: Array) -> tuple[float, float]:
    """Return the common variance and the degrees of freedom that it counts for."""
    half = freedom / 2
    centred = np.log(variances) - digamma(half) + np.log(half)
    middle = float(np.median(centred))
    excess = float(((centred - middle) ** 2).sum() / (len(centred) - 1)) - float(trigamma(half).mean())
    prior_half = _inverse_trigamma(excess) if excess > 0 else MOST_FREEDOM / 2
    prior_half = min(prior_half, MOST_FREEDOM / 2)
    scale = float(np.exp(middle + digamma(np.array([prior_half]))[0] - np.log(prior_half)))
    return scale, 2 * prior_half


def _inverse_trigamma(value: float) -> float:
    """Return x > 0 whose trigamma is `value` > 0: trigamma falls from ∞ to 0, so that halving finds it."""
    low, high = 1e-8, 1e8
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(np.array([middle]))[0] > value else (low, middle)
    return math.sqrt(low * high)
