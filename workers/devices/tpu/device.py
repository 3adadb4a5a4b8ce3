"""Google's TPU chips, each a device of its own.

Chips are found by their number on the PCI bus and have device files: `/dev/accelN` up to v4, `/dev/vfio/N` after that,
N being the chip's IOMMU group. Where a container hides the bus, the files and what Google sets in the environment of a
TPU VM (`TPU_ACCELERATOR_TYPE`) have to do. Nothing is asked over the network.

What chips do is only known while a program uses them, and from the runtime in that program: through libtpu's
monitoring where the agent's environment has libtpu, else through the command `tpu-info`. The memory's size comes and
goes with it, so it is no fact of this kind.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from workers.devices import pci
from workers.devices.base import KERNEL_FOLDERS, Device, DeviceTimer, Host, Lack
from workers.devices.cpu import host_id
from workers.devices.shared import HIDDEN, Holders, Shared, await_answer, sees_others
from workers.devices.tools import Poller, Stream, ToolError, ask
from workers.devices.tpu import probe as tpu_probe
from workers.host.fingerprint import read_text
from workers.readings.quantities import quantity, whole
from workers.readings.record import DeviceRecord, Facts, Tick, facts, tick
from workers.readings.tpu import tpu_info
from workers.readings.tpu.chips import (
    DEVICES,
    KIND,
    Chip,
    Column,
    Moment,
    Row,
    cores,
    device_class,
    generation,
)

DEV = Path("/dev")
PCI = Path("/sys/bus/pci/devices")

VENDOR = "0x1ae0"
GENERATIONS = {"0x005e": "v4", "0x0062": "v5p", "0x0063": "v5e", "0x006f": "v6e", "0x0076": "v7x"}
"""PCI device -> generation; cloud-accelerator-diagnostics' `tpu_info/device.py` and JAX's `hardware_utils.py`."""
OLD_DEVICE = "0x0027"
OLD_GENERATIONS = {"0x004e": "v2", "0x004f": "v3"}
"""PCI subsystem -> generation of the chips that share `OLD_DEVICE`."""

NUMBERED = re.compile(r"(?:accel)?(\d+)")

SIGNS = ("TPU_ACCELERATOR_TYPE", "TPU_NAME", "TPU_WORKER_ID", "TPU_TOPOLOGY")
"""Variables of a TPU VM, or of a container that was given chips."""

BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1"}
"""How a part of a host's chips lies together, by their number, for a program that uses no others."""

PROBE_S = 1.0
ASK_S = 5.0
"""How often tpu-info is started; it takes a second of a processor each time [s]."""
ANSWER_S = 15.0
TOLD_S = 8.0
"""How long `settled_record` waits for the first answer [s]."""

INSTALL = (
    "install libtpu in the agent's environment (pip install libtpu), or the command (pip install tpu-info)"
)


class Place(NamedTuple):
    """Where a chip is: its device files, its folders on the PCI bus, and what it is."""

    files: tuple[Path, ...]
    buses: tuple[Path, ...]
    generation: str | None


class TpuDevice(Device):
    """One chip; on v2, v3 and 7x two devices to programs."""

    kind = KIND
    driver_files = ("/dev/accel*", "/dev/vfio/*", *KERNEL_FOLDERS)
    address = "xla"
    """As PyTorch names it; to JAX it is `tpu`."""

    def __init__(self, host: Host, places: Sequence[Place], index: int, watch: Watch) -> None:
        self.index = index
        self.of = len(places)
        self._place = places[index]
        self._watch = watch
        self._bus = self._place.buses[0] if self._place.buses else None
        name = self._place.generation
        super().__init__(
            host,
            hardware_id=f"tpu:{host_id(host.state_dir)}:{self._bus.name if self._bus else index}",
            device_class=device_class(name),
            model=f"TPU{name[1:]}" if name == "v7x" else f"TPU {name}" if name else "TPU",
        )
        watch.shared.join(self)

    @property
    def devices(self) -> int:
        """How many devices programs see of the chip."""
        return DEVICES.get(self._place.generation or "", 1)

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the chips whose device files are here, in the order in which programs count them."""
        places = find()
        watch = Watch(places) if places else None
        return [cls(host, places, index, watch) for index in range(len(places)) if watch]

    @classmethod
    def absent(cls) -> Lack | None:
        """Return why chips that the bus or the environment tells of have no device files."""
        if find():
            return None
        on_bus = on_the_bus()
        if on_bus:
            what = f"TPU chips (PCI {', '.join(bus.name for buses, _ in on_bus for bus in buses)})"
            how = "start the agent on the TPU VM itself, or give its container the devices (--privileged)"
            return Lack(what, f"none of their device files is in {DEV}", how)
        told = [name for name in SIGNS if os.environ.get(name)]
        if told:
            return Lack(
                "TPU chips",
                f"{told[0]} is set, but no chip is attached",
                "start the agent on the TPU VM itself",
            )
        return None

    def facts(self) -> Facts:
        """Return what the bus and the environment tell of the chip."""
        name, link = self._place.generation, pci.link(self._bus)
        return facts(
            index=self.index,
            pci_bus_id=self._bus.name.lower() if self._bus else None,
            model=self.model,
            architecture=name,
            cores=cores(name, self.devices),
            driver=pci.driver_version(self._bus),
            runtime=_libtpu_version(),
            pcie_gen_max=link.gen_max,
            pcie_width_max=link.width_max,
            numa_node=pci.numa_node(self._bus),
            instance_type=os.environ.get("TPU_ACCELERATOR_TYPE") or None,
        )

    def telemetry(self) -> Tick:
        """Return the newest readings; None is what no runtime tells, or has not told for three periods."""
        told, link = self._watch.reading(self.index), pci.link(self._bus)
        return tick(
            t_ns=time.monotonic_ns(),
            util=told["util"],
            tensor_active=told["tensor_active"],
            dram_active=told["dram_active"],
            mem_used_b=told["mem_used_b"],
            pcie_gen=link.gen,
            pcie_width=link.width,
            foreign_pids=self._watch.holders.latest(self._place.files),
        )

    def settled_record(self) -> DeviceRecord:
        """Return what is known of the chip, once its tool has answered, or has failed to."""
        self._watch.wait(TOLD_S)
        return super().settled_record()

    def lacks(self) -> list[Lack]:
        """Return what is not read here, and whether anybody can be seen to use the chip."""
        found = [] if sees_others() else [HIDDEN]
        trouble = self._watch.trouble
        return [Lack("util, tensor_active, mem_used_b", trouble, INSTALL), *found] if trouble else found

    def processes(self) -> list[int]:
        """Return the other processes that have the chip's files open, as far as this user may see them."""
        return self._watch.holders.now(self._place.files)

    def sync(self) -> None:
        """Return at once: from outside of the measured process a chip cannot be waited for; the harness does."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: a chip's clock is not readable."""
        return None

    def flush_cache(self) -> bool:
        """Return False: a chip has no cache; its memories are the program's own."""
        return False

    @classmethod
    def addresses(cls, devices: Sequence[Device]) -> list[str]:
        """Return `xla:0`, `xla:1`, …: the first device of each chip, counted among those that are shown."""
        sizes = [device.devices for device in devices if isinstance(device, TpuDevice)]
        return [f"{cls.address}:{sum(sizes[:place])}" for place in range(len(sizes))]

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return libtpu's variable, and how the chips lie where they are not all of the host's."""
        chips = [device for device in devices if isinstance(device, TpuDevice)]
        shown = {"TPU_VISIBLE_CHIPS": ",".join(str(chip.index) for chip in chips)}
        if not chips or len(chips) == chips[0].of or len(chips) not in BOUNDS:
            return shown
        return {**shown, "TPU_CHIPS_PER_PROCESS_BOUNDS": BOUNDS[len(chips)], "TPU_PROCESS_BOUNDS": "1,1,1"}

    def close(self) -> None:
        """End the tool, if this is the last chip that uses it."""
        self._watch.shared.leave(self)


class Watch:
    """What is read for all chips of the host together."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._waited = False
        self.holders = Holders([file for place in places for file in place.files])
        self.usage = _usage()
        self.shared = Shared(self.holders, *([self.usage] if self.usage else []))

    def reading(self, index: int) -> Tick:
        """Return what the runtime tells of a chip now."""
        moment = self.usage.latest() if self.usage else None
        if moment is None:
            return tick()
        chips = [self._chip(number, place) for number, place in enumerate(self._places)]
        return replace(moment, chips=chips).readings()[index][0]

    def _chip(self, number: int, place: Place) -> Chip:
        pids = sorted({pid for file in place.files for pid in self.holders.all_of(file)})
        return Chip(number, DEVICES.get(place.generation or "", 1), tuple(pids), generation=place.generation)

    @property
    def trouble(self) -> str | None:
        """Why there are no readings; None where there are."""
        if self.usage is None:
            return "neither libtpu is installed in the agent's environment, nor is tpu-info on PATH"
        return None if self.usage.latest() is not None else self.usage.trouble

    def wait(self, longest_s: float) -> None:
        """Return when there is a first answer or a trouble, or the time is over; at once when called again."""
        if self.usage is not None and not self._waited:
            await_answer(self.usage, longest_s)
        self._waited = True


def find() -> list[Place]:
    """Return the chips whose device files are here."""
    found = [place for buses, name in on_the_bus() if (place := _with_files(buses, name)).files]
    if found:
        return sorted(found, key=lambda place: _number(place.files[0]))
    names = {name for _, name in on_the_bus()}
    name = names.pop() if len(names) == 1 else generation(os.environ.get("TPU_ACCELERATOR_TYPE"))
    files = _files("accel[0-9]*") or _files("vfio/[0-9]*")
    return [Place((file,), (), name) for file in files] if names or name else []


def on_the_bus() -> list[tuple[tuple[Path, ...], str]]:
    """Return the folders on the PCI bus of each chip, one for each of its functions, and its generation."""
    chips: dict[str, list[Path]] = {}
    names: dict[str, str] = {}
    for bus in sorted(PCI.glob("*")):
        name = _generation(bus)
        if name is not None:
            chips.setdefault(bus.name.split(".")[0], []).append(bus)
            names[bus.name.split(".")[0]] = name
    return [(tuple(buses), names[slot]) for slot, buses in chips.items()]


def _generation(bus: Path) -> str | None:
    if read_text(bus / "vendor") != VENDOR:
        return None
    device = read_text(bus / "device") or ""
    if device == OLD_DEVICE:
        return OLD_GENERATIONS.get(read_text(bus / "subsystem_device") or "")
    return GENERATIONS.get(device)


def _with_files(buses: tuple[Path, ...], name: str) -> Place:
    """Return a chip with those of its device files that are here."""
    files = []
    for bus in buses:
        files += [DEV / accel.name for accel in sorted(bus.glob("accel/accel[0-9]*"))]
        group = bus / "iommu_group"
        if group.is_symlink():
            files.append(DEV / "vfio" / os.readlink(group).rpartition("/")[2])
    return Place(tuple(file for file in files if file.exists()), buses, name)


def _files(pattern: str) -> list[Path]:
    return sorted((file for file in DEV.glob(pattern) if NUMBERED.fullmatch(file.name)), key=_number)


def _number(file: Path) -> int:
    match = NUMBERED.fullmatch(file.name)
    return int(match[1]) if match else 0


def _usage() -> Poller[Moment] | Stream[Moment] | None:
    """Return what tells of the chips' use: libtpu in a process of its own, else tpu-info, else nothing."""
    if _has_monitoring():
        program = [sys.executable, "-P", tpu_probe.__file__, f"{PROBE_S:g}"]
        return Stream(program, read_probe, oldest_s=3 * PROBE_S)
    if shutil.which("tpu-info"):
        return Poller(_ask, period_s=ASK_S, oldest_s=3 * ASK_S)
    return None


def _has_monitoring() -> bool:
    """Tell whether libtpu with its monitoring is installed here; it is not loaded for that."""
    found = importlib.util.find_spec("libtpu")
    folders = found.submodule_search_locations if found else None
    return any(file for folder in folders or () for file in Path(folder).glob("sdk*"))


def _libtpu_version() -> str | None:
    try:
        return importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        return None


def _ask() -> Moment:
    """Return what tpu-info tells now.

    Raises:
        ToolError: it tells nothing.
    """
    told = tpu_info.moments(ask(["tpu-info"], timeout_s=ANSWER_S))
    if not told or not told[-1].rows():
        raise ToolError("tpu-info printed no table of the chips' use")
    return told[-1]


def read_probe(line: str) -> Moment:
    """Return what a line of `tpu_probe` tells; zeros of devices whose memory has no size are no readings.

    Raises:
        ToolError: it is no line of the probe's.
    """
    try:
        found = json.loads(line)
        duty, tensor = found.get("duty_cycle_pct") or [], found.get("tensorcore_util") or []
    except (ValueError, AttributeError) as error:
        raise ToolError(f"libtpu's monitoring printed {line.strip()[:60]!r}") from error
    used, total = found.get("hbm_capacity_usage") or [], found.get("hbm_capacity_total") or []
    memory = [Row(whole(a), whole(b)) if whole(b) else Row() for a, b in zip(used, total, strict=False)]
    in_use = not memory or any(row.total_b for row in memory)
    return Moment(
        memory=Column(memory if len(used) == len(total) else ()),
        duty=Column([_share(value) for value in duty if in_use]),
        duty_by_chip=True,
        tensor=Column([_share(value) for value in tensor if in_use]),
    )


def _share(value: str) -> Row:
    share = quantity(value, unit="%")
    return Row(share=share if share is not None and 0 <= share <= 1 else None)
