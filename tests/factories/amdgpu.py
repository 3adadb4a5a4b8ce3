"""A machine with AMD GPUs, as far as the kernel's files tell of them, in a folder of its own.

The files have the names and the forms that the driver documents; whether a driver really writes them so is not tested.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

GIB = 2**30
NOTHING = b"\xff"

LABELS = {"temp1": "edge", "temp2": "junction", "temp3": "mem", "freq1": "sclk", "freq2": "mclk"}

MI300X = {
    "vendor": "0x1002",
    "device": "0x74a1",
    "revision": "0x00",
    "class": "0x120000",
    "product_name": "AMD Instinct MI300X OAM",
    "serial_number": "692351000777",
    "unique_id": "a1b2c3d4e5f60718",
    "vbios_version": "113-M3000100-102",
    "numa_node": "1",
    "gpu_busy_percent": "87",
    "mem_busy_percent": "41",
    "mem_info_vram_total": str(192 * GIB),
    "mem_info_vram_used": str(3 * GIB),
    "pcie_replay_count": "5",
    "current_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
    "current_compute_partition": "SPX",
    "current_memory_partition": "NPS1",
    "power_dpm_force_performance_level": "auto",
    "pp_dpm_sclk": "0: 500Mhz\n1: 132Mhz *\n2: 2100Mhz",
    "pp_dpm_mclk": "0: 900Mhz\n1: 1300Mhz *",
    "ras/features": "feature mask: 0x3fff",
    "ras/umc_err_count": "ue: 1\nce: 12\nde: 3",
    "ras/gfx_err_count": "ue: 0\nce: 4",
    "ras/gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P",
    "hwmon/hwmon3/name": "amdgpu",
    "hwmon/hwmon3/power1_input": "612000000",
    "hwmon/hwmon3/power1_cap": "700000000",
    "hwmon/hwmon3/power1_cap_default": "750000000",
    "hwmon/hwmon3/power1_cap_max": "750000000",
    "hwmon/hwmon3/temp2_input": "71000",
    "hwmon/hwmon3/temp3_input": "58000",
    "hwmon/hwmon3/freq1_input": "1890000000",
    "hwmon/hwmon3/freq2_input": "1300000000",
}
"""The files of an accelerator, which has neither a fan nor a sensor at its edge."""

RX7900XTX = {
    "vendor": "0x1002",
    "device": "0x744c",
    "revision": "0xc8",
    "class": "0x030000",
    "numa_node": "-1",
    "gpu_busy_percent": "3",
    "mem_busy_percent": "0",
    "mem_info_vram_total": str(24 * GIB),
    "mem_info_vram_used": "0",
    "current_link_speed": "16.0 GT/s PCIe",
    "current_link_width": "16",
    "power_dpm_force_performance_level": "manual",
    "pp_power_profile_mode": " 0 BOOTUP_DEFAULT :\n 5        COMPUTE*:\n   0 ( GFXCLK) 0 5 1",
    "hwmon/hwmon1/name": "amdgpu",
    "hwmon/hwmon1/power1_average": "38000000",
    "hwmon/hwmon1/power1_cap": "0",
    "hwmon/hwmon1/temp1_input": "41000",
    "hwmon/hwmon1/freq1_input": "0",
    "hwmon/hwmon1/fan1_input": "1100",
    "hwmon/hwmon1/fan1_max": "3300",
}
"""The files of a graphics card, which lacks most of what an accelerator has."""

MI300X_NODE = {
    "simd_count": 1216,
    "simd_per_cu": 4,
    "gfx_target_version": 90402,
    "unique_id": 0xA1B2C3D4E5F60718,
    "max_engine_clk_fcompute": 2100,
}
RX7900XTX_NODE = {"simd_count": 192, "simd_per_cu": 2, "gfx_target_version": 110000, "unique_id": 0}


class Machine:
    """The file system of a machine, below `root`; each GPU that is added has a node of KFD for each of its parts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._nodes = 0
        self.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0")
        self.write("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 32\nsimd_count 0")
        self.write("dev/kfd", "")
        self.write("sys/module/amdgpu/version", "6.10.5")
        self.write("opt/rocm/.info/version", "6.3.0-39")
        self.sees_processes()

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file, as the kernel would, with a line end."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
        return file

    def sees_processes(self, namespace: int = 4026531836) -> None:
        """Put the agent into a namespace of processes; by default the kernel's own."""
        link = self.root / "proc/self/ns/pid"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(f"pid:[{namespace}]")

    def add(
        self, files: dict[str, str], node: dict[str, int], address: str = "0000:0c:00.0", *, parts: int = 1
    ) -> Path:
        """Add a GPU and return its folder."""
        folder = self.pci(files, address)
        for part in range(parts):
            self.node(node, address, part)
        return folder

    def pci(
        self, files: dict[str, str], address: str, *, driver: str | None = "amdgpu", below: str = "pci0000:00"
    ) -> Path:
        """Add a device on the PCI bus."""
        folder = self.root / "sys/devices" / below / address
        folder.mkdir(parents=True)
        link = self.root / "sys/bus/pci/devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
        for name, content in files.items():
            self.write(str(folder / name), content)
        for sensor in folder.glob("hwmon/hwmon*/*_input"):
            label = LABELS.get(sensor.name.removesuffix("_input"))
            if label:
                self.write(str(sensor.with_name(sensor.name.replace("_input", "_label"))), label)
        if driver:
            (folder / "driver").symlink_to(f"/sys/bus/pci/drivers/{driver}")
        return folder

    def node(self, properties: dict[str, int], address: str, part: int = 0) -> None:
        """Add a node of KFD: the first GPU's is number 1 and has the id 101."""
        self._nodes += 1
        domain, bus, rest = address.split(":")
        device, function = rest.split(".")
        place = int(bus, 16) << 8 | int(device, 16) << 3 | int(function, 16) | part << 28
        told = {
            "domain": int(domain, 16),
            "location_id": place,
            "drm_render_minor": 127 + self._nodes,
            **properties,
        }
        folder = f"sys/class/kfd/kfd/topology/nodes/{self._nodes}"
        self.write(f"{folder}/gpu_id", str(100 + self._nodes))
        self.write(f"{folder}/name", "chip")
        self.write(f"{folder}/properties", "\n".join(f"{name} {value}" for name, value in told.items()))
        self.write(f"{folder}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {24 * GIB}")
        self.write(f"dev/dri/renderD{127 + self._nodes}", "")

    def process(self, pid: int, gpu_id: int, memory_b: int = GIB, *, queue: bool = False) -> None:
        """Add a process that has opened KFD."""
        folder = f"sys/class/kfd/kfd/proc/{pid}"
        self.write(f"{folder}/vram_{gpu_id}", str(memory_b))
        if queue:
            self.write(f"{folder}/queues/0/gpuid", str(gpu_id))


def table(size: int, form: int, content: int, **fields: tuple[str, int, int]) -> bytes:
    """Return a `gpu_metrics` in which nothing but some fields is told: `name=(form, place, value)`."""
    raw = bytearray(NOTHING * size)
    struct.pack_into("<HBB", raw, 0, size, form, content)
    for code, place, value in fields.values():
        struct.pack_into(f"<{code}", raw, place, value)
    return bytes(raw)


def table_1_6(
    *, total: int, ppt: int = 0, thermal: int = 0, clocks: tuple[int, ...] = (), energy: int = 0
) -> bytes:
    """Return the first form of version 1.6, as an MI300X has it."""
    dies = {f"die{n}": ("H", 336 + 2 * n, clock) for n, clock in enumerate(clocks)}
    counts = {f"count{n}": ("I", 108 + 4 * n, value) for n, value in enumerate((0, ppt, thermal, 0, 0))}
    return table(384, 1, 6, energy=("Q", 88, energy), total=("I", 104, total), **counts, **dies)


def tool(folder: Path, name: str, script: str) -> None:
    """Put a command on PATH's folder that is this shell script."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    os.chmod(file, 0o755)
