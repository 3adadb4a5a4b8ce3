"""Shares of a peak, and the rates that they are shares of.

MFU counts the operations that a model needs, HFU those that were executed, recomputation included (Chowdhery et al.
2022, PaLM, appendix B; Korthikanti et al. 2022). A share above 1 is impossible: the declared work or the peak is wrong.
It is kept and marked, never cut off.
"""

from __future__ import annotations

from app.domain.arithmetic import divide
from app.domain.derived import Derived, Given, Note, derive, with_notes

BEYOND_PEAK = "beyond_peak"
BEYOND_STEP = "beyond_step"
UNKNOWN_PEAK = "unknown_peak"

PEAK_TOLERANCE = 0.02
"""How far above 1 a share may lie by the error of the clocks alone: as far as device and host time may disagree."""

ONE_DEVICE = Given(1, "1", "one device")

_PEAK_MISSING = {"peak": UNKNOWN_PEAK}


def mfu(flop: Given, time: Given, devices: Given, peak: Given) -> Derived:
    """Return the model FLOP utilisation, 1 being the whole peak.

    Args:
        flop: operations that the model needs for one step, on all devices together [FLOP].
        time: time of the step [s].
        devices: how many devices work on it [1].
        peak: dense peak of one device in the dtype of the work [FLOP/s]; without a value the result has none.
    """
    return _share_of_compute("model FLOP", flop, time, devices, peak)


def hfu(flop: Given, time: Given, devices: Given, peak: Given) -> Derived:
    """Return the hardware FLOP utilisation: as `mfu`, of the operations that were executed."""
    return _share_of_compute("executed FLOP", flop, time, devices, peak)


def bandwidth_util(moved: Given, time: Given, peak: Given, devices: Given | None = None) -> Derived:
    """Return the share of the memory's peak bandwidth that the declared bytes take.

    Args:
        moved: bytes that the step reads and writes in device memory, on all devices together [B].
        time: time of the step [s].
        peak: peak bandwidth of one device [B/s]; without a value the result has none.
        devices: how many devices work on it [1]; one where it is left out.
    """
    share = derive(
        "1",
        "bytes / (time · devices · peak)",
        {"bytes": moved, "time": time, "devices": devices or ONE_DEVICE, "peak": peak},
        lambda given: divide(given["bytes"], given["time"], given["devices"], given["peak"]),
        missing_codes=_PEAK_MISSING,
        may_be_zero=["bytes"],
    )
    return _checked(share, "the declared bytes or the peak bandwidth")


def flops_per_s(flop: Given, time: Given) -> Derived:
    """Return the rate of operations on all devices together [FLOP/s]."""
    return rate("FLOP/s", flop, time)


def bytes_per_s(moved: Given, time: Given) -> Derived:
    """Return the rate of declared bytes on all devices together [B/s]."""
    return rate("B/s", moved, time)


def rate(unit: str, work: Given, time: Given) -> Derived:
    """Return work over time in `unit`, such as `samples/s`."""
    return derive(
        unit,
        "work / time",
        {"work": work, "time": time},
        lambda given: divide(given["work"], given["time"]),
        may_be_zero=["work"],
    )


def share_of_time(part: Given, step: Given) -> Derived:
    """Return the share of a step's time that goes into one part: waiting for input, or collectives."""
    share = derive(
        "1",
        "part / step",
        {"part": part, "step": step},
        lambda given: divide(given["part"], given["step"]),
        may_be_zero=["part"],
    )
    if share.value is None or share.value <= 1 + PEAK_TOLERANCE:
        return share
    return with_notes(share, Note(BEYOND_STEP, "the part is longer than the whole step"))


def _share_of_compute(what: str, flop: Given, time: Given, devices: Given, peak: Given) -> Derived:
    share = derive(
        "1",
        f"{what} / (time · devices · peak)",
        {what: flop, "time": time, "devices": devices, "peak": peak},
        lambda given: divide(given[what], given["time"], given["devices"], given["peak"]),
        missing_codes=_PEAK_MISSING,
        may_be_zero=[what],
    )
    return _checked(share, f"the {what} or the peak")


def _checked(share: Derived, suspects: str) -> Derived:
    if share.value is None or share.value <= 1 + PEAK_TOLERANCE:
        return share
    return with_notes(share, Note(BEYOND_PEAK, f"more than the device can do: {suspects} cannot be right"))
