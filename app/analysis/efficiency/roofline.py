"""Where work lies under the roofs of its device: the roofline model of Williams, Waterman & Patterson (CACM 2009).

Work of intensity I (operations for each byte moved) can run no faster than min(peak, I · bandwidth). The two roofs meet
at the ridge: left of it the memory is the limit, right of it the arithmetic. Everything is for one device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.analysis.efficiency.utilisation import (
    BEYOND_PEAK,
    ONE_DEVICE,
    PEAK_TOLERANCE,
    UNKNOWN_PEAK,
)
from app.domain.arithmetic import divide, is_above, multiply
from app.domain.derived import Derived, Given, Note, derive, with_notes
from app.domain.units import Quantity

Side = Literal["compute", "memory"]


@dataclass(frozen=True)
class Roofline:
    """Where one piece of work lies; `side` is the roof above it, None where it cannot be told.

    Attributes:
        intensity: operations for each byte moved [FLOP/B].
        achieved: operations of one device over time [FLOP/s].
        attainable: the most that the intensity allows [FLOP/s].
        ridge: the intensity at which the roofs meet [FLOP/B].
        share: achieved over attainable, 1 being on the roof.
        side: the roof that lies over the intensity.
    """

    intensity: Derived
    achieved: Derived
    attainable: Derived
    ridge: Derived
    share: Derived
    side: Side | None


def arithmetic_intensity(flop: Given, moved: Given) -> Derived:
    """Return the operations for each byte that is moved in device memory [FLOP/B]."""
    return derive(
        "FLOP/B",
        "FLOP / bytes",
        {"FLOP": flop, "bytes": moved},
        lambda given: divide(given["FLOP"], given["bytes"]),
        may_be_zero=["FLOP"],
    )


def ridge_point(peak: Given, bandwidth: Given) -> Derived:
    """Return the intensity at which the roofs of a device meet [FLOP/B]."""
    return derive(
        "FLOP/B",
        "peak / bandwidth",
        {"peak": peak, "bandwidth": bandwidth},
        lambda given: divide(given["peak"], given["bandwidth"]),
        missing_codes={"peak": UNKNOWN_PEAK, "bandwidth": UNKNOWN_PEAK},
    )


def roofline(
    flop: Given, moved: Given, time: Given, peak: Given, bandwidth: Given, devices: Given = ONE_DEVICE
) -> Roofline:
    """Return where work lies under the roofs of its device.

    Args:
        flop: operations of one step, on all devices together [FLOP].
        moved: bytes that the step reads and writes in device memory, on all devices together [B].
        time: time of the step [s].
        peak: dense peak of one device in the dtype of the work [FLOP/s].
        bandwidth: peak of one device's memory [B/s].
        devices: how many devices work on it [1].
    """
    intensity, ridge = arithmetic_intensity(flop, moved), ridge_point(peak, bandwidth)
    achieved = derive(
        "FLOP/s",
        "FLOP / (time · devices)",
        {"FLOP": flop, "time": time, "devices": devices},
        lambda given: divide(given["FLOP"], given["time"], given["devices"]),
        may_be_zero=["FLOP"],
    )
    attainable = derive(
        "FLOP/s",
        "min(peak, intensity · bandwidth)",
        {"peak": peak, "intensity": intensity.as_given(), "bandwidth": bandwidth},
        lambda given: _lower(given["peak"], multiply(given["intensity"], given["bandwidth"])),
        missing_codes={"peak": UNKNOWN_PEAK, "bandwidth": UNKNOWN_PEAK},
        may_be_zero=["intensity"],
    )
    return Roofline(
        intensity, achieved, attainable, ridge, _share(achieved, attainable), _side(intensity, ridge)
    )


def _share(achieved: Derived, attainable: Derived) -> Derived:
    share = derive(
        "1",
        "achieved / attainable",
        {"achieved": achieved.as_given(), "attainable": attainable.as_given()},
        lambda given: divide(given["achieved"], given["attainable"]),
        may_be_zero=["achieved"],
    )
    if share.value is None or share.value <= 1 + PEAK_TOLERANCE:
        return share
    above = "above the roof: the declared FLOP or bytes, or a peak, cannot be right"
    return with_notes(share, Note(BEYOND_PEAK, above))


def _side(intensity: Derived, ridge: Derived) -> Side | None:
    if intensity.value is None or ridge.value is None:
        return None
    return "memory" if intensity.value < ridge.value else "compute"


def _lower(first: Quantity, second: Quantity) -> Quantity:
    return second if is_above(first, second) else first
