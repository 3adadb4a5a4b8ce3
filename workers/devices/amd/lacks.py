"""Why an AMD GPU that seems to be here cannot be used, what one does not tell, and what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from workers.devices.amd.kfd import Node, may_use, nodes, sees_processes
from workers.devices.amd.sysfs import OF_THE_WHOLE_GPU, PCI, VENDOR, Gpu
from workers.devices.base import Lack
from workers.host.fingerprint import read_text

DISPLAY = re.compile(r"0x(?:03|12)")
"""Classes of PCI devices: display controllers, and accelerators without a display."""

TOOLS_HOW = "install AMD's library or tools (package amd-smi-lib of ROCm)"
DRIVER_HOW = "install a newer amdgpu driver (package amdgpu-dkms, or a newer kernel)"
KERNEL_LOG = "look for amdgpu and kfd lines in the kernel's log (dmesg)"

PART = Lack(
    ", ".join(OF_THE_WHOLE_GPU),
    "the driver tells it of a whole GPU only, and this is a part of one",
    "measure on whole GPUs (amd-smi set --compute-partition SPX)",
)
HIDDEN = Lack(
    "foreign_pids",
    "the agent is in a container, and the driver tells the machine's numbers of processes",
    "start the container with --pid=host (Kubernetes: hostPID: true)",
)


def absence(root: Path) -> Lack | None:
    """Return why the GPUs of a machine cannot be used; None where it seems to have none."""
    places = [place.name for place in sorted((root / PCI).glob("*")) if _is_gpu(place)]
    if not places:
        return None
    what = f"AMD GPU (PCI {', '.join(places)})"
    drivers = {place: driver(root, place) for place in places}
    bound = [place for place in places if drivers[place] == "amdgpu"]
    if not bound:
        return Lack(what, _without_driver(drivers[places[0]]), _driver_how(drivers[places[0]]))
    return Lack(what, *_unused(root, [node for node in nodes(root) if node.address in bound]))


def _is_gpu(device: Path) -> bool:
    is_display = DISPLAY.match(read_text(device / "class") or "")
    return read_text(device / "vendor") == VENDOR and is_display is not None


def driver(root: Path, address: str) -> str | None:
    """Return the name of the driver that has a PCI device; None where none has."""
    try:
        return Path(os.readlink(root / PCI / address / "driver")).name
    except OSError:
        return None


def _without_driver(name: str | None) -> str:
    return f"the driver {name} has it" if name else "no driver has it"


def _driver_how(name: str | None) -> str:
    if name == "vfio-pci":
        return "it is set aside for a virtual machine: run the agent there, or give it back to amdgpu"
    return "load the driver (sudo modprobe amdgpu); where there is none, install ROCm's (package amdgpu-dkms)"


def _unused(root: Path, found: list[Node]) -> tuple[str, str]:
    """Return why GPUs that the driver has cannot be used, and what to do."""
    if not (root / "dev/kfd").exists():
        how = f"start a container with --device=/dev/kfd --device=/dev/dri; on the host itself, {KERNEL_LOG}"
        return "there is no /dev/kfd", how
    if not found:
        return "the driver's compute side (KFD) does not list it", KERNEL_LOG
    if not any(may_use(root, node) for node in found):
        how = "add the agent's user to the groups render and video (sudo usermod -aG render,video USER), log in anew"
        return "the agent's user may not open /dev/kfd or the GPU's /dev/dri/renderD file", how
    return "ROCR_VISIBLE_DEVICES hides it from the agent", "start the agent without that variable"


def gpu_lacks(root: Path, gpu: Gpu, trouble: str | None) -> list[Lack]:
    """Return what a GPU does not tell; `trouble` is why AMD's tools did not help, None where they did or need not."""
    return [
        *_throttling(gpu, trouble),
        *([PART] if gpu.is_part else []),
        *([] if sees_processes(root) else [HIDDEN]),
    ]


def _throttling(gpu: Gpu, trouble: str | None) -> Iterator[Lack]:
    version, metrics = gpu.metrics_version(), gpu.metrics()
    if version is None:
        yield Lack(
            "throttle_reasons, energy_j_total", "the driver has no gpu_metrics of this GPU", DRIVER_HOW
        )
    elif metrics is None and trouble is not None:
        why = f"the driver's gpu_metrics is of version {version}, which is not known here, and {trouble}"
        yield Lack("throttle_reasons", why, TOOLS_HOW)
    elif metrics is not None and metrics.throttle_reasons is None and metrics.cycles is None:
        why = f"the driver's gpu_metrics of version {version} does not tell it"
        yield Lack("throttle_reasons", why, DRIVER_HOW)
