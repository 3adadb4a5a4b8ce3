"""What the sequential rule saw after each block, as it is shown: head/base − 1, signed and raw."""

from __future__ import annotations

import math
from collections.abc import Iterable

from app.analysis.effect import raw_change, raw_interval
from app.analysis.sequential import Decision
from app.domain.results import Better, Look


def shown_looks(decisions: Iterable[Decision], better: Better) -> tuple[Look, ...]:
    """Return the looks that have a number: values of 1e-300 and 1e300 are compared, but their ratio is none."""
    return tuple([look for decision in decisions if (look := _shown(decision, better)).change < math.inf])


def _shown(decision: Decision, better: Better) -> Look:
    mean, half, half_pass = decision.mean, decision.half, decision.half_pass
    low = high = bound = None
    if half < math.inf:
        low, high = raw_interval(mean - half, mean + half, better)
    if half_pass < math.inf:
        bound = raw_change(mean + half_pass, better)
    return Look(decision.n, raw_change(mean, better), low, _finite(high), _finite(bound))


def _finite(value: float | None) -> float | None:
    return None if value == math.inf else value
