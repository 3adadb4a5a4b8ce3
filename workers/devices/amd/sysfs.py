"""What the amdgpu driver's files tell of one GPU (kernel documentation, GPU Driver: amdgpu, "thermal" and "RAS").

The files are those of its PCI device; `hwmon` below it has sensors in millionths and thousandths. What is not obvious:

- `pcie_bw` is never read: it blocks for a second. Partitions, power profiles and error counts are asked of the firmware
  and processes are many, so all these are looked at as seldom as their cost demands.
- The temperature is the junction's, else the edge's. Power is that of the moment where it is told, else the average.
- A GPU may sit behind a PCIe switch of its own. Its link to the host is the one above that switch.
- The parts of a divided GPU share its sensors, so load, power and memory in use are not told of them.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

from workers.devices import pci
from workers.devices.amd.gpu_metrics import Metrics, Residencies, read_metrics, version
from workers.devices.amd.kfd import Node, foreign_pids
from workers.host.fingerprint import read_int, read_text
from workers.host.sparing import Sparing
from workers.readings.amd.products import (
    PRODUCTS,
    clock_policy,
    device_class,
    graphics_target,
    hexadecimal,
    mode_text,
    partition_mode,
    told,
)
from workers.readings.record import Facts, Tick, facts, tick

PCI = "sys/bus/pci/devices"
VENDOR = "0x1002"
OWN_SWITCH = ("0x1478", "0x1479")
"""The ports of the switch on a graphics card."""

NAMES = ("usr/share/libdrm/amdgpu.ids", "opt/amdgpu/share/libdrm/amdgpu.ids")
"""Where libdrm has the products' names, by device and revision."""

ROCM = "opt/rocm/.info/version"
LONGEST_TABLE_B = 65536

OF_THE_WHOLE_GPU = ("util", "mem_util", "power_w", "energy_j_total", "mem_used_b")


class Errors(NamedTuple):
    """Memory errors since the driver was loaded, and pages of memory replaced and waiting for it; None is not told."""

    corrected: int | None
    uncorrected: int | None
    replaced: int | None
    waiting: int | None


class Gpu:
    """The files of one GPU, or of one part of a divided GPU."""

    def __init__(self, root: Path, node: Node, *, is_part: bool = False) -> None:
        self.node = node
        self.is_part = is_part
        self._root = root
        self.folder = root / PCI / node.address
        self._sensors = Sensors(self.folder)
        self._residencies = Residencies()
        self._slot = _slot(self.folder)
        self._mode = Sparing(lambda: mode_text(self.partition_mode(), self.clock_policy()))
        self._errors = Sparing(self.errors)
        self._pids = Sparing(lambda: foreign_pids(root, node.gpu_id))

    @property
    def model(self) -> str:
        """The product's name, else the name of the chip."""
        device_id, revision = self._ids()
        return (
            read_text(self.folder / "product_name")
            or _listed_name(self._root, device_id, revision)
            or PRODUCTS.get((device_id or 0, revision))
            or PRODUCTS.get((device_id or 0, None))
            or self.node.name
            or f"AMD GPU {device_id or 0:#06x}"
        )

    @property
    def device_class(self) -> str:
        """The class of the GPU, or of a part of it."""
        device_id, revision = self._ids()
        mode = self.partition_mode()
        return device_class(self.model, device_id=device_id, revision=revision, partition=mode)

    def _ids(self) -> tuple[int | None, int | None]:
        return hexadecimal(read_text(self.folder / "device")), hexadecimal(
            read_text(self.folder / "revision")
        )

    @property
    def uuid(self) -> str | None:
        """The runtime's name, or the same made of the chip's number where KFD does not tell it."""
        number = None if self.is_part else hexadecimal(read_text(self.folder / "unique_id"))
        return self.node.uuid or (f"GPU-{number:016x}" if number else None)

    def partition_mode(self) -> str | None:
        """Return how the GPU is divided, `SPX/NPS1`; None for one that cannot be."""
        return partition_mode(
            read_text(self.folder / "current_compute_partition"),
            read_text(self.folder / "current_memory_partition"),
        )

    def clock_policy(self) -> str | None:
        """Return how the clocks are chosen."""
        profiles = read_text(self.folder / "pp_power_profile_mode") or ""
        chosen = re.search(r"^\s*\d+\s+([A-Z0-9_]+)\s*\*", profiles, re.MULTILINE)
        level = read_text(self.folder / "power_dpm_force_performance_level")
        return clock_policy(level, chosen[1] if chosen else None)

    def metrics_version(self) -> str | None:
        """Return the version of the firmware's table; None where there is none."""
        return version(_bytes(self.folder / "gpu_metrics"))

    def metrics(self) -> Metrics | None:
        """Return what the firmware's table tells; None where there is none, or of a version that is not known."""
        return read_metrics(_bytes(self.folder / "gpu_metrics"))

    def needs_tools(self) -> bool:
        """Tell whether the firmware tells something that cannot be read here."""
        return self.metrics_version() is not None and self.metrics() is None

    def power_limit_w(self) -> float | None:
        """Return the power limit that holds [W]."""
        return self._sensors.watts("power1_cap")

    def errors(self) -> Errors:
        """Return the memory errors, summed up over all blocks of the chip."""
        texts = [read_text(file) or "" for file in (self.folder / "ras").glob("*_err_count")]
        counts = {
            name: [
                int(match[1])
                for text in texts
                if (match := re.search(rf"^{name}:\s*(\d+)", text, re.MULTILINE))
            ]
            for name in ("ce", "ue")
        }
        pages = self.folder / "ras/gpu_vram_bad_pages"
        bad = re.findall(r"^0x[0-9a-f]+ : 0x[0-9a-f]+ : ([RPF])", read_text(pages) or "", re.MULTILINE)
        is_told = os.access(pages, os.R_OK)
        return Errors(
            sum(counts["ce"]) if counts["ce"] else None,
            sum(counts["ue"]) if counts["ue"] else None,
            bad.count("R") if is_told else None,
            bad.count("P") if is_told else None,
        )

    def facts(self) -> Facts:
        """Return every one of `FACTS`, as far as the driver tells it."""
        return facts(**self._identity(), **self._limits(), **self._modes(), **self._place())

    def _identity(self) -> dict[str, Any]:
        runtime = re.match(r"\d+(?:\.\d+)+", read_text(self._root / ROCM) or "")
        return {
            "index": self.node.number,
            "uuid": self.uuid,
            "serial": told(read_text(self.folder / "serial_number")),
            "pci_bus_id": self.node.address,
            "model": self.model,
            "architecture": graphics_target(self.node.properties.get("gfx_target_version")),
            "cores": self.node.cores,
            "memory_b": self.node.memory_b if self.is_part else self._memory_b(),
            "driver": read_text(self._root / "sys/module/amdgpu/version")
            or read_text(self._root / "proc/sys/kernel/osrelease"),
            "firmware": read_text(self.folder / "vbios_version"),
            "runtime": runtime[0] if runtime else None,
        }

    def _memory_b(self) -> int | None:
        return read_int(self.folder / "mem_info_vram_total") or self.node.memory_b

    def _limits(self) -> dict[str, Any]:
        slowest_mhz = self.node.properties.get("max_engine_clk_fcompute")
        return {
            "sm_clock_max_hz": self._highest_hz("pp_dpm_sclk")
            or (slowest_mhz * 1e6 if slowest_mhz else None),
            "mem_clock_max_hz": self._highest_hz("pp_dpm_mclk"),
            "power_limit_default_w": self._sensors.watts("power1_cap_default"),
            "power_limit_max_w": self._sensors.watts("power1_cap_max"),
        }

    def _highest_hz(self, name: str) -> float | None:
        """Return the highest level of a clock, of lines as `1: 2100Mhz *`."""
        levels = re.findall(
            r"^\w+:\s*(\d+)\s*Mhz", read_text(self.folder / name) or "", re.MULTILINE | re.IGNORECASE
        )
        return max(map(int, levels)) * 1e6 or None if levels else None

    def _modes(self) -> dict[str, Any]:
        mask = re.search(r"0x[0-9a-fA-F]+", read_text(self.folder / "ras/features") or "")
        waiting = self.errors().waiting
        return {
            "clock_policy": self.clock_policy(),
            "partition_mode": self.partition_mode(),
            "ecc_mode": bool(int(mask[0], 16) & 1) if mask else None,
            "remap_pending": None if waiting is None else waiting > 0,
        }

    def _place(self) -> dict[str, Any]:
        ends = [pci.link(self._slot), pci.link(self._slot.parent)]
        return {
            "pcie_gen_max": min((end.gen_max for end in ends if end.gen_max), default=None),
            "pcie_width_max": min((end.width_max for end in ends if end.width_max), default=None),
            "numa_node": pci.numa_node(self.folder),
        }

    def tick(self) -> Tick:
        """Return every one of `READINGS`, as far as the driver tells it."""
        t_ns = time.monotonic_ns()
        metrics = self.metrics() or Metrics(None, None, None, None)
        errors, link = self._errors(), pci.link(self._slot)
        known = {
            **self._sensors.read(),
            **self._throttling(t_ns, metrics),
            "util": _share(read_int(self.folder / "gpu_busy_percent")),
            "mem_util": _share(read_int(self.folder / "mem_busy_percent")),
            "energy_j_total": metrics.energy_j,
            **({"sm_clock_hz": metrics.sm_clock_hz} if metrics.sm_clock_hz else {}),
            "mem_used_b": read_int(self.folder / "mem_info_vram_used"),
        }
        whole = {name: None for name in OF_THE_WHOLE_GPU} if self.is_part else {}
        return tick(
            t_ns=t_ns,
            ecc_corrected=errors.corrected,
            ecc_uncorrected=errors.uncorrected,
            remapped_rows=errors.replaced,
            pcie_gen=link.gen,
            pcie_width=link.width,
            pcie_replays=read_int(self.folder / "pcie_replay_count"),
            foreign_pids=self._pids(),
            mode=self._mode(),
            **known | whole,
        )

    def _throttling(self, t_ns: int, metrics: Metrics) -> dict[str, Any]:
        if metrics.cycles is None:
            return {"throttle_reasons": metrics.throttle_reasons}
        spent_ns = self._residencies.look(t_ns, metrics.cycles)
        return {"throttle_ns": spent_ns, "throttle_reasons": self._residencies.reasons}


class Sensors:
    """The files of the driver's hardware monitor, known by their labels."""

    def __init__(self, device: Path) -> None:
        folders = sorted((device / "hwmon").glob("hwmon*"))
        self._folder = next((folder for folder in folders if read_text(folder / "name") == "amdgpu"), None)
        files = list(self._folder.glob("*_label")) if self._folder else []
        self._inputs = {
            read_text(file): file.with_name(file.name.replace("_label", "_input")) for file in files
        }

    def watts(self, name: str) -> float | None:
        """Return a power [W]; a limit of 0 is none."""
        value = self._number(name)
        return value / 1e6 if value or (value == 0 and "cap" not in name) else None

    def _number(self, name: str) -> int | None:
        return read_int(self._folder / name) if self._folder else None

    def _labelled(self, *labels: str) -> int | None:
        files = [self._inputs[label] for label in labels if label in self._inputs]
        return next((value for file in files if (value := read_int(file)) is not None), None)

    def read(self) -> dict[str, Any]:
        """Return the readings of the sensors; a clock of 0 is that of a GPU that sleeps, and none."""
        power_w = self.watts("power1_input")
        hottest, memory = self._labelled("junction", "edge"), self._labelled("mem")
        return {
            "sm_clock_hz": self._labelled("sclk") or None,
            "mem_clock_hz": self._labelled("mclk") or None,
            "power_w": self.watts("power1_average") if power_w is None else power_w,
            "power_limit_w": self.watts("power1_cap"),
            "temp_c": None if hottest is None else hottest / 1e3,
            "mem_temp_c": None if memory is None else memory / 1e3,
            "fan": self._fan(),
        }

    def _fan(self) -> float | None:
        for name, most in (("fan1_input", self._number("fan1_max")), ("pwm1", 255)):
            speed = self._number(name)
            if speed is not None and most:
                return speed / most
        return None


def _share(percent: int | None) -> float | None:
    return percent / 100 if percent is not None and 0 <= percent <= 100 else None


def _bytes(file: Path) -> bytes:
    """Return what a binary file of the kernel holds; nothing where it cannot be read."""
    try:
        with open(file, "rb") as table:
            return table.read(LONGEST_TABLE_B)
    except OSError:
        return b""


def _slot(device: Path) -> Path:
    """Return the folder of the device in the slot: the GPU, or the switch that it brings along."""
    place = device.resolve()
    while read_text(place.parent / "vendor") == VENDOR and read_text(place.parent / "device") in OWN_SWITCH:
        place = place.parent
    return place


def _listed_name(root: Path, device_id: int | None, revision: int | None) -> str | None:
    """Return a product's name from libdrm's list, of lines as `744C,  C8,  AMD Radeon RX 7900 XTX`."""
    for file in NAMES:
        try:
            lines = (root / file).read_text(errors="replace").splitlines()
        except OSError:
            continue
        for words in (line.split(",", 2) for line in lines if not line.startswith("#")):
            if len(words) == 3 and (hexadecimal(words[0]), hexadecimal(words[1])) == (device_id, revision):
                return words[2].strip() or None
    return None
