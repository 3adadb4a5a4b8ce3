"""How well work spreads over devices, at the end of a week and of the one before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScalingCase:
    """A series of scaling efficiency, 1 being as many times faster as there are more devices.

    `last` is its newest value by the end of the week before, None where there was none; `devices` is how many worked
    on it, None where nobody told.
    """

    project: str
    benchmark: str
    params: dict[str, Any]
    device_class: str
    series_id: int
    now: float
    low: float
    high: float
    last: float | None
    devices: int | None
    run: str
    commit: str

    @property
    def change(self) -> float | None:
        """How much of its value it gained since last week, as a share."""
        return self.now / self.last - 1 if self.last else None
