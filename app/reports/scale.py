"""The scale that effects are drawn on: linear near zero, logarithmic far out, positive = worse.

`asinh(effect / tolerance)` keeps the thresholds visible beside a change of ten times, which a linear axis does not,
and needs no gap at zero, which a logarithmic one does (Burbidge, Magee & Robb 1988, the inverse hyperbolic sine).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.results import CaseVerdict, CheckResult
from app.reports import quantities

_STEPS = (9.0, 3.0, 1.0, 0.5, 0.2, 0.1, 0.05)
"""Changes beside the tolerance that an axis may be labelled with, the farthest first."""

_HEADROOM = 1.1
"""How much longer the axis is than what must fit on it."""

_LAST_LABEL = 0.88
"""Position from which on a label would run over the end of the axis."""

_LONGEST = math.log(100)
"""Nothing beyond a hundred times is drawn apart [ln]."""


@dataclass(frozen=True)
class Thresholds:
    """The rule's limits in ln units: tau0 (`minimum_effect`) and tau (`tolerance`)."""

    minimum_effect: float
    tolerance: float


@dataclass(frozen=True)
class EffectScale:
    """Effects [ln units] to positions from −1 (better) to +1 (worse)."""

    knee: float
    """Where linear turns into logarithmic: the tolerance."""
    limit: float
    """The effect drawn at the very end."""

    def position(self, effect: float) -> float:
        """Return where an effect is drawn; what lies beyond the limit is put at its end."""
        return max(-1.0, min(1.0, math.asinh(effect / self.knee) / math.asinh(self.limit / self.knee)))

    def ticks(self, least_gap: float) -> list[float]:
        """Return the positive effects [ln units] to label: the tolerance, the farthest round one, more between."""
        chosen = [self.knee]
        for step in map(math.log1p, _STEPS):
            is_free = all(abs(self.position(step) - self.position(other)) >= least_gap for other in chosen)
            if step > self.knee and is_free and self.position(step) <= _LAST_LABEL:
                chosen.append(step)
        return chosen


def check_limits(result: CheckResult) -> Thresholds:
    """Return the thresholds that hold for every metric without its own."""
    return Thresholds(result.minimum_effect, result.tolerance)


def case_limits(result: CheckResult, case: CaseVerdict) -> Thresholds:
    """Return the thresholds of one case: its own where it has them, else the check's."""
    tau0, tau = case.minimum_effect, case.tolerance
    return Thresholds(
        result.minimum_effect if tau0 is None else tau0, result.tolerance if tau is None else tau
    )


def effect_scale(tolerance: float, estimates: Iterable[float], bounds: Iterable[float]) -> EffectScale:
    """Return a scale for effects and interval bounds [ln units].

    It reaches every estimate; an interval much wider than any estimate is cut, so that one early or noisy case does
    not press all others together. A tolerance of 0 counts as 0.1 %.
    """
    knee = max(tolerance, 0.001)
    farthest = max(map(abs, estimates), default=0.0)
    widest = max(map(abs, bounds), default=0.0)
    reach = max(3 * knee, farthest, min(widest, max(10 * knee, 2 * farthest)))
    headroom = knee * math.sinh(_HEADROOM * math.asinh(reach / knee))
    return EffectScale(knee, min(headroom, _LONGEST))


def tick_label(effect: float) -> str:
    """Return an effect [ln units] as the change it is, rounded for an axis: `+2 %`, `−20 %`, `0`."""
    if not effect:
        return "0"
    change = math.expm1(abs(effect))
    size = f"{100 * change:.2g}" if change < 0.995 else f"{100 * change:.0f}"
    return f"{'+' if effect > 0 else '−'}{quantities.trim(size)} %"
