"""Which Jetson board this is, and where its kernel shows the GPU; no state, every file read anew.

Names of files are from the Jetson Linux Developer Guide, "Platform Power and Performance", of releases 28 (JetPack 3)
to 39 (JetPack 7); they moved often, and a container may lack some.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from workers.host.fingerprint import read_int, read_text
from workers.readings.jetson import nvpmodel
from workers.readings.record import slug

ROOT = Path("/")
CHIPS = {
    "tegra264": "thor",
    "tegra234": "orin",
    "tegra194": "xavier",
    "tegra186": "tx2",
    "tegra210": "",
    "tegra124": "tk1",
}
"""Chips as the device tree names them -> the generation, where it is part of a board's name."""

MODULES = {
    "p3834": "agx",
    "p3701": "agx",
    "p3767-0000": "nx",
    "p3767-0001": "nx",
    "p3767-0003": "nano",
    "p3767-0004": "nano",
    "p3767-0005": "nano",
    "p2888": "agx",
    "p3668": "nx",
    "p3636": "nx",
    "p3448": "nano",
    "p2180": "tx1",
}
"""Numbers of modules, as the device tree names them -> the series."""

GPU = re.compile(r"(?:\d+\.)?(?:gpu|gm20b|gp10b|gv11b|ga10b)|gpu-gpc-0")
"""Names of the GPU among devices whose clock is scaled; Thor's has a clock for each cluster."""

SIZES_GIB = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GIB = 2**30


@dataclass(frozen=True)
class Board:
    """A board by its names; `compatible` is the device tree's, from the most special name on."""

    model: str
    compatible: tuple[str, ...]
    memory_b: int | None
    l4t: str | None

    @property
    def chip(self) -> str | None:
        """Name of the chip, as `tegra234`; None where the device tree is hidden, as in most containers."""
        return next((name for text in self.compatible if (name := text.partition(",")[2]) in CHIPS), None)

    @property
    def device_class(self) -> str:
        """Generation, series and size of the module: `jetson-orin-agx-64gb`, `jetson-nano-4gb`."""
        size = f"{_size_gib(self.memory_b)}gb" if self.memory_b else None
        return slug("jetson", self._generation(), self._series(), size)

    def _generation(self) -> str:
        words = re.search(r"\b(thor|orin|xavier|tx2|tk1)\b", self.model.lower().replace("_", " "))
        return words[1] if words else CHIPS.get(self.chip or "", "")

    def _series(self) -> str:
        words = re.search(r"\b(agx|nx|nano|tx1)\b", self.model.lower().replace("_", " "))
        if words:
            return words[1]
        modules = (series for text in self.compatible for name, series in MODULES.items() if name in text)
        return next(modules, "")


def _size_gib(memory_b: int) -> int:
    """Return the size that a module is sold with [GiB]: the kernel sees a little less."""
    return next((size for size in SIZES_GIB if size * GIB >= memory_b), round(memory_b / GIB))


def find_board(root: Path = ROOT) -> Board | None:
    """Return the board; None on a machine that is no Tegra."""
    compatible = _compatible(root)
    family = read_text(root / "sys/devices/soc0/family") or ""
    l4t = l4t_version(root)
    if l4t is None and "tegra" not in f"{' '.join(compatible)} {family}".lower():
        return None
    names = ("proc/device-tree/model", "sys/firmware/devicetree/base/model", "sys/devices/soc0/machine")
    model = next((text for name in names if (text := read_text(root / name))), "NVIDIA Tegra")
    return Board(model, compatible, _memory_b(root), l4t)


def _compatible(root: Path) -> tuple[str, ...]:
    names = ("proc/device-tree/compatible", "sys/firmware/devicetree/base/compatible")
    text = next((text for name in names if (text := read_text(root / name))), "")
    return tuple(word for word in text.split("\0") if word)


def _memory_b(root: Path) -> int | None:
    match = re.search(r"^MemTotal:\s+(\d+) kB$", read_text(root / "proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def l4t_version(root: Path = ROOT) -> str | None:
    """Return the release of Jetson Linux, as `36.4.3`; None where NVIDIA's system is not installed."""
    text = read_text(root / "etc/nv_tegra_release") or ""
    match = re.search(r"R(\d+) \(\w+\), REVISION: ([\d.]+)", text)
    return f"{match[1]}.{match[2]}" if match else None


def gpu_clocks(root: Path = ROOT) -> Path | None:
    """Return the folder with the GPU's clock, of kernels that scale it; None where there is none."""
    folders = sorted((root / "sys/class/devfreq").glob("*"))
    return next((folder for folder in folders if GPU.fullmatch(folder.name)), None)


def gpu_load(root: Path = ROOT) -> Path | None:
    """Return the file with the GPU's load in thousandths; None where the kernel has none, as on Thor."""
    clocks = gpu_clocks(root)
    places = [clocks / "device/load"] if clocks else []
    places += [root / "sys/devices/gpu.0/load", root / "sys/devices/platform/gpu.0/load"]
    return next((path for path in places if path.exists()), None)


def highest_clock_hz(clocks: Path | None) -> float | None:
    """Return the highest clock that the GPU can have [Hz], whatever the power mode allows."""
    words = (read_text(clocks / "available_frequencies") or "").split() if clocks else []
    return max((float(word) for word in words if word.isdigit()), default=None)


def locked_clock_hz(clocks: Path | None) -> float | None:
    """Return the one clock that the GPU may have [Hz], as `jetson_clocks` sets it; None where it is scaled."""
    lowest, highest = (read_int(clocks / name) if clocks else None for name in ("min_freq", "max_freq"))
    return float(highest) if highest and lowest == highest else None


def clock_policy(clocks: Path | None) -> str | None:
    """Return `locked`, or the governor that scales the GPU's clock; None where neither is told."""
    return "locked" if locked_clock_hz(clocks) else (read_text(clocks / "governor") if clocks else None)


def power_mode(root: Path = ROOT) -> str | None:
    """Return the name of the power mode, from what `nvpmodel` keeps on disk; None where that may not be read.

    A mode of which only the number is known has that for a name.
    """
    number = re.search(r"pmode:0*(\d+)", read_text(root / "var/lib/nvpmodel/status") or "")
    if number is None:
        return None
    names = rf"<\s*POWER_MODEL\s+ID={number[1]}\s+NAME=([^\s>]+)"
    name = re.search(names, read_text(root / "etc/nvpmodel.conf") or "")
    return name[1] if name else f"mode {number[1]}"


def said_mode(text: str) -> str | None:
    """Return the power mode's name from what `nvpmodel -q` prints."""
    mode = nvpmodel.parse(text)
    return mode.name if mode else None
