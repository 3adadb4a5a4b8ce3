"""What the forms of nvidia-smi's output share: one set of field names, and what each means here.

Every form is first brought to the names of `nvidia-smi --help-query-gpu`; names of our own stand for what only the
other forms tell (`architecture`, `cuda_version`, `pcie.replays`, `pcie.tx`, `pcie.rx`). The meaning of the fields is
that of nvidia-smi(1) and of NVML's reference. Memory is in MiB in all forms, where a header says MB, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from workers.readings.nvidia.products import clock_policy, mode_text, partition_mode
from workers.readings.quantities import quantity, valid_time, whole
from workers.readings.record import THROTTLE_BITS, Facts, Tick, facts, throttle_reasons, tick

TOOL = "nvidia-smi"

Fields = Mapping[str, str]
"""Values as they were printed, by the name of their field."""

SECTION = re.compile(r"^# [\w-]+ :: .+$", re.MULTILINE)
"""The title of a section in a capture of several outputs."""

NOTE = re.compile(r"\s*\[[^\]]*\]$")
MISSING = frozenset(
    (
        "",
        "-",
        "n/a",
        "err!",
        "error",
        "not supported",
        "unknown error",
        "gpu is lost",
        "gpu requires reset",
        "function not found",
        "insufficient permissions",
        "requested functionality has been deprecated",
    )
)
"""What stands for no value, in lower case; in CSV the same words are in brackets."""

SWITCHES = {"enabled": True, "on": True, "yes": True, "disabled": False, "off": False, "no": False}
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
CTIME = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})")
STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)")

REASONS = {
    "gpu_idle": 0x1,
    "idle": 0x1,
    "applications_clocks_setting": 0x2,
    "user_defined_clocks": 0x2,
    "sw_power_cap": 0x4,
    "sw_power_capping": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "sw_therm_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_therm_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "hw_power_brake": 0x80,
    "hw_power_braking": 0x80,
    "display_clocks_setting": 0x100,
    "display_clock_setting": 0x100,
}
"""Reasons for a clock below the highest, as the forms name them, in their versions -> NVML's bit."""

FAMILIES = ("clocks_event_reasons", "clocks_throttle_reasons")
"""What the reasons are called, since driver 535 and before."""

EVERY_MASK = {0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80}
"""Reasons that every driver since 390 prints; without one of them the mask is not told."""

TEXTS = {
    "uuid": ("uuid",),
    "serial": ("serial",),
    "model": ("name",),
    "architecture": ("architecture",),
    "driver": ("driver_version", "kmd_version"),
    "firmware": ("vbios_version",),
    "runtime": ("cuda_version", "cuda_umd_version"),
    "compute_mode": ("compute_mode",),
}
"""Facts that are words -> the fields that tell them; the first that tells counts."""

STATES = {
    "persistence": ("persistence_mode",),
    "ecc_mode": ("ecc.mode.current",),
    "ecc_mode_pending": ("ecc.mode.pending",),
    "remap_pending": ("remapped_rows.pending", "retired_pages.pending"),
}
"""Facts that are yes or no."""


class Amount(NamedTuple):
    """A number: the fields that tell it, and its unit where none is written."""

    unit: str
    names: tuple[str, ...]


FACT_AMOUNTS = {
    "memory_b": Amount("MiB", ("memory.total",)),
    "sm_clock_max_hz": Amount("MHz", ("clocks.max.sm",)),
    "mem_clock_max_hz": Amount("MHz", ("clocks.max.memory", "clocks.max.mem")),
    "app_sm_clock_hz": Amount("MHz", ("clocks.applications.graphics", "clocks.applications.gr")),
    "app_mem_clock_hz": Amount("MHz", ("clocks.applications.memory", "clocks.applications.mem")),
    "power_limit_default_w": Amount("W", ("power.default_limit", "gpu.power.default_limit")),
    "power_limit_max_w": Amount("W", ("power.max_limit", "gpu.power.max_limit")),
    "pcie_gen_max": Amount("", ("pcie.link.gen.max",)),
    "pcie_width_max": Amount("", ("pcie.link.width.max",)),
    "cores": Amount("", ("multiprocessor_count",)),
}
DEFAULT_SM_CLOCK = Amount("MHz", ("clocks.default_applications.graphics", "clocks.default_applications.gr"))
READING_AMOUNTS = {
    "util": Amount("%", ("utilization.gpu",)),
    "mem_util": Amount("%", ("utilization.memory",)),
    "sm_clock_hz": Amount("MHz", ("clocks.current.sm", "clocks.sm")),
    "mem_clock_hz": Amount("MHz", ("clocks.current.memory", "clocks.mem")),
    "power_w": Amount("W", ("power.draw", "power.draw.average", "power.draw.instant")),
    "power_limit_w": Amount("W", ("enforced.power.limit", "gpu.power.current_limit", "power.limit")),
    "temp_c": Amount("C", ("temperature.gpu",)),
    "mem_temp_c": Amount("C", ("temperature.memory",)),
    "fan": Amount("%", ("fan.speed",)),
    "mem_used_b": Amount("MiB", ("memory.used",)),
    "pcie_gen": Amount("", ("pcie.link.gen.current", "pcie.link.gen.gpucurrent")),
    "pcie_width": Amount("", ("pcie.link.width.current",)),
    "pcie_replays": Amount("", ("pcie.replays",)),
    "pcie_tx_b_s": Amount("KB", ("pcie.tx",)),
    "pcie_rx_b_s": Amount("KB", ("pcie.rx",)),
}
"""`power.draw` is the average of a second from Ampere on, but for GA100; newer XML names the average alone.

The limit that holds is the enforced one; the limit that was set stands in where only that one was asked for.
"""

WHOLE = ("_hz", "_b", "_b_s", "gen", "width", "gen_max", "width_max", "replays", "cores")
"""Ends of the names of what is counted: whole numbers."""

RETIRED = (
    ("retired_pages.single_bit_ecc.count", "retired_pages.sbe"),
    ("retired_pages.double_bit.count", "retired_pages.dbe"),
)
REMAPPED = (
    ("remapped_rows.correctable", "remapped_rows.sbe"),
    ("remapped_rows.uncorrectable", "remapped_rows.dbe"),
)


def is_capture(text: str) -> bool:
    """Say whether a text is a capture: several outputs, each under a title."""
    return SECTION.search(text) is not None


def told(value: str | None) -> str | None:
    """Return a printed value without notes in brackets, or None where it stands for no value."""
    text = NOTE.sub("", (value or "").strip()).strip()
    return None if text.lower() in MISSING else text


def first(fields: Fields, names: Iterable[str]) -> str | None:
    """Return what the first of the fields that tells something tells."""
    return next((value for name in names if (value := told(fields.get(name))) is not None), None)


def amount(fields: Fields, wanted: Amount) -> float | None:
    """Return a number in base units."""
    value = first(fields, wanted.names)
    return None if value is None else quantity(re.sub(r"(?<=\d)x$|/s$", "", value), unit=wanted.unit)


def amounts(fields: Fields, wanted: Mapping[str, Amount]) -> dict[str, float | int | None]:
    """Return numbers in base units by name; those that are counted are whole."""
    numbers = {name: amount(fields, field) for name, field in wanted.items()}
    return {
        name: round(number) if number is not None and name.endswith(WHOLE) else number
        for name, number in numbers.items()
    }


def switch(value: str | None) -> bool | None:
    """Return whether something is on, or None where that is not told."""
    return SWITCHES.get((told(value) or "").rstrip("*").lower())


def iso_time(value: str | None) -> str | None:
    """Return a time of nvidia-smi's, `Fri Aug  4 11:44:30 2023` or `2026/07/14 08:12:38.696`, as ISO 8601."""
    text = (value or "").strip()
    if match := CTIME.fullmatch(text):
        month, day, clock, year = match.groups()
        return (
            valid_time(f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}T{clock}")
            if month in MONTHS
            else None
        )
    match = STAMP.fullmatch(text)
    return match and valid_time(f"{match[1]}-{match[2]}-{match[3]}T{match[4]}")


def gpu_facts(fields: Fields, partitions: list[str] | None = None) -> Facts:
    """Return the facts of a whole GPU; `partitions` None where its MIG instances are not told."""
    known: dict[str, object] = {name: first(fields, names) for name, names in TEXTS.items()}
    known |= {name: switch(first(fields, names)) for name, names in STATES.items()}
    known |= amounts(fields, FACT_AMOUNTS)
    bus = first(fields, ("pci.bus_id", "gpu_bus_id"))
    mode = partition_mode(first(fields, ("mig.mode.current",)))
    return facts(
        **known,
        index=whole(told(fields.get("index"))),
        pci_bus_id=bus and bus.lower(),
        clock_policy=clock_policy(
            amount(fields, FACT_AMOUNTS["app_sm_clock_hz"]), amount(fields, DEFAULT_SM_CLOCK)
        ),
        partition_mode=mode,
        partitions=[] if mode == "disabled" else partitions if mode else None,
    )


def gpu_tick(fields: Fields, pids: list[int] | None = None) -> Tick:
    """Return the readings of a whole GPU; `pids` None where its processes are not told."""
    mask = throttle_mask(fields)
    return tick(
        **amounts(fields, READING_AMOUNTS),
        time=iso_time(fields.get("timestamp")),
        throttle_mask=mask,
        throttle_reasons=throttle_reasons(mask),
        throttle_ns=_throttle_ns(fields),
        ecc_corrected=_errors(fields, "corrected"),
        ecc_uncorrected=_errors(fields, "uncorrected"),
        remapped_rows=_both(fields, REMAPPED, RETIRED),
        foreign_pids=pids,
        mode=mode_text(partition_mode(first(fields, ("mig.mode.current",)))),
    )


def throttle_mask(fields: Fields) -> int | None:
    """Return NVML's mask of reasons, from the mask itself or from the reasons one by one."""
    for family in FAMILIES:
        mask = told(fields.get(f"{family}.active"))
        if mask is not None and re.fullmatch(r"0x[0-9A-Fa-f]+", mask):
            return int(mask, 16)
    reasons = {REASONS[name]: told(value) for name, value in _reasons(fields, FAMILIES)}
    held = {bit: value for bit, value in reasons.items() if value is not None}
    if not held or not reasons.keys() >= EVERY_MASK:
        return None
    return sum(bit for bit, value in held.items() if value.lower() == "active")


def _reasons(fields: Fields, families: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        family, _, reason = name.partition(".")
        if family in families and reason in REASONS:
            yield reason, value


def _throttle_ns(fields: Fields) -> dict[str, int] | None:
    """Return the counters by the names of `THROTTLE_BITS`; they are printed in microseconds."""
    counters = {
        THROTTLE_BITS[REASONS[reason]]: quantity(told(value), unit="us")
        for reason, value in _reasons(fields, ("clocks_event_reasons_counters",))
    }
    return {name: round(spent * 1e9) for name, spent in counters.items() if spent is not None} or None


def _errors(fields: Fields, kind: str) -> int | None:
    """Return memory errors since the driver was loaded: the total, or the sum of all memories that count theirs."""
    prefix = f"ecc.errors.{kind}.volatile."
    total = whole(told(fields.get(f"{prefix}total")))
    sram = ("sram",) if f"{prefix}sram" in fields or kind == "corrected" else ("sram.parity", "sram.secded")
    memories = [f"{prefix}{memory}" for memory in ("dram", *sram)]
    if total is not None or not all(name in fields for name in memories):
        return total
    counts = [count for name in memories if (count := whole(told(fields[name]))) is not None]
    return sum(counts) if counts else None


def _both(fields: Fields, *pairs: Iterable[tuple[str, ...]]) -> int | None:
    """Return the sum of the first pair of counters of which both are told."""
    for pair in pairs:
        counts = [whole(first(fields, names)) for names in pair]
        if None not in counts:
            return sum(count for count in counts if count is not None)
    return None
