"""What a roofline picture shows, and how it is told in words: for the picture, its key, and who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.text import plain

NOT_VERIFIED = "peak not verified"


@dataclass(frozen=True)
class Roof:
    """The arithmetic peak of one dtype [FLOP/s]."""

    dtype: str
    peak: float
    is_verified: bool = True


@dataclass(frozen=True)
class Point:
    """Where one arm lies: operations for each byte [FLOP/B], operations over time of one device [FLOP/s].

    `share` is the achieved over the attainable rate, where it is known.
    """

    intensity: float
    achieved: float
    share: float | None = None

    @property
    def is_drawable(self) -> bool:
        """Whether it has a place on logarithmic axes."""
        return 0 < self.intensity < math.inf and 0 < self.achieved < math.inf


@dataclass(frozen=True)
class RooflineCase:
    """One case: its name, the dtype whose roof it is under, and its arms; None for an arm that is not known."""

    name: str
    dtype: str
    base: Point | None = None
    head: Point | None = None

    @property
    def shown(self) -> Point:
        """The arm that the label stands beside: head, where it is known."""
        point = self.head or self.base
        assert point is not None
        return point


@dataclass(frozen=True)
class RooflineView:
    """What a picture shows.

    Attributes:
        device: what the roofs are of, for the title.
        roofs: arithmetic peaks; those of dtypes that no case uses are left out.
        bandwidth: peak of the memory [B/s]; None draws no slope.
        cases: what lies under the roofs.
        is_bandwidth_verified: whether the bandwidth was compared with its source.
    """

    device: str
    roofs: Sequence[Roof]
    bandwidth: float | None
    cases: Sequence[RooflineCase]
    is_bandwidth_verified: bool = True


def drawable(view: RooflineView) -> RooflineView:
    """Return the view with what has a place on logarithmic axes, and the roofs of dtypes that are used."""
    cases = [
        RooflineCase(case.name, case.dtype, _kept(case.base), _kept(case.head))
        for case in view.cases
        if _kept(case.base) or _kept(case.head)
    ]
    used = {case.dtype for case in cases}
    roofs = [roof for roof in view.roofs if roof.dtype in used and 0 < roof.peak < math.inf]
    bandwidth = view.bandwidth if view.bandwidth and 0 < view.bandwidth < math.inf else None
    return RooflineView(view.device, roofs, bandwidth, cases, view.is_bandwidth_verified)


def _kept(point: Point | None) -> Point | None:
    return point if point is not None and point.is_drawable else None


def levels(view: RooflineView) -> list[tuple[tuple[str, str], Roof]]:
    """Return the roofs from the highest down, each with its label and a shorter one in the unit of the axis.

    Roofs of one height are one: `bf16, fp16 989 TFLOP/s`, or `bf16, fp16 989`.
    """
    heights: dict[tuple[float, bool], list[str]] = {}
    for roof in sorted(view.roofs, key=lambda roof: -roof.peak):
        heights.setdefault((roof.peak, roof.is_verified), []).append(roof.dtype)
    _, size = rate_unit(view)
    merged = [Roof(plain(", ".join(dict.fromkeys(dtypes))), *height) for height, dtypes in heights.items()]
    return [(_labels(roof, size), roof) for roof in merged]


def _labels(roof: Roof, size: float) -> tuple[str, str]:
    whole, short = format_quantity(roof.peak, "FLOP/s"), digits(roof.peak / size)
    return _marked(f"{roof.dtype} {whole}", roof.is_verified), _marked(
        f"{roof.dtype} {short}", roof.is_verified
    )


def rate_unit(view: RooflineView) -> tuple[str, float]:
    """Return the unit of the rates that suits most of them, and its size [FLOP/s]: `("TFLOP/s", 1e12)`."""
    achieved = [point.achieved for case in view.cases for point in (case.base, case.head) if point]
    highest = max([*achieved, *(roof.peak for roof in view.roofs)])
    return quantities.display_unit(math.sqrt(min(achieved) * highest), "FLOP/s")


def slope_label(view: RooflineView) -> str:
    """Return the bandwidth as it is written on the slope."""
    return _marked(f"memory {format_quantity(view.bandwidth, 'B/s')}", view.is_bandwidth_verified)


def _marked(label: str, is_verified: bool) -> str:
    return label if is_verified else f"{label}, {NOT_VERIFIED}"


def told(view: RooflineView) -> str:
    """Return in sentences what the picture shows."""
    return " ".join(f"{sentence}." for sentence in _sentences(view))


def _sentences(view: RooflineView) -> Iterable[str]:
    if view.bandwidth:
        yield slope_label(view).replace("memory", "Memory", 1)
    yield from (label for (label, _), _ in levels(view))
    yield from (case_words(number, case) for number, case in enumerate(view.cases, start=1))


def case_words(number: int, case: RooflineCase) -> str:
    """Return a case with its arms: `2 gemm (bf16): base 412 TFLOP/s at 120 FLOP/B, 42 % of the roof; head …`."""
    arms = [
        f"{arm} {_point_words(point)}" for arm, point in (("base", case.base), ("head", case.head)) if point
    ]
    return f"{number} {plain(case.name)} ({plain(case.dtype)}): {'; '.join(arms)}"


def _point_words(point: Point) -> str:
    share = "" if point.share is None else f", {quantities.percent(point.share)} of the roof"
    return f"{format_quantity(point.achieved, 'FLOP/s')} at {intensity(point)} FLOP/B{share}"


def intensity(point: Point) -> str:
    """Return the operations for each byte: `0.25`, `62`, `1365`."""
    return digits(point.intensity)


def digits(value: float) -> str:
    """Return a number with three digits, and all of those before the point below a million."""
    return f"{value:.0f}" if 1000 <= value < 1e6 else f"{value:.3g}"
