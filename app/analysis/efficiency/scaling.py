"""How well work spreads over devices: the speed-up that N devices bring over the speed-up that they could bring.

Strong scaling divides the same total work among more devices (Amdahl 1967), weak scaling gives each device the same
work (Gustafson 1988); without knowing which, a ratio of times means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Literal

from app.domain.arithmetic import divide, multiply
from app.domain.derived import Derived, Given, Note, derive
from app.domain.units import Quantity, same_dimension

Mode = Literal["strong", "weak"]

SCALING_MODE_MISSING = "scaling_mode_missing"

_STRONG_TIMES = "n0 · base / (n · scaled)"
_WEAK_TIMES = "base / scaled"
_RATES = "n0 · scaled / (n · base)"


def scaling_efficiency(mode: Mode | None, n: Given, n0: Given, base: Given, scaled: Given) -> Derived:
    """Return the scaling efficiency, 1 being as many times faster as there are more devices.

    Args:
        mode: whether the total work (`strong`) or the work of each device (`weak`) is the same in both; None gives None
            with the note `scaling_mode_missing`, as a missing `n` or `n0` does.
        n: devices in the larger measurement [1].
        n0: devices in the smaller one [1], often 1.
        base: time of a step on `n0` devices [s], or their total rate [samples/s, tokens/s].
        scaled: the same on `n` devices; a time is that of the slowest rank, see `step_time`.
    """
    is_time = same_dimension(base.unit, "s")
    formula = (_STRONG_TIMES if mode != "weak" else _WEAK_TIMES) if is_time else _RATES
    inputs = {"n": n, "n0": n0, "base": base, "scaled": scaled}
    missing = [
        name for name, known in (("scaling_mode", mode), ("n", n.value), ("n0", n0.value)) if known is None
    ]
    if missing:
        note = Note(
            SCALING_MODE_MISSING, f"{' and '.join(missing)} must be declared for a scaling efficiency"
        )
        named = tuple(replace(given, name=name) for name, given in inputs.items())
        return Derived(None, "1", formula, named, (note,))
    return derive("1", formula, inputs, _COMPUTE[formula])


def step_time(ranks: Sequence[Sequence[float]]) -> float | None:
    """Return the time of a step on several ranks: the median over steps of the slowest rank [s].

    Args:
        ranks: times of the same steps, in order, for each rank [s]; steps that not every rank has are left out. None
            is returned where no step is left.
    """
    steps = [max(times) for times in zip(*ranks, strict=False)]
    return median(steps) if steps else None


_COMPUTE: dict[str, Callable[[Mapping[str, Quantity]], Quantity]] = {
    _STRONG_TIMES: lambda of: divide(multiply(of["n0"], of["base"]), of["n"], of["scaled"]),
    _WEAK_TIMES: lambda of: divide(of["base"], of["scaled"]),
    _RATES: lambda of: divide(multiply(of["n0"], of["scaled"]), of["n"], of["base"]),
}
