"""From standard errors to probabilities, for a place that was chosen because it stands out.

Of all n places the best is looked at, so that its p-value is that of the largest of n correlated values.

Source: B. James, K. L. James and D. Siegmund, Tests for a change-point, Biometrika 74 (1987), whose approximation for
the standardised Brownian bridge holds from about three standard errors on.
"""

from __future__ import annotations

import math

Z_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""


def chosen_p_value(z: float, n: int) -> float:
    """Return the probability of a largest |z| at least this large among all splits of `n` ≥ 2 unchanged values."""
    density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return min(1.0, density * (2 * z * math.log(max(n - 1, 2)) + 4 / z)) if z > 0 else 1.0
