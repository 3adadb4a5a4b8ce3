"""What the devices did while a case was timed, as signs of what holds it back: of an invocation's readings.

Only readings within a case's own window tell of it. Where a command times itself nobody knows its windows; then all
readings stand in for them, but not for how busy the device was, as a start is never busy. A simulated device is as its
script says from the first reading to the last, be they ever so few.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.analysis.efficiency.watched import FEWEST, Columns, watched
from app.store.tables import Device
from workers.protocol import CaseMeasurement

CPU = "cpu"
"""The device kind of which `util` is all processors together: one thread can have only a small part of it."""


def signs_of_case(
    measured: CaseMeasurement, devices: Sequence[Device], readings: Sequence[Columns]
) -> dict[str, float]:
    """Return what the devices did while the case was timed, by the names of `bottleneck.Signs`."""
    is_whole = measured.clock in ("simulated", "self")
    if measured.status != "ok" or not readings or not (is_whole or measured.window_ns):
        return {}
    signs = watched(
        readings,
        None if is_whole else measured.window_ns,
        list(map(_highest_hz, devices)),
        fewest=1 if measured.clock == "simulated" else FEWEST,
    )
    if measured.clock == "self" or any(device.kind == CPU for device in devices):
        signs.pop("util", None)
    return signs


def _highest_hz(device: Device) -> float | None:
    highest = device.fingerprint.get("soft", {}).get("sm_clock_max_hz")
    return highest if isinstance(highest, int | float) else None
