"""NVIDIA GPUs, and MIG instances of them, through NVML.

NVML is asked by one thread for each device, so that a driver that hangs costs readings and no lease. What a GPU does is
read from outside the measured process: nothing here uses CUDA, and the harness synchronises inside.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from workers.devices.base import KERNEL_FOLDERS, Device, DeviceTimer, Host, Lack
from workers.devices.bounded import Asker, LateError
from workers.devices.nvidia.facts import gpu_facts
from workers.devices.nvidia.gpu import Gpu, instances
from workers.devices.nvidia.lacks import KERNEL_LOG, gpu_lacks
from workers.devices.nvidia.nvml import Nvml, UnreadyError
from workers.devices.tools import ToolError, ask
from workers.host.fingerprint import Fingerprint, read_text, with_unavailable
from workers.readings.record import Facts, Tick, facts, tick

PROC = Path("/proc/driver/nvidia")
DEV = Path("/dev")
PCI = Path("/sys/bus/pci/devices")
TEGRA = Path("/etc/nv_tegra_release")
"""Is there on a Jetson, whose GPU is a device of the kind jetson."""

TICK_S = 0.015
"""A tick that takes longer is given with the next call."""

OLDEST_S = 1.0
"""A tick that came too late for its call is thrown away after this."""

PATIENCE_S = 10.0
START_S = 30.0
"""A GPU that nobody uses may take seconds to wake up, and several at once longer."""

HANGS_S = 2.0

T = TypeVar("T")


class Found(NamedTuple):
    """The GPUs of this host that can be measured on, and why others cannot."""

    gpus: list[Gpu]
    troubles: list[str]


class Read(NamedTuple):
    """A tick, and how long it took to read [s]."""

    tick: Tick
    took_s: float

    @property
    def age_s(self) -> float:
        """How long ago its reading began [s]."""
        return (time.monotonic_ns() - int(self.tick["t_ns"])) / 1e9


class NvidiaDevice(Device):
    """One GPU; where it is divided by MIG, one of its instances."""

    kind = "nvidia"
    driver_files = ("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dxg", *KERNEL_FOLDERS)
    address = "cuda"

    def __init__(self, host: Host, gpu: Gpu) -> None:
        self._parent = gpu.parent_uuid
        super().__init__(host, hardware_id=gpu.uuid, device_class=gpu.device_class, model=gpu.model)
        self._gpu = gpu
        self._asker = Asker(f"nvml {gpu.uuid}")
        self._late: Future[Read] | None = None
        self._took_s = 0.0

    @property
    def lock_id(self) -> str:
        """The GPU's name, also of its MIG instances: they share its power and its clocks."""
        return self._parent

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the GPUs, and the instances of those that MIG divides; none where NVML does not work."""
        try:
            return [cls(host, gpu) for gpu in find().gpus]
        except UnreadyError:
            return []

    @classmethod
    def absent(cls) -> Lack | None:
        """Return why a GPU that seems to be here was not found, and how it would be."""
        signs = signs_of_a_gpu()
        if not signs:
            return None
        what = f"NVIDIA GPU ({', '.join(signs)})"
        try:
            found = find()
        except UnreadyError as error:
            lack = error.lack
            return Lack(what, lack.why + (", and nvidia-smi answers" if smi_answers() else ""), lack.how)
        for gpu in found.gpus:
            Asker("nvml end").close(gpu.close)
        if found.gpus and not found.troubles:
            return None
        why = "; ".join(found.troubles) or "NVML lists no GPU"
        return Lack(what, why, "see nvidia-smi -L and the kernel's log (dmesg)")

    def facts(self) -> Facts:
        """Return what NVML tells of the GPU; little more than its name where it does not answer."""
        known = self._patiently(lambda: gpu_facts(self._gpu))
        return known or facts(uuid=self.hardware_id, model=self.model, pci_bus_id=self._gpu.pci_bus_id)

    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint; the power limit is waited for longer than a tick, as it belongs to the hash.

        A MIG instance's tells its GPU and its number there, under which DCGM knows it.
        """
        parts = super().fingerprint()
        parts["machine"]["power_limit_w"] = self._patiently(self._gpu.power_limit_w)
        if self._gpu.instance is not None:
            its_place = {
                "gpu_uuid": self._parent or None,
                "gpu_instance": self._patiently(self._gpu.instance_id),
            }
            parts["identity"] |= its_place
        return with_unavailable(parts)

    def telemetry(self) -> Tick:
        """Return the readings of this moment; where NVML is slow, those that the last call began to read.

        They are None where there are none in time. `t_ns` says when they were read.
        """
        asked = self._take_late() or self._asker.begin(self._read)
        try:
            found = asked.result(TICK_S)
        except TimeoutError:
            self._late = asked
            return tick(t_ns=time.monotonic_ns())
        self._took_s = found.took_s
        if found.took_s > TICK_S:
            self._late = self._asker.begin(self._read)
        return found.tick

    def _read(self) -> Read:
        began_s = time.monotonic()
        return Read(self._gpu.tick(), time.monotonic() - began_s)

    def _take_late(self) -> Future[Read] | None:
        """Return what came too late for its call, or is still to come; None where that is of no more use."""
        late, self._late = self._late, None
        return None if late is None or (late.done() and late.result().age_s > OLDEST_S) else late

    def _patiently(self, question: Callable[[], T]) -> T | None:
        try:
            return self._asker.ask(question, PATIENCE_S if self._asker.busy_s < HANGS_S else 0.0)
        except LateError:
            return None

    def processes(self) -> list[int]:
        """Return the processes on the GPU or instance that are not this agent's, as far as they are known."""
        return self._patiently(self._gpu.foreign_pids) or []

    def lacks(self) -> list[Lack]:
        """Return what is refused, and whether NVML answers, and fast enough."""
        found = self._patiently(lambda: gpu_lacks(self._gpu))
        if found is None:
            return [_silent(self._asker.busy_since)]
        return [*found, _slow(self._took_s)] if self._took_s > TICK_S else found

    def sync(self) -> None:
        """Return at once: from outside of the measured process a GPU cannot be waited for; the harness does."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: a GPU's clock can be read by a process with a CUDA context only."""
        return None

    def flush_cache(self) -> bool:
        """Return False: another process's cache on the GPU can only be overwritten with CUDA."""
        return False

    @classmethod
    def addresses(cls, devices: Sequence[Device]) -> list[str]:
        """Return `cuda:0`, `cuda:1`, …: CUDA counts the devices that it is shown from 0."""
        return [f"{cls.address}:{place}" for place in range(len(devices))]

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return CUDA's own variables; its order follows the list of names."""
        return {
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": ",".join(device.hardware_id for device in devices),
        }

    def close(self) -> None:
        """Give NVML back, where it still answers."""
        self._asker.close(self._gpu.close)


def _silent(since: datetime) -> Lack:
    return Lack(
        "every reading",
        f"NVML has not answered since {since.isoformat(timespec='seconds')}",
        f"{KERNEL_LOG}; reset the GPU or reboot",
    )


def _slow(took_s: float) -> Lack:
    return Lack(
        "readings of the moment",
        f"NVML took {took_s * 1e3:.0f} ms for the last ones, so each comes with the next look",
        "turn persistence mode on (nvidia-smi -pm 1)",
    )


def find() -> Found:
    """Return the GPUs of this host; each has to be closed.

    Raises:
        UnreadyError: NVML cannot be used here, or does not answer.
    """
    asker = Asker("nvml start")
    try:
        return asker.ask(_find, START_S)
    except LateError as error:
        raise UnreadyError(f"NVML did not answer within {START_S:g} s", KERNEL_LOG) from error
    finally:
        asker.close()


def _find() -> Found:
    found = Found([], [])
    nvml = Nvml.open()
    try:
        for index in range(nvml.ask("count", ("nvmlDeviceGetCount",)) or 0):
            _look_at(nvml, index, found)
    finally:
        nvml.close()
    return found


def _look_at(nvml: Nvml, index: int, found: Found) -> None:
    gpu = nvml.ask("handle", ("nvmlDeviceGetHandleByIndex", index))
    if gpu is None:
        found.troubles.append(f"NVML answers {nvml.refusals['handle'].error} to GPU {index}")
        return
    if "nvgpu" in str(nvml.ask("model", ("nvmlDeviceGetName", gpu))):
        return  # of a Jetson
    mig = nvml.ask("partition_mode", ("nvmlDeviceGetMigMode", gpu))
    if not mig or not mig[0]:
        _take(Gpu(Nvml.open(), gpu), index, found)
        return
    parts = instances(nvml, gpu)
    for part in parts:
        _take(Gpu(Nvml.open(), gpu, part), index, found)
    if not parts:
        found.troubles.append(f"GPU {index} is divided by MIG and has no instance that this agent may use")


def _take(gpu: Gpu, index: int, found: Found) -> None:
    """Add a GPU or an instance of one, if it has a name to be known by."""
    if gpu.uuid:
        found.gpus.append(gpu)
    else:
        found.troubles.append(f"GPU {index} does not tell its uuid")
        gpu.close()


def signs_of_a_gpu() -> list[str]:
    """Return what points to an NVIDIA GPU of this host without NVML; nothing on a Jetson."""
    if TEGRA.exists():
        return []
    signs = [str(path) for path in (PROC, DEV / "nvidia0") if path.exists()]
    return signs + [f"PCI device {device.name}" for device in sorted(PCI.glob("*")) if is_gpu(device)]


def is_gpu(device: Path) -> bool:
    """Tell whether a PCI device is NVIDIA's (0x10de) and a display controller (class 0x03xxxx)."""
    vendor, kind = read_text(device / "vendor"), read_text(device / "class")
    return vendor == "0x10de" and (kind or "").startswith("0x03")


def smi_answers() -> bool:
    """Tell whether the vendor's command finds a GPU."""
    with contextlib.suppress(ToolError):
        return "GPU " in ask(["nvidia-smi", "-L"], timeout_s=5.0)
    return False
