"""Effects of a change: log ratios of two values, signed so that positive is worse, and back to raw changes.

Logarithms make slower and faster symmetric, and an effect the same in every unit. This module alone knows
which way a metric points: inside all is effects, and what is shown is head/base − 1, signed and raw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.domain.errors import DataError
from app.domain.results import Better

INVALID_VALUE = "invalid_value"
"""Why a pair is void when one of its values has no logarithm; also the code of the error."""


def is_measurable(value: float) -> bool:
    """Tell whether `value` has a logarithm: finite and greater than zero."""
    return 0 < value < math.inf


def pair_effects(base: Sequence[float], head: Sequence[float], better: Better) -> list[float]:
    """Return the effect of head against base of every pair in ln units, positive = worse; shape (n_pairs,).

    Args:
        base: the base arm's values, finite and > 0, in the same unit as `head`.
        head: the head arm's values, as many.
        better: which direction of the metric is better.

    Raises:
        DataError: a value is zero, negative or not finite; its code is `invalid_value`.
    """
    if not (all(map(is_measurable, base)) and all(map(is_measurable, head))):
        raise DataError(
            f"base {base!r} and head {head!r} have no log ratios; all must be finite and greater than zero",
            code=INVALID_VALUE,
        )
    log = math.log
    # The difference of logarithms, unlike the logarithm of the ratio, cannot overflow and is antisymmetric.
    slower = [log(after) - log(before) for before, after in zip(base, head, strict=True)]
    return slower if better == "lower" else [-effect for effect in slower]


def raw_change(effect: float, better: Better) -> float:
    """Return head/base − 1 for an effect in ln units; infinite where that is too large for a float."""
    try:
        return math.expm1(effect if better == "lower" else -effect)
    except OverflowError:
        return math.inf


def raw_interval(low: float, high: float, better: Better) -> tuple[float, float]:
    """Return an interval of effects as one of head/base − 1, lower end first.

    Where higher is better the worst effect is the smallest ratio, so the ends change places.
    """
    ends = raw_change(low, better), raw_change(high, better)
    return ends if better == "lower" else ends[::-1]
