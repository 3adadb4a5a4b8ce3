"""How cheaply do some changes explain a series? What they leave must be noise; each of them costs something.

The noise may be white, correlated (autoregressive) or drifting (a random walk under white noise): whichever makes what
is left likeliest, by Whittle's approximation from its periodogram. Steps that are left in the noise make it unlikely,
as neither correlation nor drift jumps; a staircase that is fitted to drift costs more than the drift.

Sources: P. Whittle, Estimation and information in stationary time series, Arkiv foer Matematik 2 (1953); N. R. Zhang
and D. O. Siegmund, A modified Bayes information criterion, Biometrics 63 (2007), for what a change must save.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from app.analysis.arrays import Array

PRICE = 3.0
"""Times the logarithm of the number of points that a change must gain in twice the log-likelihood."""

CORRELATIONS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
"""Autoregressive coefficients that are tried."""

DRIFTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Variances of a random walk's steps, over that of the white noise on it, that are tried."""

_PRICE_OF_KIND = 2.0
"""What noise that is not white costs, for the number that describes it."""
_LEAST_POWER = 1e-3
"""Share of the rounding's variance below which no frequency's power is believed."""


def cost_of(rest: Array, changes: int, floor: float) -> float:
    """Return minus twice the log-likelihood of `rest`, up to a constant of its length, and the price of the changes.

    Args:
        rest: what the changes leave, shape (n,), n ≥ 4.
        changes: how many they are.
        floor: least standard deviation of a run, > 0.
    """
    n = len(rest)
    wave = np.fft.rfft(rest - rest.mean())[1 : n // 2 + 1]
    power = np.maximum((wave.real**2 + wave.imag**2) / n, _LEAST_POWER * floor**2)
    inverse, fixed = _kinds(n)
    m = len(power)
    likeliest = float((fixed + 2 * m * np.log(inverse @ power / m)).min())
    return likeliest + PRICE * math.log(n) * changes


@lru_cache(maxsize=8)
def _kinds(n: int) -> tuple[Array, Array]:
    """Return per kind of noise its inverse spectra, shape (kinds, n // 2), and what it costs whatever is left."""
    frequency = 2 * math.pi * np.arange(1, n // 2 + 1) / n
    slow = 2 - 2 * np.cos(frequency) + (math.pi / n) ** 2
    white = np.ones(n // 2)
    correlated = [1 / (1 + phi * phi - 2 * phi * np.cos(frequency)) for phi in CORRELATIONS]
    drifting = [1 + drift / slow for drift in DRIFTS]
    spectra = np.array([white, *correlated, *drifting])
    price = np.where(np.arange(len(spectra)) > 0, _PRICE_OF_KIND, 0.0)
    return 1 / spectra, 2 * np.log(spectra).sum(axis=1) + price
