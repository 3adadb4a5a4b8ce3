"""AWS Inferentia and Trainium, each Neuron device one of ours.

The driver has a file `/dev/neuronN` and a folder below `/sys/devices/virtual/neuron_device` for each; `neuron-ls`
tells, once, which cores are whose. The folder also has counters (Neuron Sysfs User Guide): memory in use by core, and
memory errors. `neuron-monitor` tells the rest, a report a second; it knows the use of cores only while a program runs
on them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from workers.devices import pci
from workers.devices.base import KERNEL_FOLDERS, Device, DeviceTimer, Host, Lack
from workers.devices.cpu import host_id
from workers.devices.neuron.sysfs import Sysfs
from workers.devices.shared import HIDDEN, Holders, Shared, await_answer, sees_others
from workers.devices.tools import Stream, ToolError, ask
from workers.host.fingerprint import read_int, read_text
from workers.host.processes import foreign
from workers.readings.neuron import neuron_ls, neuron_monitor
from workers.readings.neuron.products import KIND, device_class
from workers.readings.reader import UnreadableError
from workers.readings.record import DeviceRecord, Facts, Tick, facts, tick

DEV = Path("/dev")
SYSFS = Path("/sys/devices/virtual/neuron_device")
PCI = Path("/sys/bus/pci/devices")
DRIVER = Path("/sys/module/neuron/version")
PRODUCT = Path("/sys/class/dmi/id/product_name")
"""The type of the cloud's machine, on every instance of AWS's own hypervisor."""

TOOLS = Path("/opt/aws/neuron/bin")
"""Where the vendor's packages put the tools; only login shells have it on PATH."""

VENDOR = "0x1d0f"
PCI_DEVICES = ("0x7064", "0x7065", "0x7066", "0x7067", "0x7164", "0x7264", "0x7364", "0x7564", "0x7565")
"""Inferentia, Trainium1, Inferentia2, Trainium2 and 3; `neuron_device.h` of the driver."""

MOST_PLAIN_CORES = 4
"""Cores of the largest device whose cores are never joined to logical ones (Inferentia)."""

MONITORS = ("neuron-monitor", "neuron-top", "neuron-ls")
"""Programs that open devices to look at them only."""

PERIOD_S = 1.0
DEFAULT_PERIOD_S = 5.0
"""Of neuron-monitor without a file that tells it another [s]."""
CONFIG = "neuron-monitor.json"
LIST_TIMEOUT_S = 8.0
"""How long `neuron-ls` may take, asked in either of its ways [s]."""

TOLD_S = 3.0
"""How long `settled_record` waits for the first report [s]."""

DRIVER_HOW = "install the driver (package aws-neuronx-dkms) and load it (modprobe neuron)"
TOOLS_HOW = "install the tools (package aws-neuronx-tools)"


class Place(NamedTuple):
    """What is known of a device before it is asked: its number, its cores' numbers, and what `neuron-ls` tells."""

    number: int
    cores: tuple[int, ...]
    listed: Facts

    @property
    def file(self) -> Path:
        """The device's file."""
        return DEV / f"neuron{self.number}"

    @property
    def folder(self) -> Path:
        """The device's folder in sysfs."""
        return SYSFS / f"neuron{self.number}"


class NeuronDevice(Device):
    """One Neuron device with all its cores."""

    kind = KIND
    driver_files = ("/dev/neuron*", "/opt/aws/neuron", *KERNEL_FOLDERS)
    address = "xla"
    """As PyTorch names it; to JAX it is `neuron`."""

    def __init__(self, host: Host, place: Place, watch: Watch) -> None:
        self._place = place
        self._watch = watch
        bus = place.listed["pci_bus_id"]
        self._bus = PCI / bus if bus else None
        self._sysfs = Sysfs(place.folder)
        self._serial = self._sysfs.serial
        self._instance = place.listed["instance_type"] or read_text(PRODUCT)
        self._model = self._sysfs.device_name
        family = device_class(self._sysfs.instance_type, self._instance, self._model)
        super().__init__(
            host,
            hardware_id=f"neuron:{self._serial or f'{host_id(host.state_dir)}:{place.number}'}",
            device_class=family,
            model=self._model or family,
        )
        watch.shared.join(self)

    @property
    def cores(self) -> tuple[int, ...]:
        """The numbers of the device's cores on this host, as programs ask for them."""
        return self._place.cores

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the devices whose cores are known, in the driver's order; a program is shown cores, not devices."""
        places = [place for place in find() if place.cores]
        watch = Watch(host, [place.file for place in places]) if places else None
        return [cls(host, place, watch) for place in places if watch]

    @classmethod
    def absent(cls) -> Lack | None:
        """Return why devices that the bus or the driver tells of cannot be measured on."""
        places = find()
        blind = [place for place in places if not place.cores]
        if blind:
            what = f"Neuron devices ({', '.join(str(place.file) for place in blind)})"
            return Lack(what, "neither neuron-ls nor the driver tells which cores they have", TOOLS_HOW)
        buses = [bus.name for bus in sorted(PCI.glob("*")) if _is_neuron(bus)]
        if not places and buses:
            return Lack(f"Neuron devices (PCI {', '.join(buses)})", f"there is no {DEV}/neuron0", DRIVER_HOW)
        return None

    def facts(self) -> Facts:
        """Return what the driver and `neuron-ls` tell of the device."""
        listed, link = self._place.listed, pci.link(self._bus)
        node = listed["numa_node"]
        return facts(
            index=self._place.number,
            serial=self._serial,
            pci_bus_id=listed["pci_bus_id"],
            model=self._model,
            architecture=self._sysfs.core_architecture,
            cores=len(self.cores),
            memory_b=listed["memory_b"],
            driver=read_text(DRIVER),
            pcie_gen_max=link.gen_max,
            pcie_width_max=link.width_max,
            numa_node=pci.numa_node(self._bus) if node is None else node,
            instance_type=self._instance,
        )

    def telemetry(self) -> Tick:
        """Return the driver's counters now, and the newest report's readings if it is no older than three periods."""
        told, link = self._watch.reading(self._place.number), pci.link(self._bus)
        errors, memory = self._sysfs.uncorrected(), self._sysfs.memory_b()
        return tick(
            t_ns=time.monotonic_ns(),
            util=told["util"],
            mem_used_b=told["mem_used_b"] if memory is None else memory,
            ecc_corrected=told["ecc_corrected"],
            ecc_uncorrected=told["ecc_uncorrected"] if errors is None else errors,
            pcie_gen=link.gen,
            pcie_width=link.width,
            foreign_pids=self._foreign_pids(told),
        )

    def _foreign_pids(self, told: Tick) -> list[int] | None:
        """Return who else uses the device: those that have its file open, and those that have the runtime on it."""
        holding = self._watch.holders.latest([self._place.file])
        running = told["foreign_pids"]
        return None if holding is None and running is None else foreign([*(holding or ()), *(running or ())])

    def settled_record(self) -> DeviceRecord:
        """Return what is known of the device, once there is a report, or why there is none."""
        self._watch.wait(TOLD_S)
        return super().settled_record()

    def lacks(self) -> list[Lack]:
        """Return what is not read here, and whether anybody can be seen to use the device."""
        found = [] if sees_others() else [HIDDEN]
        trouble = self._watch.trouble
        return [Lack("util, ecc_corrected", trouble, TOOLS_HOW), *found] if trouble else found

    def processes(self) -> list[int]:
        """Return the other processes that have the device's file open, as far as this user may see them."""
        return self._watch.holders.now([self._place.file])

    def sync(self) -> None:
        """Return at once: from outside of the measured process a device cannot be waited for; the harness does."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: a device's clock is not readable."""
        return None

    def flush_cache(self) -> bool:
        """Return False: a device has no cache; its memories are the program's own."""
        return False

    @classmethod
    def addresses(cls, devices: Sequence[Device]) -> list[str]:
        """Return `xla:0`, `xla:2`, …: the first core of each device, counted among those that are shown."""
        sizes = [len(device.cores) for device in devices if isinstance(device, NeuronDevice)]
        return [f"{cls.address}:{sum(sizes[:place])}" for place in range(len(sizes))]

    @classmethod
    def visible_env(cls, devices: Sequence[Device]) -> dict[str, str]:
        """Return the runtime's variable, which names cores: these devices', as ranges."""
        cores = [core for device in devices if isinstance(device, NeuronDevice) for core in device.cores]
        return {"NEURON_RT_VISIBLE_CORES": ranges(cores)}

    def close(self) -> None:
        """End the tool, if this is the last device that uses it."""
        self._watch.shared.leave(self)


class Watch:
    """What is read for all devices of the host together."""

    def __init__(self, host: Host, files: Sequence[Path]) -> None:
        self._waited = False
        self.holders = Holders(files, MONITORS)
        self.reports = _reports(host.state_dir)
        self.shared = Shared(self.holders, self.reports)

    def reading(self, index: int) -> Tick:
        """Return what the newest report tells of a device."""
        records = self.reports.latest() or []
        mine = next((record for record in records if record.facts["index"] == index), None)
        return mine.readings[-1] if mine and mine.readings else tick()

    @property
    def trouble(self) -> str | None:
        """Why there are no reports; None where there are."""
        return None if self.reports.latest() is not None else self.reports.trouble

    def wait(self, longest_s: float) -> None:
        """Return when there is a first report or a trouble, or the time is over; at once when called again."""
        if not self._waited:
            await_answer(self.reports, longest_s)
        self._waited = True


def _reports(state_dir: Path) -> Stream[list[DeviceRecord]]:
    """Return the stream of reports, every second where the agent may keep a file that says so."""
    argv, period_s = [tool("neuron-monitor")], DEFAULT_PERIOD_S
    with contextlib.suppress(OSError):
        argv, period_s = [*argv, "-c", str(_written(state_dir / CONFIG))], PERIOD_S
    return Stream(argv, neuron_monitor.read, oldest_s=3 * period_s)


def _written(file: Path) -> Path:
    """Return the file with what neuron-monitor shall report; written at once, as other agents may read it."""
    groups = {
        "period": f"{PERIOD_S:g}s",
        "neuron_runtimes": [
            {"tag_filter": ".*", "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"}]}
        ],
        "system_metrics": [{"type": "neuron_hw_counters"}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(groups))
    return draft.replace(file)


def tool(name: str) -> str:
    """Return a vendor's tool: from PATH, else from where its package puts it."""
    found = shutil.which(name) or (str(TOOLS / name) if (TOOLS / name).exists() else None)
    return found or name


def find() -> list[Place]:
    """Return the devices of this host by the driver's files, those whose cores are not known, too."""
    indexes = sorted(int(file.name[6:]) for file in DEV.glob("neuron[0-9]*") if file.name[6:].isdigit())
    listed = _listed() if indexes else {}
    return [_place(index, listed) for index in indexes]


def _place(index: int, listed: dict[int, tuple[Facts, tuple[int, ...]]]) -> Place:
    known, cores = listed.get(index, (facts(), ()))
    if not cores:
        count = known["cores"] or _physical_cores(index)
        cores = tuple(range(index * count, (index + 1) * count))
    return Place(index, cores, known)


def _physical_cores(index: int) -> int:
    """Return the number of a device's cores, 0 where the driver does not tell it, or may count others than programs.

    It counts physical cores; programs count logical ones, which are several of them on newer devices.
    """
    count = read_int(SYSFS / f"neuron{index}" / "core_count") or 0
    return count if count <= MOST_PLAIN_CORES else 0


def _listed() -> dict[int, tuple[Facts, tuple[int, ...]]]:
    """Return what `neuron-ls` tells of each device, and its cores' numbers where it tells them.

    Up to 2.33 JSON is asked for with `--json-output`, after that with `--output-format json`.
    """
    end_s = time.monotonic() + LIST_TIMEOUT_S
    for words in (["--json-output"], ["--output-format", "json"]):
        with contextlib.suppress(ToolError, UnreadableError):
            text = ask([tool("neuron-ls"), *words], timeout_s=max(0.1, end_s - time.monotonic()))
            if neuron_ls.recognises_json(text):
                ids = neuron_ls.core_numbers(text)
                records = neuron_ls.read_json(text)
                return {
                    record.facts["index"]: (record.facts, ids.get(record.facts["index"], ()))
                    for record in records
                }
    return {}


def _is_neuron(bus: Path) -> bool:
    return read_text(bus / "vendor") == VENDOR and read_text(bus / "device") in PCI_DEVICES


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers as the runtime takes them: `0-3`, or `0-1,4-5`; each run from its first to its last."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
