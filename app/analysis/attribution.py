"""What held the device back while one arm ran more than while the other did: an explanation, never an excuse.

Gates are told by telemetry alone. A regression that comes with a power limit reached by head and not by base is a
regression, and the limit is how it came about. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from app.analysis.validity import Arm

USUAL = 0.5
"""An arm is held back by what was seen in at least this share of its invocations."""

ATTRIBUTIONS = {
    "power_cap": ("power_limited", "held back by the power limit"),
    "thermal": ("thermally_limited", "held back by heat"),
    "low_clock": ("low_clock", "ran at a lower clock than base usually does"),
    "telemetry_lost": ("telemetry_lost", "measured while the device told nothing of itself"),
}
"""Soft gate → the attribution's code, and what is said of an arm."""


@dataclass(frozen=True)
class Seen:
    """The gates that one invocation raised which counts."""

    arm: Arm
    gates: Collection[str]


def attribute(invocations: Iterable[Seen]) -> list[str]:
    """Return, as `code: sentence`, what held an arm back in most of its invocations."""
    seen = list(invocations)
    found = []
    for gate, (code, words) in ATTRIBUTIONS.items():
        counts = {arm: _count(seen, arm, gate) for arm in ("head", "base")}
        usual = [arm for arm, (held, n) in counts.items() if n and held >= USUAL * n]
        if usual:
            shares = ", ".join(f"{arm} {held} of {n}" for arm, (held, n) in counts.items())
            found.append(f"{code}: {' and '.join(usual)} {words} (invocations: {shares})")
    return found


def _count(seen: Iterable[Seen], arm: str, gate: str) -> tuple[int, int]:
    of_arm = [one for one in seen if one.arm == arm]
    return sum(gate in one.gates for one in of_arm), len(of_arm)
