"""Devices that exist in a script only: a whole fleet, with its noise and its faults, on a machine without accelerators.

The script and everything that it can say: `simulated_script`. Times are drawn in the measured process, by the harness;
what is read of the device meanwhile is made here, from the same faults.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from workers.devices.base import Device, DeviceTimer, Host
from workers.devices.simulated.script import COUNTERS, Fault, Script, read_scripts
from workers.errors import UsageError
from workers.host.fingerprint import Fingerprint, with_unavailable
from workers.protocol import Arm
from workers.readings.record import Facts, Tick, facts, throttle_reasons, tick

VISIBLE = "SIMULATED_VISIBLE_DEVICES"
"""Names the devices that a measured process may use, as an accelerator's own variable does."""

POWER_CAP = 0x4


class SimulatedDevice(Device):
    """A device that does what its script says."""

    kind = "simulated"
    feels_host = False
    tells_late = False

    def __init__(self, host: Host, script: Script) -> None:
        super().__init__(
            host, hardware_id=script.hardware_id, device_class=script.device_class, model=script.model
        )
        self._script = script
        self._readings = 0
        self._ended = 0
        self._struck: tuple[Fault, ...] = ()
        """The faults of the invocation that goes on; none between invocations."""
        self._is_busy = False
        self._reads_of_invocation = 0
        self._counted: Counter[str] = Counter()
        """What earlier faults added to the counters."""
        self._frozen: Tick | None = None

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the devices of the host's script."""
        if host.script is None:
            raise UsageError("the kind simulated needs RATCHET_SIMULATED=FILE, a JSON list of devices")
        return [cls(host, script) for script in read_scripts(host.script)]

    def facts(self) -> Facts:
        """Return what the script says."""
        return facts(**{"index": 0, "uuid": self.hardware_id, "model": self.model, **self._script.facts})

    def fingerprint(self) -> Fingerprint:
        """Return the host's fingerprint with the script's values in it."""
        parts, scripted = super().fingerprint(), self._script.fingerprint
        parts["machine"] |= scripted.machine
        parts["identity"] |= scripted.identity
        parts["soft"] |= scripted.soft
        return with_unavailable(parts)

    def sync(self) -> None:
        """Return at once: nothing is ever queued."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: there is no clock but the host's."""
        return None

    def begin(self, arm: Arm, pair: int) -> None:
        """Remember which faults strike this invocation."""
        self._struck = tuple(fault for fault in self._script.faults if fault.strikes(self._seed, arm, pair))
        self._is_busy, self._reads_of_invocation = True, 0

    def end(self) -> None:
        """Keep what the invocation's faults counted."""
        self._ended += 1
        self._counted.update(self._rises())
        self._struck, self._is_busy, self._frozen = (), False, None

    def telemetry(self) -> Tick:
        """Return the script's readings, the next ones with each call."""
        self._readings += 1
        self._reads_of_invocation += 1
        if any(fault.kind == "stall" for fault in self._struck):
            self._frozen = self._frozen or tick()
            return self._frozen
        known = {"t_ns": time.monotonic_ns(), **self._power(), **self._scripted()}
        known.setdefault("throttle_reasons", throttle_reasons(known.get("throttle_mask")))
        return tick(**known)

    def processes(self) -> list[int]:
        """Return the foreign processes of the last reading."""
        return list(self._scripted().get("foreign_pids") or [])

    def _scripted(self) -> dict[str, Any]:
        between, ticks = self._script.between or [{}], self._script.ticks or [{}]
        readings = {
            **self._script.telemetry,
            **between[min(self._ended, len(between) - 1)],
            **ticks[min(max(self._readings, 1), len(ticks)) - 1],
        }
        for fault in self._struck:
            readings |= {name: value for name, value in fault.telemetry.items() if name not in COUNTERS}
        for name, rise in (self._counted + self._rises()).items():
            readings[name] = (readings.get(name) or 0) + rise
        return readings

    def _rises(self) -> Counter[str]:
        """Return what this invocation's faults have added to the counters: nothing yet at its first reading."""
        rises: Counter[str] = Counter()
        if self._reads_of_invocation < 2:
            return rises
        for fault in self._struck:
            rises.update({name: value for name, value in fault.telemetry.items() if name in COUNTERS})
        return rises

    def _power(self) -> dict[str, Any]:
        """Return the readings of power, and that it is capped where it is."""
        power = self._script.power
        if power is None:
            return {}
        wanted_w = self._wanted_w()
        is_capped = power.limit_w is not None and wanted_w > power.limit_w
        return {
            "power_w": min(wanted_w, power.limit_w or wanted_w),
            "power_limit_w": power.limit_w,
            "throttle_mask": POWER_CAP if is_capped else 0,
        }

    def _wanted_w(self) -> float:
        """Return what the device would draw without a limit [W]."""
        power = self._script.power
        assert power is not None
        wanted_w = power.busy_w if self._is_busy else power.idle_w
        for fault in self._struck:
            wanted_w *= fault.factor if fault.kind == "power" else 1.0
        return wanted_w

    def flush_cache(self) -> bool:
        """Return False: there is no cache whose size could be known."""
        return False

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the variable that names these devices by their hardware ids."""
        return {VISIBLE: ",".join(device.hardware_id for device in devices)}

    @property
    def _seed(self) -> int:
        if self._script.seed is not None:
            return self._script.seed
        return int.from_bytes(hashlib.sha256(self._script.hardware_id.encode()).digest()[:4], "big")

    def simulation(self) -> dict[str, Any]:
        """Return what the harness needs to make up this device's times in the invocation that has begun."""
        faults = [
            {"kind": fault.kind, "factor": fault.factor}
            for fault in self._struck
            if fault.kind in ("crash", "hang", "slow")
        ]
        power = self._script.power
        if power is not None and power.limit_w is not None and self._wanted_w() > power.limit_w:
            faults.append({"kind": "slow", "factor": self._wanted_w() / power.limit_w})
        return {
            "noise_sd": self._script.noise_sd,
            "drift": self._script.drift,
            "seed": self._seed,
            "faults": faults,
        }

    def control_simulation(self, pair: int) -> dict[str, Any]:
        """Return what the control workload before a pair needs to make up its times."""
        factor = 1.0
        for fault in self._script.faults:
            factor *= fault.control if fault.strikes(self._seed, None, pair) else 1.0
        return {**self.simulation(), "faults": [], "control_factor": factor}
