"""What every kind of device offers to the agent.

A reading that a device cannot give is None with its name in `unavailable`, never 0. Whatever is asked of a device here
happens outside the measured process; inside it, the harness keeps the clock.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from workers.host.fingerprint import Fingerprint, host_fingerprint, machine_hash, with_unavailable
from workers.host.locks import LockFile, lock_path
from workers.protocol import Arm, DeviceReport
from workers.readings.record import DeviceRecord, Facts, Tick, tick

log = logging.getLogger(__name__)

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

KERNEL_FOLDERS = ("/sys/bus", "/sys/class", "/sys/devices", "/sys/module")
"""Where the libraries of accelerators read what the kernel tells of them."""

DeviceTimer = Callable[[Callable[[], object]], int]
"""Runs a function and returns how long the device worked on it [ns]."""


MACHINE_FACTS = (
    "architecture",
    "memory_b",
    "driver",
    "firmware",
    "runtime",
    "power_limit_default_w",
    "app_sm_clock_hz",
    "app_mem_clock_hz",
    "clock_policy",
    "ecc_mode",
    "partition_mode",
    "partitions",
    "power_mode",
    "instance_type",
)
"""Facts that belong to the hashed part of the fingerprint: a change in one begins an epoch of the device."""

SETTLING_S = 0.3

IDENTITY_FACTS = ("uuid", "serial", "pci_bus_id", "index")
"""Facts that say which device it is, and are not hashed."""


class Lack(NamedTuple):
    """Something that cannot be read here: what, why, and what to do about it."""

    what: str
    why: str
    how: str


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

    has_own_memory: ClassVar[bool] = True
    """Whether `mem_used_b` is of the device alone; where it is the host's, others may use it without harm."""

    feels_host: ClassVar[bool] = True
    """Whether the load of the host is to be read beside it; not where it tells of that itself, or cannot feel it."""

    tells_late: ClassVar[bool] = True
    """Whether one that has told nothing yet may still come to: its driver is slow, or it tells of rates."""

    driver_files: ClassVar[Sequence[str]] = ()
    """Patterns of the device files, and of the folders, through which programs in a sandbox reach such devices."""

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
        """Return the devices of this kind that this host has; none where their vendor's tools are missing."""

    @classmethod
    def absent(cls) -> Lack | None:
        """Return why devices of this kind that may be here were not found; None where nothing points to one."""
        return None

    @abstractmethod
    def facts(self) -> Facts:
        """Return every one of `FACTS`, and `unavailable`, read anew."""

    def lacks(self) -> list[Lack]:
        """Return what telemetry this device could give and does not here, and how to get it."""
        return []

    def reading(self) -> Tick:
        """Return what `telemetry` tells; nothing where reading fails, as a fault of a driver is no fault of a job."""
        try:
            return self.telemetry()
        except Exception as error:  # a vendor's library may raise anything
            log.warning("%s could not be read: %s: %s", self.hardware_id, type(error).__name__, error)
            return tick()

    def settled_record(self) -> DeviceRecord:
        """Return what is known of the device, once rates and slow tools have had time to tell; for people who wait."""
        known = self.facts()
        self.telemetry()
        time.sleep(SETTLING_S)
        return DeviceRecord(self.kind, self.device_class, known, (self.telemetry(),))

    def fingerprint(self) -> Fingerprint:
        """Return `machine`, `identity`, `soft` and `unavailable`, read anew."""
        parts, facts = host_fingerprint(), self.facts()
        machine = {name: facts[name] for name in MACHINE_FACTS}
        machine["power_limit_w"] = self.telemetry()["power_limit_w"]
        parts["machine"] |= {"kind": self.kind, "device_model": self.model, "device_count": 1, **machine}
        parts["identity"] |= {name: facts[name] for name in IDENTITY_FACTS}
        others = facts.keys() - {*MACHINE_FACTS, *IDENTITY_FACTS, "model", "unavailable"}
        parts["soft"] |= {name: facts[name] for name in sorted(others)}
        return with_unavailable(parts)

    def close(self) -> None:
        """Let go of what was opened to read the device: libraries, threads, vendors' tools."""
        return

    @abstractmethod
    def sync(self) -> None:
        """Return only when all queued device work is done."""

    @abstractmethod
    def device_timer(self) -> DeviceTimer | None:
        """Return a timer on the device's own clock, or None where only the host's time is known."""

    @abstractmethod
    def telemetry(self) -> Tick:
        """Return every one of `READINGS`, and `unavailable`, within 20 ms; rates are since the last call."""

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

    def begin(self, arm: Arm, pair: int) -> None:
        """Take note that an invocation of this arm and pair begins; it matters to devices that follow a script."""
        return

    def end(self) -> None:
        """Take note that the invocation has ended."""
        return

    def simulation(self) -> dict[str, Any] | None:
        """Return how the harness shall make its times up; None for a device that really measures."""
        return None

    def control_simulation(self, pair: int) -> dict[str, Any] | None:
        """Return how the control workload before a pair shall make its times up; None for a real device."""
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
