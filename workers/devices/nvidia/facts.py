"""Facts of an NVIDIA GPU or MIG instance through NVML: what stays while nobody changes the machine.

Two things cannot be known from NVML. Whether clocks are locked (`nvidia-smi -lgc`): it has functions to lock and to
unlock them only. And the NUMA node: `nvmlDeviceGetNumaNodeId` is the one that a GPU itself makes up (Grace Hopper), so
the node that it is attached to comes from the kernel.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workers.devices.nvidia.gpu import MEMORY, SM, Gpu, scaled
from workers.host.fingerprint import read_int
from workers.readings.record import Facts, facts

PCI = Path("/sys/bus/pci/devices")
PLACE = re.compile(r"([0-9a-f]+):([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])")

ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
"""`NVML_DEVICE_ARCH_*`."""

COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
"""`nvmlComputeMode_t`, in nvidia-smi's words."""


def gpu_facts(gpu: Gpu) -> Facts:
    """Return every one of `FACTS`, as far as NVML tells it."""
    return facts(**_identity(gpu), **_software(gpu), **_limits(gpu), **_modes(gpu), **_surroundings(gpu))


def _identity(gpu: Gpu) -> dict[str, Any]:
    attributes = gpu.get_own("cores", ("nvmlDeviceGetAttributes_v2",)) if gpu.instance else None
    return {
        "index": _index(gpu),
        "uuid": gpu.uuid,
        "serial": gpu.get("serial", ("nvmlDeviceGetSerial",)),
        "pci_bus_id": gpu.pci_bus_id,
        "model": gpu.model,
        "architecture": ARCHITECTURES.get(gpu.get("architecture", ("nvmlDeviceGetArchitecture",))),
        "cores": None if attributes is None else attributes.multiprocessorCount,
        "memory_b": gpu.memory()[0],
    }


def _index(gpu: Gpu) -> int | str | None:
    """Return the number of the GPU; of a MIG instance `0:1`, the GPU's and its own, as container runtimes write it."""
    number: int | None = gpu.get("index", ("nvmlDeviceGetIndex",))
    return number if gpu.instance is None or number is None else f"{number}:{gpu.instance.place}"


def _software(gpu: Gpu) -> dict[str, Any]:
    versions = ("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",)
    cuda = gpu.nvml.ask("runtime", *versions)
    return {
        "driver": gpu.driver(),
        "firmware": gpu.get("firmware", ("nvmlDeviceGetVbiosVersion",)),
        "runtime": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
    }


def _limits(gpu: Gpu) -> dict[str, Any]:
    limits = gpu.get("power_limit_max_w", ("nvmlDeviceGetPowerManagementLimitConstraints",))
    default = gpu.get("power_limit_default_w", ("nvmlDeviceGetPowerManagementDefaultLimit",))
    return {
        "sm_clock_max_hz": gpu.clock_hz("sm_clock_max_hz", ("nvmlDeviceGetMaxClockInfo", SM)),
        "mem_clock_max_hz": gpu.clock_hz("mem_clock_max_hz", ("nvmlDeviceGetMaxClockInfo", MEMORY)),
        "app_sm_clock_hz": gpu.application_clock_hz(),
        "app_mem_clock_hz": gpu.clock_hz("app_mem_clock_hz", ("nvmlDeviceGetApplicationsClock", MEMORY)),
        "clock_policy": gpu.clock_policy(),
        "power_limit_default_w": scaled(default, 1e3),
        "power_limit_max_w": scaled(limits[1], 1e3) if limits else None,
    }


def _modes(gpu: Gpu) -> dict[str, Any]:
    ecc = gpu.get("ecc_mode", ("nvmlDeviceGetEccMode",)) or (None, None)
    partition_mode = gpu.partition_mode()
    mode = gpu.get("compute_mode", ("nvmlDeviceGetComputeMode",))
    return {
        "persistence": _switch(gpu.get("persistence", ("nvmlDeviceGetPersistenceMode",))),
        "ecc_mode": _switch(ecc[0]),
        "ecc_mode_pending": _switch(ecc[1]),
        "remap_pending": _remap_pending(gpu),
        "partition_mode": partition_mode,
        "partitions": _partitions(gpu, partition_mode),
        "compute_mode": COMPUTE_MODES[mode] if mode in range(len(COMPUTE_MODES)) else None,
    }


def _remap_pending(gpu: Gpu) -> bool | None:
    rows = gpu.get("remap_pending", ("nvmlDeviceGetRemappedRows",))
    if rows is not None:
        return bool(rows[2])
    return _switch(gpu.get("remap_pending", ("nvmlDeviceGetRetiredPagesPendingStatus",)))


def _partitions(gpu: Gpu, mode: str | None) -> list[str] | None:
    """Return nothing for a GPU that is not divided, and of an instance its own profile."""
    if gpu.instance is None:
        return [] if mode == "disabled" else None
    return [gpu.profile] if gpu.profile else None


def _surroundings(gpu: Gpu) -> dict[str, Any]:
    return {
        "pcie_gen_max": gpu.get("pcie_gen_max", ("nvmlDeviceGetMaxPcieLinkGeneration",)) or None,
        "pcie_width_max": gpu.get("pcie_width_max", ("nvmlDeviceGetMaxPcieLinkWidth",)) or None,
        "numa_node": numa_node(gpu.pci_bus_id),
    }


def numa_node(pci_bus_id: str | None) -> int | None:
    """Return the NUMA node that a PCI device is attached to; None where the machine has one node only.

    NVML writes a PCI domain with eight digits and the kernel with four, more where it needs them.
    """
    place = PLACE.fullmatch(pci_bus_id or "")
    node = read_int(PCI / f"{int(place[1], 16):04x}:{place[2]}" / "numa_node") if place else None
    return node if node is not None and node >= 0 else None


def _switch(state: int | None) -> bool | None:
    """Return whether something is on (`nvmlEnableState_t`)."""
    return None if state is None else bool(state)
