"""How well a suite uses its devices, as plain values: what holds each case back, and where it lies under the roofs.

Services assemble these from what was measured; reports, pages and documents only read them. What a class of
bottleneck means, and from when on it holds, is stated in docs/efficiency.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

UNCLEAR = "unclear"
"""The class where nothing that is known reaches its threshold."""


@dataclass(frozen=True)
class Evidence:
    """One thing that is known of a step: its name and number, a sentence, and the class that it speaks for, if any."""

    name: str
    value: float
    text: str
    kind: str | None = None
    is_decisive: bool = False


@dataclass(frozen=True)
class Place:
    """Where a case lies under the roofs of one device.

    `intensity` in FLOP/B, `achieved` in FLOP/s; `share` is achieved over what the intensity allows.
    """

    intensity: float
    achieved: float
    share: float | None = None


@dataclass(frozen=True)
class ArmEfficiency:
    """What holds one arm of a case back.

    Attributes:
        bottleneck: the class; `unclear` where nothing decides.
        also: further classes whose thresholds are reached, the gravest first.
        evidence: what is known, what speaks for the class first.
        missing: what is not known, as sentences.
        signs: the numbers that it was told from, by name.
        place: where it lies under the roofs, where that is known.
    """

    bottleneck: str
    also: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    signs: dict[str, float] = field(default_factory=dict)
    place: Place | None = None

    @property
    def decisive(self) -> str:
        """The sentence that the class rests on; empty where there is none."""
        return next(
            (one.text for one in self.evidence if one.is_decisive and one.kind == self.bottleneck), ""
        )


@dataclass(frozen=True)
class CaseEfficiency:
    """One case; an arm that was not measured is None. `dtype` is what it says that it computes in."""

    benchmark: str
    params: dict[str, Any]
    dtype: str | None = None
    base: ArmEfficiency | None = None
    head: ArmEfficiency | None = None

    @property
    def is_changed(self) -> bool:
        """Whether base and head are held back by different things."""
        return (
            self.base is not None and self.head is not None and self.base.bottleneck != self.head.bottleneck
        )


@dataclass(frozen=True)
class Peak:
    """A peak of one device: of the arithmetic in a dtype [FLOP/s], or of its memory [B/s]."""

    name: str
    value: float
    origin: str
    is_verified: bool = True


@dataclass(frozen=True)
class Activity:
    """One number that DCGM told of the whole run, over both arms and all its cases; `device` is its UUID."""

    device: str
    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class SuiteEfficiency:
    """How well the cases of a suite use its devices.

    Attributes:
        device: what the peaks are of, as people call it.
        cases: those of which something is known.
        peaks: arithmetic peaks of the dtypes that cases use.
        bandwidth: peak of the memory.
        hint: why there are no peaks; empty where there are.
        activity: what DCGM told of the run.
    """

    device: str
    cases: tuple[CaseEfficiency, ...]
    peaks: tuple[Peak, ...] = ()
    bandwidth: Peak | None = None
    hint: str = ""
    activity: tuple[Activity, ...] = ()
