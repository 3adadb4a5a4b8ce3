"""The scale that effects are drawn on: linear near zero, logarithmic far out, positive = worse.

`asinh(effect / knee)` keeps the thresholds visible beside a change of ten times, which a linear axis does not, and
needs no gap at zero, which a logarithmic one does (Burbidge, Magee & Robb 1988, the inverse hyperbolic sine). The knee
is the tolerance, or less where the tolerance would else stand too close to zero for both to be labelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from app.domain.results import CaseVerdict, CheckResult
from app.reports import quantities

_RISES = (9.0, 3.0, 1.0, 0.5, 0.2, 0.1, 0.05)
_FALLS = (-0.9, -0.75, -0.5, -0.2, -0.1, -0.05)
"""Changes beside the tolerance that an axis may be labelled with, the farthest first."""

_HEADROOM = 1.1
"""How much longer the axis is than what must fit on it."""

_TOLERANCE_AT = 0.3
"""Position that the tolerance has at least, so that its label is clear of the one at zero."""

_LABELS_END = 1.05
"""Position that no label reaches beyond: a scale is drawn with a margin."""

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

    tolerance: float
    """The effect that is always labelled; above 0."""
    limit: float
    """The effect drawn at the very end."""

    def position(self, effect: float) -> float:
        """Return where an effect is drawn; what lies beyond the limit is put at its end."""
        return max(-1.0, min(1.0, _share(effect, self.limit, self._knee)))

    def ticks(self, length: Callable[[float], float]) -> list[float]:
        """Return the raw changes [ln units] to label, whose labels neither touch nor run over the ends.

        Zero and the tolerance come first, then on both sides the farthest round change, and more between.

        Args:
            length: how much of the scale, which is 2 long, the label of a change takes with the gap behind it.
        """
        chosen = [0.0, -self.tolerance, self.tolerance]
        for tick in map(math.log1p, (*_RISES, *_FALLS)):
            at, half = self.position(tick), length(tick) / 2
            is_clear = all(abs(at - self.position(other)) >= half + length(other) / 2 for other in chosen)
            if abs(tick) > self.tolerance and is_clear and abs(at) + half <= _LABELS_END:
                chosen.append(tick)
        return chosen

    @cached_property
    def _knee(self) -> float:
        knee = self.tolerance
        while _share(self.tolerance, self.limit, knee) < _TOLERANCE_AT:
            knee /= 2
        return knee


def _share(effect: float, limit: float, knee: float) -> float:
    """Return the position of an effect where linear turns into logarithmic at the knee."""
    return math.asinh(effect / knee) / math.asinh(limit / knee)


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
    shown = max(tolerance, 0.001)
    farthest = max(map(abs, estimates), default=0.0)
    widest = max(map(abs, bounds), default=0.0)
    reach = max(3 * shown, farthest, min(widest, max(10 * shown, 2 * farthest)))
    headroom = shown * math.sinh(_HEADROOM * math.asinh(reach / shown))
    return EffectScale(shown, min(headroom, _LONGEST))


def tick_label(effect: float) -> str:
    """Return a raw change [ln units] in percent, rounded for an axis: `+2 %`, `−20 %`, `0`."""
    if not effect:
        return "0"
    change = abs(math.expm1(effect))
    size = f"{100 * change:.2g}" if change < 0.995 else f"{100 * change:.0f}"
    return f"{'+' if effect > 0 else '−'}{quantities.trim(size)} %"
