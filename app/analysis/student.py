"""Student's t distribution and the functions that moderated variances need, on numpy alone.

scipy has them all, but its import alone takes longer than a command may take to start.

Sources: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964): 26.5.8 (continued fraction of the
incomplete beta function), 26.7.5 (quantile of t from that of the normal law), 6.3.18 and 6.4.12 (asymptotic series of
digamma and trigamma).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from app.analysis.arrays import Array

_TERMS = 200
_ASYMPTOTIC = 8.0
"""Arguments from which on the asymptotic series are exact to about 1e-10."""


def upper_tail(t: Array, freedom: Array) -> Array:
    """Return P(T > t) for `freedom` > 0 degrees of freedom, elementwise; t may be infinite."""
    finite = np.where(np.isfinite(t), t, 0.0)
    with np.errstate(over="ignore"):  # a t whose square is beyond all numbers has no tail
        x = freedom / (freedom + finite * finite)
    tail = 0.5 * _incomplete_beta(freedom / 2, x)
    tail = np.where(np.isfinite(t), tail, 0.0)
    result: Array = np.where(t >= 0, tail, 1 - tail)
    return result


def quantile(p: float, freedom: Array) -> Array:
    """Return t with P(T ≤ t) = `p` for `freedom` ≥ 1 degrees of freedom, elementwise; ½ ≤ p < 1."""
    z = NormalDist().inv_cdf(p)
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    constant = np.array([_log_density_constant(v) for v in freedom.tolist()])
    for _ in range(8):
        density = np.exp(constant - (freedom + 1) / 2 * np.log1p(t * t / freedom))
        t = t + np.clip((upper_tail(t, freedom) - (1 - p)) / density, -t / 2, t)
    return t


def digamma(x: Array) -> Array:
    """Return the derivative of ln Γ at x > 0, elementwise."""
    shift, y = _raised(x, power=1)
    inverse = 1 / (y * y)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    result: Array = np.log(y) - 0.5 / y - series - shift
    return result


def trigamma(x: Array) -> Array:
    """Return the second derivative of ln Γ at x > 0, elementwise."""
    shift, y = _raised(x, power=2)
    inverse = 1 / (y * y)
    series = (1 + 0.5 / y + inverse * (1 / 6 - inverse * (1 / 30 - inverse * (1 / 42 - inverse / 30)))) / y
    result: Array = series + shift
    return result


def _raised(x: Array, power: int) -> tuple[Array, Array]:
    """Return the sum of 1/(x + i)^power over the steps that raise x to where the series holds, and that x."""
    y, shift = np.array(x, dtype=np.float64), np.zeros_like(x, dtype=np.float64)
    while (low := y < _ASYMPTOTIC).any():
        shift[low] += y[low] ** -power
        y[low] += 1
    return shift, y


def _log_density_constant(freedom: float) -> float:
    return math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)


def _incomplete_beta(a: Array, x: Array) -> Array:
    """Return the regularised incomplete beta function I_x(a, ½), elementwise; 0 < x ≤ 1."""
    half = np.full_like(a, 0.5)
    direct = x < (a + 1) / (a + 2.5)
    first, second = np.where(direct, a, half), np.where(direct, half, a)
    at = np.where(direct, x, 1 - x)
    log_beta = np.array([math.lgamma(v) + math.lgamma(0.5) - math.lgamma(v + 0.5) for v in a.tolist()])
    with np.errstate(divide="ignore"):
        front = np.exp(first * np.log(at) + second * np.log1p(-at) - log_beta) / first
    value = np.where(at > 0, front * _fraction(first, second, at), 0.0)
    result: Array = np.where(direct, value, 1 - value)
    return result


def _fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    tiny = 1e-300
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / np.where(np.abs(d) < tiny, tiny, d)
            c = np.where(np.abs(c) < tiny, tiny, c)
            value = value * (c * d)
        if np.all(np.abs(c * d - 1) < 1e-14):
            break
    return value
