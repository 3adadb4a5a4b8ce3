"""Devices that exist in a script only: a whole fleet, with its noise and its faults, on a machine without accelerators.

The script is a JSON list of devices, named by `RATCHET_SIMULATED`:

    [{"class": "sim-a100", "hardware_id": "sim-0", "model": "Simulated A100",
      "noise_sd": 0.01, "drift": 0.0, "seed": 1,
      "faults": [{"kind": "slow", "factor": 1.1, "arm": "head"}, {"kind": "crash", "pair": 3}],
      "fingerprint": {"machine": {"driver": "1.2.3"}}, "telemetry": {"temp_c": 45.0},
      "ticks": [{"temp_c": 45.0}, {"temp_c": 60.0, "foreign_pids": [7]}, {"temp_c": 45.0}]}]

Only `class` and `hardware_id` are required. Times are drawn by the harness around each benchmark's nominal time, with a
standard deviation of `noise_sd` and a shift of `drift` per pair (both in ln units); a fault strikes the arm and the
pair that it names, or every one. `ticks` change the telemetry from one reading to the next; the last one stays.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workers.devices.base import Device, DeviceTimer, Host
from workers.errors import UsageError
from workers.host.fingerprint import Fingerprint, host_fingerprint, with_unavailable
from workers.protocol import Arm, Name
from workers.readings.record import READINGS, Facts, Tick, facts, tick


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Fault(_Part):
    """What goes wrong, and where; no `arm` or `pair` means everywhere."""

    kind: Literal["crash", "hang", "slow"]
    factor: float = Field(default=1.0, gt=0)
    arm: Arm | None = None
    pair: int | None = None


class FingerprintParts(_Part):
    """Values that replace or join those of the host."""

    machine: dict[str, Any] = Field(default_factory=dict)
    identity: dict[str, Any] = Field(default_factory=dict)
    soft: dict[str, Any] = Field(default_factory=dict)


class Script(_Part):
    """One simulated device."""

    device_class: Name = Field(alias="class")
    hardware_id: Name
    model: str = "simulated"
    noise_sd: float = Field(default=0.0, ge=0)
    drift: float = 0.0
    seed: int | None = None
    """Of the draws; without one it follows from the hardware id."""
    faults: list[Fault] = Field(default_factory=list)
    fingerprint: FingerprintParts = Field(default_factory=FingerprintParts)
    telemetry: dict[str, Any] = Field(default_factory=dict)
    ticks: list[dict[str, Any]] = Field(default_factory=list)
    """What readings after each other have in place of `telemetry`; the last one stays."""


VISIBLE = "SIMULATED_VISIBLE_DEVICES"
"""Names the devices that a measured process may use, as an accelerator's own variable does."""

SCRIPTS = TypeAdapter(list[Script])


class SimulatedDevice(Device):
    """A device that does what its script says."""

    kind = "simulated"

    def __init__(self, host: Host, script: Script) -> None:
        super().__init__(
            host, hardware_id=script.hardware_id, device_class=script.device_class, model=script.model
        )
        self._script = script
        self._readings = 0

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the devices of the host's script."""
        if host.script is None:
            raise UsageError("the kind simulated needs RATCHET_SIMULATED=FILE, a JSON list of devices")
        return [cls(host, script) for script in read_scripts(host.script)]

    def facts(self) -> Facts:
        """Return what the script says."""
        return facts(index=0, uuid=self.hardware_id, model=self.model)

    def fingerprint(self) -> Fingerprint:
        """Return the host's fingerprint with the script's values in it."""
        parts, scripted = host_fingerprint(), self._script.fingerprint
        parts["machine"] |= {
            "kind": self.kind,
            "device_model": self.model,
            "device_count": 1,
            **scripted.machine,
        }
        parts["identity"] |= {"uuid": self.hardware_id, **scripted.identity}
        parts["soft"] |= scripted.soft
        return with_unavailable(parts)

    def sync(self) -> None:
        """Return at once: nothing is ever queued."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: there is no clock but the host's."""
        return None

    def telemetry(self) -> Tick:
        """Return the script's readings, the next ones with each call."""
        self._readings += 1
        return tick(**{"t_ns": time.monotonic_ns(), **self._scripted()})

    def processes(self) -> list[int]:
        """Return the foreign processes of the last reading."""
        return list(self._scripted().get("foreign_pids") or [])

    def _scripted(self) -> dict[str, Any]:
        ticks = self._script.ticks or [{}]
        return {**self._script.telemetry, **ticks[min(max(self._readings, 1), len(ticks)) - 1]}

    def flush_cache(self) -> bool:
        """Return False: there is no cache whose size could be known."""
        return False

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the variable that names these devices by their hardware ids."""
        return {VISIBLE: ",".join(device.hardware_id for device in devices)}

    def simulation(self) -> dict[str, Any]:
        """Return what the harness needs to make up this device's times, but for arm and pair."""
        script = self._script
        digest = hashlib.sha256(script.hardware_id.encode()).digest()
        return {
            "noise_sd": script.noise_sd,
            "drift": script.drift,
            "seed": script.seed if script.seed is not None else int.from_bytes(digest[:4], "big"),
            "faults": [fault.model_dump(exclude_none=True) for fault in script.faults],
        }


def read_scripts(path: Path) -> list[Script]:
    """Return the devices that the script describes.

    Raises:
        UsageError: it cannot be read, or something in it is wrong: file, place, and what would be right.
    """
    try:
        scripts = SCRIPTS.validate_python(json.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"RATCHET_SIMULATED: {path} is no readable JSON: {error}") from error
    except ValidationError as error:
        raise UsageError(f"RATCHET_SIMULATED: {path}: {_sentences(error)}") from error
    _check(scripts, path)
    return scripts


def _check(scripts: list[Script], path: Path) -> None:
    ids = [script.hardware_id for script in scripts]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if not ids or twice is not None:
        problem = f"two devices have the hardware_id {twice!r}" if ids else "the list is empty"
        raise UsageError(f"RATCHET_SIMULATED: {path}: {problem}")
    readings = [part for script in scripts for part in (script.telemetry, *script.ticks)]
    unknown = {name for part in readings for name in part} - set(READINGS)
    if unknown:
        raise UsageError(
            f"RATCHET_SIMULATED: {path}: telemetry has no reading named {', '.join(sorted(unknown))}"
        )


def _sentences(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the script'}: {e['msg']}" for e in error.errors())
