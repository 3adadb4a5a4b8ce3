"""The wait before each invocation until its devices are as they were before the others: equally warm, and alone.

A device that is warmer than it was before other invocations runs at another clock, and another process takes its time
and memory. Both often pass by themselves, so they are waited for, but not for ever: what is not so by then is said with
the measurement. Where a device does not tell its temperature there is nothing to wait for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from statistics import median

from workers.devices.group import DeviceGroup
from workers.host.clock import Clock

EQUAL_TEMPERATURE_C = 3.0
POLL_S = 0.5

NOT_EQUALISED = "temp_not_equalised"
NOT_ALONE = "foreign_process"


class Settling:
    """Remembers how warm the devices were at the starts of a run's invocations, and waits for that."""

    def __init__(
        self,
        devices: DeviceGroup,
        clock: Clock,
        *,
        longest_s: float,
        poll_s: float = POLL_S,
    ) -> None:
        """Name the devices, and how long a wait may take and how often it looks [s]."""
        self._devices = devices
        self._clock = clock
        self._longest_s = longest_s
        self._poll_s = poll_s
        self._starts_c: list[list[float]] = [[] for _ in devices.devices]
        """For each device, its temperatures at the starts so far, where it told them."""

    def wait(self, over: threading.Event, *, is_start: bool = True) -> list[str]:
        """Return when the devices are as usual, after the longest wait, or once `over` is set.

        What follows is the start of an invocation, and counts to what is usual, unless it is said that it is none.

        Returns:
            A flag for each thing that is not so: `temp_not_equalised` where a device's temperature is over 3 °C from
            the median of its earlier starts, `foreign_process` where something else is on a device.
        """
        deadline = self._clock.now() + self._longest_s
        while True:
            now_c = self._devices.temperatures_c()
            flags = self._unlike(now_c)
            left_s = deadline - self._clock.now()
            hopeless = flags == [NOT_EQUALISED] and not self._can_cool(now_c)
            if not flags or hopeless or left_s <= 0 or self._clock.wait(over, min(self._poll_s, left_s)):
                if is_start:
                    self._remember(now_c)
                return flags

    def _unlike(self, now_c: Sequence[float | None]) -> list[str]:
        raised = {
            NOT_EQUALISED: not all(map(is_near, now_c, self._starts_c)),
            NOT_ALONE: bool(self._devices.processes()),
        }
        return [flag for flag, is_raised in raised.items() if is_raised]

    def _can_cool(self, now_c: Sequence[float | None]) -> bool:
        """Tell whether some device is too warm: one that is too cold gets no warmer by waiting."""
        return any(
            temp_c is not None and bool(starts) and temp_c > median(starts) + EQUAL_TEMPERATURE_C
            for temp_c, starts in zip(now_c, self._starts_c, strict=True)
        )

    def _remember(self, now_c: Sequence[float | None]) -> None:
        for starts, temp_c in zip(self._starts_c, now_c, strict=True):
            if temp_c is not None:
                starts.append(temp_c)


def is_near(temp_c: float | None, starts_c: Sequence[float]) -> bool:
    """Tell whether a temperature is within 3 °C of the median of earlier ones; unknown ones and first ones are."""
    if temp_c is None or not starts_c:
        return True
    return abs(temp_c - median(starts_c)) <= EQUAL_TEMPERATURE_C
