"""The fields of DCGM that are asked for, as dcgm-exporter names them, with what their values mean.

A field is known by the name in the exporter's counters file. DCGM 4 gave many of them new names for the same number,
and a counters file may use either. The type that the file gives a field (`gauge`, `counter`) is the file's author's
opinion: older files call the byte rates counters, and they are rates all the same. So it is never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ROUNDING = 1.01
"""Shares may come out a little above one; more than that is no share (DCGM tells 1.29 of some MIG instances)."""
NO_COUNT = 4e18
"""DCGM's blanks of 64-bit integers are just below 2**63."""
NO_MASK = 2.0**30
"""DCGM's blanks of 32-bit integers are just below 2**31."""


class Kind(StrEnum):
    """How the values of a field become one number of a window."""

    LEVEL = "level"
    """A level, or an average since the value before: the mean over time."""

    RATE = "rate"
    """The same in bytes per second, where a counter may hide under the name."""

    COUNTER = "counter"
    """What it rose by."""

    MASK = "mask"
    """Bits: the share of time in which one that slows the device down is set."""


@dataclass(frozen=True)
class Field:
    """One number that can be told of a device.

    `names` are the exporter's names, the usual one first. `factor` turns the exporter's unit into `unit`; above
    `highest` (exporter's unit) there is no value, and where `zero_is_blank` none at zero. `of_instance` says whether
    DCGM measures it for a MIG instance; `profiling` whether it comes from the profiling counters; `line_type` and
    `help` are what a counters file says of it.
    """

    metric: str
    title: str
    unit: str
    names: tuple[str, ...]
    help: str
    highest: float
    kind: Kind = Kind.LEVEL
    factor: float = 1.0
    zero_is_blank: bool = False
    of_instance: bool = False
    profiling: bool = False
    line_type: str = "gauge"

    @property
    def line(self) -> str:
        """The line of a counters file that makes dcgm-exporter tell it."""
        return f"{self.names[0]}, {self.line_type}, {self.help}"

    def is_value(self, told: float) -> bool:
        """Whether a number from the exporter is a value, and neither a blank nor impossible."""
        return 0 <= told <= self.highest and not (self.zero_is_blank and told == 0)


def _share(metric: str, title: str, names: tuple[str, ...], help_text: str) -> Field:
    return Field(metric, title, "1", names, help_text, ROUNDING, of_instance=True, profiling=True)


def _rate(metric: str, title: str, name: str, help_text: str, highest: float) -> Field:
    return Field(metric, title, "B/s", (name,), help_text, highest, Kind.RATE, profiling=True)


def _clock(metric: str, title: str, name: str, help_text: str) -> Field:
    return Field(metric, title, "Hz", (name,), help_text, 10_000, factor=1e6, zero_is_blank=True)


PCIE_HIGHEST, NVLINK_HIGHEST = 1e12, 1e13
"""Well above every link that there is [B/s]; what a counter of bytes soon passes."""

_ALL = (
    _share(
        "sm_active",
        "multiprocessors with work",
        ("DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_UTIL_RATIO"),
        "Share of cycles in which a multiprocessor has a warp.",
    ),
    _share(
        "sm_occupancy",
        "resident warps over the most possible",
        ("DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_SM_OCCUPANCY_RATIO"),
        "Resident warps over the most possible.",
    ),
    _share(
        "tensor_active",
        "matrix units at work",
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO"),
        "Share of cycles in which a tensor pipe works.",
    ),
    _share(
        "dram_active",
        "device memory moving data",
        ("DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_DRAM_UTIL_RATIO"),
        "Share of cycles in which device memory moves data.",
    ),
    _share(
        "gr_engine_active",
        "graphics or compute engine busy",
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"),
        "Share of time in which the graphics or compute engine is busy.",
    ),
    _rate(
        "pcie_tx_b_s",
        "sent over PCIe",
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "Bytes per second sent by the GPU over PCIe with headers.",
        PCIE_HIGHEST,
    ),
    _rate(
        "pcie_rx_b_s",
        "received over PCIe",
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        "Bytes per second received by the GPU over PCIe with headers.",
        PCIE_HIGHEST,
    ),
    _rate(
        "nvlink_tx_b_s",
        "sent over NVLink",
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        "Bytes per second sent by the GPU over all NVLinks.",
        NVLINK_HIGHEST,
    ),
    _rate(
        "nvlink_rx_b_s",
        "received over NVLink",
        "DCGM_FI_PROF_NVLINK_RX_BYTES",
        "Bytes per second received by the GPU over all NVLinks.",
        NVLINK_HIGHEST,
    ),
    Field(
        "power_w",
        "power drawn",
        "W",
        ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS"),
        "Power draw (in W).",
        10_000,
        zero_is_blank=True,
    ),
    Field(
        "energy_j",
        "energy used",
        "J",
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",),
        "Energy since the driver was loaded (in mJ).",
        NO_COUNT,
        Kind.COUNTER,
        factor=1e-3,
        zero_is_blank=True,
        line_type="counter",
    ),
    Field(
        "util",
        "any kernel running",
        "1",
        ("DCGM_FI_DEV_GPU_UTIL",),
        "Share of time in which a kernel runs (in %).",
        100,
        factor=0.01,
    ),
    _clock("sm_clock_hz", "clock of the multiprocessors", "DCGM_FI_DEV_SM_CLOCK", "SM clock (in MHz)."),
    _clock("mem_clock_hz", "clock of the memory", "DCGM_FI_DEV_MEM_CLOCK", "Memory clock (in MHz)."),
    Field(
        "throttled",
        "slowed down",
        "1",
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"),
        "Why the clock is not higher (bits).",
        NO_MASK,
        Kind.MASK,
    ),
)

FIELDS: dict[str, Field] = {field.metric: field for field in _ALL}
"""By metric: the names of an agent's readings where it has them too."""

BY_NAME: dict[str, Field] = {name: field for field in _ALL for name in field.names}
"""By every name that an exporter may use."""

SLOWED_BY: dict[int, str] = {
    0x4: "power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "hw_brake",
}
"""DCGM_CLOCKS_EVENT_REASON_*, which are NVML's, without those of an idle device and of clocks that were asked for."""
