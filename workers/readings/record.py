"""What is known of a device: facts that stay while it runs, and readings of one moment.

Every source fills the same names, whether it is a driver's library, a vendor's command or a file that somebody
recorded. What a source does not tell is None, with its name in `unavailable`; never 0, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FACTS: dict[str, str] = {
    "index": "number of the device on its host, as its vendor counts",
    "uuid": "the vendor's own name of this very device",
    "serial": "serial number of the board",
    "pci_bus_id": "place on the PCI bus, domain:bus:device.function in lower case",
    "model": "name of the product, as the vendor writes it",
    "architecture": "generation of the device, as the vendor writes it",
    "cores": "compute cores of the device: NeuronCores, TensorCores, compute units",
    "memory_b": "device memory [B]",
    "driver": "version of the kernel driver",
    "firmware": "version of the device's firmware (VBIOS)",
    "runtime": "version of the vendor's runtime: CUDA that the driver supports, ROCm, libtpu, Neuron, L4T",
    "sm_clock_max_hz": "highest clock of the compute cores [Hz]",
    "mem_clock_max_hz": "highest clock of the memory [Hz]",
    "app_sm_clock_hz": "clock of the compute cores that was asked for [Hz]",
    "app_mem_clock_hz": "clock of the memory that was asked for [Hz]",
    "clock_policy": "how the clocks are chosen: locked, application, automatic, or the vendor's word for it",
    "power_limit_default_w": "power limit as delivered [W]",
    "power_limit_max_w": "highest power limit that can be set [W]",
    "persistence": "whether the driver keeps the device ready when nobody uses it",
    "ecc_mode": "whether memory errors are corrected",
    "ecc_mode_pending": "the same after the next reset",
    "remap_pending": "whether rows or pages wait for a reset to be replaced",
    "partition_mode": "how the device is divided: MIG `enabled`, a compute partition (SPX, DPX, CPX), or `disabled`",
    "partitions": "the parts that it is divided into, by name",
    "compute_mode": "who may use it at one time, as the vendor writes it",
    "power_mode": "name of the board's power mode (nvpmodel)",
    "pcie_gen_max": "PCIe generation that device and slot can do",
    "pcie_width_max": "PCIe lanes that device and slot can do",
    "numa_node": "number of the NUMA node that it is attached to",
    "instance_type": "type of the cloud's machine",
}
"""Facts by name. They move only when somebody changes the machine."""

READINGS: dict[str, str] = {
    "t_ns": "moment of the reading on this host's monotonic clock [ns]",
    "time": "moment of a recorded reading as its source gives it, ISO 8601; with an offset only where it has one",
    "util": "share of time in which the device has work, from 0 to 1",
    "mem_util": "share of time in which memory moves data, from 0 to 1",
    "sm_active": "share of time in which a multiprocessor has work, from 0 to 1",
    "sm_occupancy": "resident warps over the most possible, from 0 to 1",
    "tensor_active": "share of cycles in which matrix units work, from 0 to 1",
    "dram_active": "share of cycles in which device memory moves data, from 0 to 1",
    "sm_clock_hz": "clock of the compute cores [Hz]",
    "mem_clock_hz": "clock of the memory [Hz]",
    "power_w": "power that the device draws [W]",
    "energy_j_total": "energy since the driver was loaded, a counter [J]",
    "temp_c": "temperature of the chip [degrees C]",
    "mem_temp_c": "temperature of the memory [degrees C]",
    "fan": "speed of the fan over its highest, 1 being all; may be a little over",
    "mem_used_b": "device memory in use [B]",
    "throttle_mask": "reasons why the clock is not higher, as NVML's bits where the vendor has them",
    "throttle_reasons": "names of the reasons that hold: those of `THROTTLE_BITS`, or the vendor's word",
    "throttle_ns": "time spent under each reason since the driver was loaded, counters by name [ns]",
    "ecc_corrected": "memory errors corrected since the driver was loaded, a counter",
    "ecc_uncorrected": "memory errors not corrected since the driver was loaded, a counter",
    "remapped_rows": "memory rows or pages replaced in the device's life, a counter",
    "xid_count": "errors of the driver seen by this agent since it started, a counter",
    "pcie_gen": "PCIe generation of the link just now",
    "pcie_width": "PCIe lanes of the link just now",
    "pcie_replays": "packets sent again on the link, a counter",
    "pcie_tx_b_s": "bytes sent to the host [B/s]",
    "pcie_rx_b_s": "bytes received from the host [B/s]",
    "nvlink_tx_b_s": "bytes sent to other devices [B/s]",
    "nvlink_rx_b_s": "bytes received from other devices [B/s]",
    "over_current": "times that the supply was overloaded, a counter",
    "foreign_pids": "processes on the device that are not the measured one; of a recording, all of them",
    "host_cpu_foreign": "processors that other programs than the measured one keep busy",
    "host_steal": "share of the processors' time that the hypervisor took, from 0 to 1",
    "swap_in_b": "memory read back from swap by other programs since boot, a counter [B]",
    "power_limit_w": "power limit that holds [W]",
    "mode": "what else changes how fast the device is, when somebody changes it: partition, power mode, clock policy",
}
"""Readings by name: the tick record. They may differ from one moment to the next."""

THROTTLE_BITS: dict[int, str] = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "hw_brake",
    0x100: "display_clock",
}
"""NVML's clock event reasons, `nvmlClocksEventReason*` in nvml.h; the first two and the last are no throttling."""

Facts = dict[str, Any]
Tick = dict[str, Any]


@dataclass(frozen=True)
class DeviceRecord:
    """One device as one source told it; `readings` in time order, empty where the source has none."""

    kind: str
    device_class: str
    facts: Facts
    readings: tuple[Tick, ...] = ()

    @property
    def name(self) -> str:
        """What tells it from the other devices of its source."""
        return str(self.facts["uuid"] or self.facts["pci_bus_id"] or self.facts["index"] or 0)


def facts(**known: object) -> Facts:
    """Return complete facts: what is not among `known`, or is None there, is listed as unavailable."""
    return _complete(FACTS, known)


def tick(**readings: object) -> Tick:
    """Return a complete tick: what is not among `readings`, or is None there, is listed as unavailable."""
    return _complete(READINGS, readings)


def _complete(names: Mapping[str, str], known: Mapping[str, object]) -> dict[str, Any]:
    assert known.keys() <= names.keys(), f"no such fact or reading: {set(known) - set(names)}"
    values = {name: known.get(name) for name in names}
    return {**values, "unavailable": [name for name, value in values.items() if value is None]}


def throttle_reasons(mask: int | None) -> list[str] | None:
    """Return the names of the bits of NVML's mask; a bit without a name is told by its number."""
    if mask is None:
        return None
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return [THROTTLE_BITS.get(bit, hex(bit)) for bit in bits]


def slug(*words: str | None) -> str:
    """Return words as a name of a class of devices: lower case, letters and digits joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", " ".join(word for word in words if word).lower())) or "unknown"
