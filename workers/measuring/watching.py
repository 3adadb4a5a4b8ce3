"""What a run's devices did while each invocation ran, and what follows for the pair.

    readings beside the process → summary, energy of each case, gates → hard: void · soft: ask the control workload

The words of a gate go to people as they are; the timings of the measured code are never looked at here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from workers.devices.base import Device
from workers.devices.group import DeviceGroup
from workers.measuring.energy import energy_j, mean_power_w
from workers.measuring.gates import Gates, Raised
from workers.measuring.sampling import HostReadings, Sampler, packed
from workers.measuring.telemetry_summary import summarise
from workers.protocol import Arm, CaseMeasurement, ControlResult
from workers.readings.record import Tick

HOST_READINGS = ("host_cpu_foreign", "host_steal", "swap_in_b")
REST_S, LONGEST_REST_S = 0.1, 2.0
"""How long rates take to be told, and how long a device that tells nothing is waited for [s]."""

MAX_CONTROL_DEVIATION = 0.015
"""A control probe further off its run's median says that it was the machine."""

BUSY_PROCESSOR = "host_cpu"


def is_off(control_deviation: float | None) -> TypeGuard[float]:
    """Tell whether the control beside a pair says that it was the machine; not where it could not tell."""
    return control_deviation is not None and abs(control_deviation) > MAX_CONTROL_DEVIATION


@dataclass(frozen=True)
class Watched:
    """What was seen beside one invocation; `changed_mode` says how a device's mode changed, if it did."""

    ticks: list[list[Tick]]
    raised: list[Raised]
    changed_mode: str | None = None

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """The summary of each device's readings."""
        return [summarise(of_device) for of_device in self.ticks]

    @property
    def packed(self) -> str:
        """The readings as they are sent."""
        return packed(self.ticks)

    @property
    def gates(self) -> list[str]:
        """Codes of the gates that were raised, each once."""
        return list(dict.fromkeys(found.gate for found in self.raised))

    @property
    def needs_control(self) -> bool:
        """Whether only the control workload can tell if the device was held back by the machine or by the code."""
        return any(not found.is_hard for found in self.raised)

    def void_reason(self, control_deviation: float | None) -> str | None:
        """Return why the pair is void; None where it counts.

        A busy processor is told last: it spoils only some values, and anything else all of them.

        Args:
            control_deviation: how far the control beside the pair was off its usual time, as a share; None where
                it was not asked, or could not tell.
        """
        hard = [found for found in self.raised if found.is_hard]
        soft = next((found.reason for found in self.raised if not found.is_hard), None)
        worst = next((found.reason for found in hard if found.gate != BUSY_PROCESSOR), None)
        if worst is None and soft is not None and is_off(control_deviation):
            worst = f"{soft}; the control workload beside it was {control_deviation:+.1%} off"
        return worst or next((found.reason for found in hard), None)

    def with_energy(self, cases: Sequence[CaseMeasurement]) -> list[CaseMeasurement]:
        """Return the cases with the energy that their timed part took, where the devices tell."""
        return [case.model_copy(update={"energy_j": self._energy_j(case)}) for case in cases]

    def _energy_j(self, case: CaseMeasurement) -> float | None:
        if case.clock == "simulated":
            power_w = mean_power_w(self.ticks)
            return None if power_w is None else power_w * case.batches.total_s
        return None if case.window_ns is None else energy_j(self.ticks, case.window_ns)


def _at_rest(device: Device) -> Tick:
    """Return a reading of a device before anything runs, once it tells something: rates and slow drivers take time."""
    device.reading()
    deadline = time.monotonic() + (LONGEST_REST_S if device.tells_late else 0.0)
    while True:
        time.sleep(REST_S)
        told = device.reading()
        if any(value is not None for name, value in told.items() if name not in ("t_ns", "unavailable")):
            return told
        if time.monotonic() >= deadline:
            return told


class Watch:
    """Watches the devices of one run."""

    def __init__(
        self, devices: DeviceGroup, host: HostReadings, *, foreign_cpu: float | None, steal: float | None
    ) -> None:
        """Take what is usual from a reading now, before anything runs.

        `foreign_cpu` is how many processors other programs may keep busy, `steal` the share of the processors' time
        that the hypervisor may take; None for the usual limit.
        """
        self._devices = devices
        self._host = host
        self._sampler = Sampler(devices.devices, host)
        host.look()
        self.idle = [_at_rest(device) for device in devices.devices]
        names = [device.hardware_id for device in devices.devices]
        self._gates = Gates(
            names,
            self.idle,
            threads=os.cpu_count() or 1,
            foreign_cpu=foreign_cpu,
            steal=steal,
            has_own_memory=devices.devices[0].has_own_memory,
        )

    def beside(self, run: Callable[[], ControlResult]) -> ControlResult:
        """Run the control workload, and say in its result what else was on the machine meanwhile."""
        pids, first = self._devices.processes(), self._of_host()
        result = run()
        pids = pids or self._devices.processes()
        found = f"foreign_process: process {pids[0]} on the device" if pids else None
        found = found or self._gates.disturbance([first, self._of_host()])
        return result.model_copy(update={"disturbed": found or ""})

    def _of_host(self) -> Tick:
        """Return what is told of the host: by the device itself where it feels the host as its own."""
        of_device = self._devices.devices[0].reading()
        looked = {**{name: of_device[name] for name in HOST_READINGS}, **self._host.look()}
        told = {name: value for name, value in looked.items() if value is not None}
        return {"t_ns": time.monotonic_ns(), **told}

    def begin(self, arm: Arm, pair: int) -> None:
        """An invocation is about to start."""
        self._devices.begin(arm, pair)
        self._sampler.start()

    def end(self, arm: Arm) -> Watched:
        """Return what was seen of the devices since `begin`."""
        ticks = self._sampler.stop()
        self._devices.end()
        return Watched(ticks, self._gates.judge(arm, ticks), self._gates.changed_mode(ticks))
