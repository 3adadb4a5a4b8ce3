"""What the kernel tells of a device on the PCI bus, whichever kind it is (sysfs-bus-pci)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from workers.host.fingerprint import read_int, read_text

GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6, "128": 7}
"""Transfers a second and lane [GT/s] -> PCIe generation."""


class Link(NamedTuple):
    """A device's link: PCIe generation and lanes now, and the most that it can do; None is not told."""

    gen: int | None
    width: int | None
    gen_max: int | None
    width_max: int | None


def link(device: Path | None) -> Link:
    """Return the link of a device, `device` being its folder below `/sys/bus/pci/devices`."""
    if device is None:
        return Link(None, None, None, None)
    return Link(
        generation(read_text(device / "current_link_speed")),
        _lanes(device / "current_link_width"),
        generation(read_text(device / "max_link_speed")),
        _lanes(device / "max_link_width"),
    )


def generation(speed: str | None) -> int | None:
    """Return the PCIe generation of a speed as the kernel writes it, `16.0 GT/s PCIe`; of virtual links, None."""
    match = re.match(r"(\d+(?:\.\d+)?) GT/s", speed or "")
    return GENERATIONS.get(f"{float(match[1]):g}") if match else None


def _lanes(file: Path) -> int | None:
    lanes = read_int(file)
    return lanes if lanes and lanes <= 32 else None  # 255 is what the kernel writes for unknown


def numa_node(device: Path | None) -> int | None:
    """Return the number of a device's NUMA node; the kernel writes -1 where there is none."""
    node = read_int(device / "numa_node") if device else None
    return node if node is not None and node >= 0 else None


def driver_version(device: Path | None) -> str | None:
    """Return the version of the driver's module, if it tells one."""
    return read_text(device / "driver/module/version") if device else None
