"""What every kind of device offers to the agent.

A reading that a device cannot give is None with its name in `unavailable`, never 0. Whatever is asked of a device here
happens outside the measured process; inside it, the harness keeps the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from workers.host.fingerprint import Fingerprint, machine_hash
from workers.host.locks import LockFile, lock_path
from workers.protocol import DeviceReport

TICK_FIELDS = (
    "t_ns",
    "util",
    "sm_clock_hz",
    "mem_clock_hz",
    "power_w",
    "energy_j_total",
    "temp_c",
    "mem_temp_c",
    "mem_used_b",
    "throttle_mask",
    "throttle_ns",
    "ecc_corrected",
    "ecc_uncorrected",
    "remapped_rows",
    "xid_count",
    "pcie_gen",
    "pcie_width",
    "foreign_pids",
    "host_cpu_foreign",
    "host_steal",
    "swap_in_b",
    "power_limit_w",
    "mode",
)
"""The readings of one moment that a device may give."""

CACHE_VARIABLES = (
    "CUDA_CACHE_PATH",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "JAX_COMPILATION_CACHE_DIR",
    "MIOPEN_USER_DB_PATH",
    "MIOPEN_CUSTOM_CACHE_DIR",
    "NEURON_COMPILE_CACHE_URL",
    "PYTHONPYCACHEPREFIX",
)
"""Where compilers look for the folder that they keep their results in."""

Tick = dict[str, Any]
DeviceTimer = Callable[[Callable[[], object]], int]
"""Runs a function and returns how long the device worked on it [ns]."""


@dataclass(frozen=True)
class Host:
    """What a device kind may need to find its devices.

    `state_dir` survives restarts; `lock_dir` is shared by all agents of the host; `script` describes simulated devices.
    """

    state_dir: Path
    lock_dir: Path
    script: Path | None = None


class Device(ABC):
    """One accelerator, or the host's processor, to measure on."""

    kind: ClassVar[str]
    address: ClassVar[str] = "cpu"
    """What measured code is told to run on, as frameworks name it."""

    def __init__(self, host: Host, *, hardware_id: str, device_class: str, model: str) -> None:
        self.hardware_id = hardware_id
        self.device_class = device_class
        self.model = model
        self._lock = self._lock_file(host, "measuring", "is being measured on by another agent of this host")
        self.agent_lock = self._lock_file(
            host, "agent", "belongs to another agent of this host; stop that one first"
        )
        """Held for the life of the agent that has the device."""

    def _lock_file(self, host: Host, purpose: str, busy: str) -> LockFile:
        return LockFile(
            lock_path(host.lock_dir, self.lock_id, purpose),
            f"the device {self.hardware_id} ({self.device_class}) {busy}",
        )

    @property
    def lock_id(self) -> str:
        """What the device's locks on this host are named after; slices of a device name their parent."""
        return self.hardware_id

    @classmethod
    @abstractmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the devices of this kind that this host has."""

    @abstractmethod
    def fingerprint(self) -> Fingerprint:
        """Return `machine`, `identity`, `soft` and `unavailable`, read anew."""

    @abstractmethod
    def sync(self) -> None:
        """Return only when all queued device work is done."""

    @abstractmethod
    def device_timer(self) -> DeviceTimer | None:
        """Return a timer on the device's own clock, or None where only the host's time is known."""

    @abstractmethod
    def telemetry(self) -> Tick:
        """Return every one of `TICK_FIELDS`, and `unavailable`, within 20 ms; rates are since the last call."""

    @abstractmethod
    def processes(self) -> list[int]:
        """Return the ids of other processes on the device."""

    @abstractmethod
    def flush_cache(self) -> bool:
        """Overwrite the device's last-level cache; False where its size is unknown."""

    @classmethod
    def addresses(cls, devices: Sequence[Device]) -> list[str]:
        """Return what measured code that sees `devices` of this kind, in this order, is told to run on."""
        return [device.address for device in devices]

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the environment that shows a measured process `devices` of this kind and no others of the host.

        Empty for a kind that is no accelerator; the others have a variable of their maker's.
        """
        return {}

    def simulation(self) -> dict[str, Any] | None:
        """Return how the harness shall make its times up; None for a device that really measures."""
        return None

    def lock(self) -> int:
        """Take the device for one run and return the lock's descriptor, for the measured process to inherit.

        Raises:
            InUseError: another agent of this host is measuring on it.
        """
        self._lock.acquire()
        return self._lock.fd

    def unlock(self) -> None:
        """Give the device back."""
        self._lock.release()

    def cache_env(self, folder: Path) -> dict[str, str]:
        """Return the environment that points every compile cache into `folder`."""
        return {name: str(folder / name.lower()) for name in CACHE_VARIABLES}

    def report(self) -> DeviceReport:
        """Return the device as it introduces itself to the service."""
        fingerprint = self.fingerprint()
        return DeviceReport(
            hardware_id=self.hardware_id,
            kind=self.kind,
            device_class=self.device_class,
            model=self.model,
            fingerprint=fingerprint,
            machine_hash=machine_hash(fingerprint),
        )


def tick(**readings: object) -> Tick:
    """Return a complete tick: what is not among `readings`, or is None there, is listed as unavailable."""
    unknown = set(readings) - set(TICK_FIELDS)
    assert not unknown, f"no such reading: {unknown}"
    known = {name: readings.get(name) for name in TICK_FIELDS}
    return {**known, "unavailable": [name for name, value in known.items() if value is None]}
