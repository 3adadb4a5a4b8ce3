"""AMD GPUs, and the parts of divided ones, through the files of the amdgpu driver.

The files are read by one thread for each device, so that a driver that hangs costs readings and no lease. What they do
not tell, AMD's library or tools may. Nothing here uses HIP: the harness synchronises inside the measured process.

A measured process is shown its GPUs with `ROCR_VISIBLE_DEVICES`, which hides the others from the whole of ROCm. HIP
counts what is left anew, so `HIP_VISIBLE_DEVICES` has the numbers from 0 on; it would be inherited otherwise, as would
`CUDA_VISIBLE_DEVICES`, which HIP heeds where its own variable is not set.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import ClassVar, NamedTuple, Self, TypeVar

from workers.devices.amd.kfd import chosen, foreign_pids, may_use, nodes, runtime_names
from workers.devices.amd.lacks import KERNEL_LOG, absence, driver, gpu_lacks
from workers.devices.amd.sysfs import Gpu
from workers.devices.amd.tools import Tools
from workers.devices.base import KERNEL_FOLDERS, Device, DeviceTimer, Host, Lack
from workers.devices.bounded import Asker, LateError
from workers.devices.cpu import host_id
from workers.devices.shared import await_answer
from workers.host.fingerprint import Fingerprint, with_unavailable
from workers.readings.amd.products import KIND
from workers.readings.record import DeviceRecord, Facts, Tick, facts, tick

VISIBLE = "ROCR_VISIBLE_DEVICES"

TICK_S = 0.015
"""A tick that takes longer is given with the next call."""

OLDEST_S = 1.0
"""A tick that came too late for its call is thrown away after this."""

PATIENCE_S = 10.0
START_S = 30.0
"""A GPU that sleeps may take a second to wake up, and several longer."""

HANGS_S = 2.0
"""A driver that has not answered for this long is waited for no longer."""

TOLD_S = 5.0
"""How long `settled_record` waits for AMD's tools, where they are needed."""

T = TypeVar("T")


class Found(NamedTuple):
    """A GPU that can be measured on: its files, its names, and what ROCm's runtime calls it.

    `part` is the number of a part among those of its GPU, None for a whole one; `needs_tools` says that the firmware
    tells something in a form that is not known.
    """

    gpu: Gpu
    model: str
    device_class: str
    runtime_name: str
    part: int | None
    needs_tools: bool


class AmdDevice(Device):
    """One GPU; where it is divided, one of its parts."""

    kind = KIND
    driver_files = ("/dev/kfd", "/dev/dri/renderD*", "/opt/rocm*", *KERNEL_FOLDERS)
    address = "cuda"
    """As ROCm's PyTorch names it."""

    root: ClassVar[Path] = Path("/")
    """Where the file system begins; tests have their own."""

    def __init__(self, host: Host, found: Found, tools: Tools | None) -> None:
        self._gpu = found.gpu
        super().__init__(
            host,
            hardware_id=_hardware_id(host, found),
            device_class=found.device_class,
            model=found.model,
        )
        self.runtime_name = found.runtime_name
        self._asker = Asker(f"amdgpu {found.gpu.node.address}")
        self._late: Future[Tick] | None = None
        self._tools = tools if found.needs_tools else None
        if self._tools is not None:
            self._tools.shared.join(self)

    @property
    def lock_id(self) -> str:
        """The GPU's place on the bus, also of its parts: they share its power and its clocks."""
        return f"amd:{self._gpu.node.address}"

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the GPUs, and the parts of those that are divided, that this user's programs can use."""
        asker = Asker("amdgpu start")
        try:
            found = asker.ask(lambda: find(cls.root), START_S)
        except LateError:
            return []
        finally:
            asker.close()
        tools = Tools() if any(one.needs_tools for one in found) else None
        return [cls(host, one, tools) for one in found]

    @classmethod
    def absent(cls) -> Lack | None:
        """Return why a GPU that the PCI bus shows was not found, and how it would be."""
        asker = Asker("amdgpu absent")
        try:
            return asker.ask(lambda: absence(cls.root), START_S)
        except LateError:
            return Lack("AMD GPU", f"the driver did not answer within {START_S:g} s", KERNEL_LOG)
        finally:
            asker.close()

    def facts(self) -> Facts:
        """Return what the driver tells of the GPU; little more than its name where it does not answer."""
        known = self._patiently(self._gpu.facts)
        return known or facts(
            index=self._gpu.node.number, model=self.model, pci_bus_id=self._gpu.node.address
        )

    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint; the power limit is waited for longer than a tick, as it belongs to the hash."""
        parts = super().fingerprint()
        parts["machine"]["power_limit_w"] = self._patiently(self._gpu.power_limit_w)
        return with_unavailable(parts)

    def telemetry(self) -> Tick:
        """Return the readings of this moment; where the driver is slow, those that the last call began to read.

        They are None where there are none in time. `t_ns` says when they were read.
        """
        asked = self._take_late() or self._asker.begin(self._gpu.tick)
        try:
            return self._completed(asked.result(TICK_S))
        except TimeoutError:
            self._late = asked
            return tick(t_ns=time.monotonic_ns())

    def _take_late(self) -> Future[Tick] | None:
        """Return what came too late for its call, or is still to come; None where that is of no more use."""
        late, self._late = self._late, None
        is_old = late is not None and late.done() and _age_s(late.result()) > OLDEST_S
        return None if is_old else late

    def _completed(self, found: Tick) -> Tick:
        """Return a tick with what AMD's tools tell besides; energy of a while ago only where there is no power."""
        if self._tools is None:
            return found
        told = dict(self._tools.latest(self._gpu.node.address))
        if self._gpu.is_part or found["power_w"] is not None:
            told.pop("energy_j_total", None)
        known = {name: value for name, value in found.items() if name != "unavailable" and value is not None}
        return tick(**{**told, **known})

    def _patiently(self, question: Callable[[], T]) -> T | None:
        try:
            return self._asker.ask(question, PATIENCE_S if self._asker.busy_s < HANGS_S else 0.0)
        except LateError:
            return None

    def settled_record(self) -> DeviceRecord:
        """Return what is known of the device, once AMD's tools have answered or had their time."""
        if self._tools is not None:
            await_answer(self._tools.answers, TOLD_S)
        return super().settled_record()

    def processes(self) -> list[int]:
        """Return the processes on the GPU or part that are not this agent's, as far as they are known."""
        return self._patiently(lambda: foreign_pids(self.root, self._gpu.node.gpu_id)) or []

    def lacks(self) -> list[Lack]:
        """Return what the GPU does not tell here, and whether the driver answers at all."""
        tools = self._tools
        is_told = tools is None or bool(tools.latest(self._gpu.node.address))
        trouble = None if tools is None or is_told else tools.answers.trouble
        found = self._patiently(lambda: gpu_lacks(self.root, self._gpu, trouble))
        if found is not None:
            return found
        since = self._asker.busy_since.isoformat(timespec="seconds")
        return [Lack("every reading", f"the driver has not answered since {since}", KERNEL_LOG)]

    def sync(self) -> None:
        """Return at once: from outside of the measured process a GPU cannot be waited for; the harness does."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: a GPU's clock can be read by a process that uses HIP only."""
        return None

    def flush_cache(self) -> bool:
        """Return False: another process's cache on the GPU can only be overwritten with HIP."""
        return False

    @classmethod
    def addresses(cls, devices: Sequence[Device]) -> list[str]:
        """Return `cuda:0`, `cuda:1`, …: HIP counts the devices that it is shown from 0."""
        return [f"{cls.address}:{place}" for place in range(len(devices))]

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the variables of ROCm's runtime and of HIP; their order is that of the devices."""
        names = [device.runtime_name for device in devices if isinstance(device, AmdDevice)]
        return {VISIBLE: ",".join(names), "HIP_VISIBLE_DEVICES": ",".join(map(str, range(len(names))))}

    def close(self) -> None:
        """End the thread, and AMD's tools if this is the last device that uses them."""
        self._asker.close()
        if self._tools is not None:
            self._tools.shared.leave(self)


def _age_s(found: Tick) -> float:
    return float(time.monotonic_ns() - found["t_ns"]) / 1e9


def _hardware_id(host: Host, found: Found) -> str:
    """Return the runtime's name of a GPU where it is its own, else its place in this host, and the part's number."""
    if found.runtime_name.startswith("GPU-"):
        return found.runtime_name
    name = found.gpu.uuid or f"amd:{host_id(host.state_dir)}:{found.gpu.node.address}"
    return name if found.part is None else f"{name}/{found.part}"


def find(root: Path) -> list[Found]:
    """Return the GPUs and parts of GPUs that this user's programs can use, in the runtime's order."""
    every = nodes(root)
    names, counts = runtime_names(every), Counter(node.address for node in every)
    seen: Counter[str] = Counter()
    found = []
    left = chosen(every, os.environ.get(VISIBLE))
    for node in every:
        is_part = counts[node.address] > 1
        part = seen[node.address] if is_part else None
        seen[node.address] += 1
        if node in left and driver(root, node.address) == "amdgpu" and may_use(root, node):
            gpu = Gpu(root, node, is_part=is_part)
            name = names[node.number]
            found.append(Found(gpu, gpu.model, gpu.device_class, name, part, gpu.needs_tools()))
    return found
