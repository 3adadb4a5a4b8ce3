"""What DCGM's fields mean: the readings and facts that they tell, with their units, and values that are blank.

The meaning of a field is in DCGM's reference (`dcgm_fields.h`), its unit in dcgm-exporter's `default-counters.csv`, but
for two corrections. Frame buffer in "MB" is in MiB. Violations are in nanoseconds in all versions, as NVML counts them,
though descriptions said microseconds for long. `XID_ERRORS` is the code of the last error and no count, and is left
out; so are the `*_THROUGHPUT` fields, which NVML samples over 20 ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from workers.readings.quantities import quantity

BLANK_INT64 = 2**63 - 16
BLANKS = (range(2**31 - 16, 2**31), range(2**47, 2**47 + 16))
"""Numbers that say why there is no value: `DCGM_INT32_BLANK`, `DCGM_FP64_BLANK` and those after them."""


class Amount(NamedTuple):
    """A number: the fields that tell it, the first that does counts, and their unit."""

    unit: str
    names: tuple[str, ...]


OWN = {
    "util": Amount("%", ("DEV_GPU_UTIL",)),
    "mem_util": Amount("%", ("DEV_MEM_COPY_UTIL",)),
    "mem_used_b": Amount("MiB", ("DEV_FB_USED",)),
    "sm_active": Amount("", ("PROF_SM_ACTIVE",)),
    "sm_occupancy": Amount("", ("PROF_SM_OCCUPANCY",)),
    "tensor_active": Amount("", ("PROF_PIPE_TENSOR_ACTIVE",)),
    "dram_active": Amount("", ("PROF_DRAM_ACTIVE",)),
    "pcie_tx_b_s": Amount("", ("PROF_PCIE_TX_BYTES",)),
    "pcie_rx_b_s": Amount("", ("PROF_PCIE_RX_BYTES",)),
    "nvlink_tx_b_s": Amount("", ("PROF_NVLINK_TX_BYTES",)),
    "nvlink_rx_b_s": Amount("", ("PROF_NVLINK_RX_BYTES",)),
}
"""Readings that a MIG instance has for itself, as a GPU has."""

COMMON = {
    "sm_clock_hz": Amount("MHz", ("DEV_SM_CLOCK",)),
    "mem_clock_hz": Amount("MHz", ("DEV_MEM_CLOCK",)),
    "temp_c": Amount("C", ("DEV_GPU_TEMP",)),
    "mem_temp_c": Amount("C", ("DEV_MEMORY_TEMP",)),
}
"""Readings of a GPU that hold for each of its instances."""

WHOLE_GPU = {
    "power_w": Amount("W", ("DEV_POWER_USAGE", "DEV_POWER_USAGE_INSTANT")),
    "power_limit_w": Amount("W", ("DEV_ENFORCED_POWER_LIMIT", "DEV_POWER_MGMT_LIMIT")),
    "energy_j_total": Amount("mJ", ("DEV_TOTAL_ENERGY_CONSUMPTION",)),
    "fan": Amount("%", ("DEV_FAN_SPEED",)),
    "throttle_mask": Amount("", ("DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCK_THROTTLE_REASONS")),
    "ecc_corrected": Amount("", ("DEV_ECC_SBE_VOL_TOTAL",)),
    "ecc_uncorrected": Amount("", ("DEV_ECC_DBE_VOL_TOTAL",)),
    "pcie_gen": Amount("", ("DEV_PCIE_LINK_GEN",)),
    "pcie_width": Amount("", ("DEV_PCIE_LINK_WIDTH",)),
    "pcie_replays": Amount("", ("DEV_PCIE_REPLAY_COUNTER",)),
}
"""Readings of a GPU as one."""

REPLACED = (
    ("DEV_CORRECTABLE_REMAPPED_ROWS", "DEV_UNCORRECTABLE_REMAPPED_ROWS"),
    ("DEV_RETIRED_SBE", "DEV_RETIRED_DBE"),
)
THROTTLE_NS = {
    "power_cap": ("DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", "DEV_POWER_VIOLATION"),
    "sync_boost": ("DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS", "DEV_SYNC_BOOST_VIOLATION"),
    "sw_thermal": ("DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS",),
    "hw_thermal": ("DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS",),
    "hw_brake": ("DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS",),
    "thermal": ("DEV_THERMAL_VIOLATION",),
    "board_limit": ("DEV_BOARD_LIMIT_VIOLATION",),
    "low_utilization": ("DEV_LOW_UTIL_VIOLATION",),
    "reliability": ("DEV_RELIABILITY_VIOLATION",),
}
"""Counters of time; a thermal violation does not say whether software or hardware acted."""

FACTS = {
    "memory_b": Amount("MiB", ("DEV_FB_TOTAL",)),
    "sm_clock_max_hz": Amount("MHz", ("DEV_MAX_SM_CLOCK",)),
    "mem_clock_max_hz": Amount("MHz", ("DEV_MAX_MEM_CLOCK",)),
    "app_sm_clock_hz": Amount("MHz", ("DEV_APP_SM_CLOCK",)),
    "app_mem_clock_hz": Amount("MHz", ("DEV_APP_MEM_CLOCK",)),
    "power_limit_default_w": Amount("W", ("DEV_POWER_MGMT_LIMIT_DEF",)),
    "power_limit_max_w": Amount("W", ("DEV_POWER_MGMT_LIMIT_MAX",)),
    "pcie_gen_max": Amount("", ("DEV_PCIE_MAX_LINK_GEN",)),
    "pcie_width_max": Amount("", ("DEV_PCIE_MAX_LINK_WIDTH",)),
}
SWITCHES = {
    "persistence": ("DEV_PERSISTENCE_MODE",),
    "ecc_mode": ("DEV_ECC_CURRENT",),
    "ecc_mode_pending": ("DEV_ECC_PENDING",),
    "remap_pending": ("DEV_ROW_REMAP_PENDING", "DEV_RETIRED_PENDING"),
}
SHARES = ("sm_active", "sm_occupancy", "tensor_active", "dram_active")
COUNTED = ("_hz", "_b", "_b_s", "gen", "width", "gen_max", "width_max", "replays", "corrected", "mask")
"""Ends of the names of what is counted: whole numbers."""

MEMORY_PARTS = ("DEV_FB_USED", "DEV_FB_FREE", "DEV_FB_RESERVED")
RATES = tuple(name for reading, field in OWN.items() if reading.endswith("_b_s") for name in field.names)

Values = Mapping[str, float]
"""Values by field, without `DCGM_FI_`; fields without a value are not there."""


def field_value(field: str, text: str, kind: str | None) -> float | None:
    """Return a series' value, or None where it is blank, or a counter where a rate is meant."""
    number = quantity(text)
    if number is None or not math.isfinite(number):
        return None
    blank = number >= BLANK_INT64 or any(number in blanks for blanks in BLANKS)
    return None if blank or (field in RATES and kind == "counter") else number


def amounts(values: Values, wanted: Mapping[str, Amount]) -> dict[str, float | int | None]:
    """Return numbers in base units by name; those that are counted are whole."""
    found: dict[str, float | int | None] = {}
    for name, (unit, fields) in wanted.items():
        value = next((values[field] for field in fields if field in values), None)
        number = quantity(value, unit=unit)
        if name in SHARES and number is not None:
            number = _share(number)
        found[name] = round(number) if number is not None and name.endswith(COUNTED) else number
    return found


def _share(number: float) -> float | None:
    """Return a share; one a little over 1 is an average's rounding, one far over it is DCGM's error with instances."""
    return min(number, 1.0) if 0 <= number <= 1.05 else None


def switch(values: Values, fields: tuple[str, ...]) -> bool | None:
    """Return whether something is on, or None where no field tells."""
    value = next((values[field] for field in fields if field in values), None)
    return None if value is None else value > 0


def throttle_ns(values: Values) -> dict[str, int] | None:
    """Return the counters of time under each reason [ns], or None where there are none."""
    spent = {
        name: round(next(values[field] for field in fields if field in values))
        for name, fields in THROTTLE_NS.items()
        if any(field in values for field in fields)
    }
    return spent or None


def replaced(values: Values) -> int | None:
    """Return rows that were remapped, or pages that were retired on GPUs that do not remap."""
    pairs = [pair for pair in REPLACED if all(field in values for field in pair)]
    return round(sum(values[field] for field in pairs[0])) if pairs else None


def memory_seen(values: Values) -> int | None:
    """Return the memory [B] that the parts sum to, good enough for a class; each part is rounded down."""
    parts = [values[name] for name in MEMORY_PARTS if name in values]
    return round(sum(parts) * 2**20) if len(parts) == len(MEMORY_PARTS) else None
