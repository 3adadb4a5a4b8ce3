"""From amd-smi's names to facts and readings. One table of names serves JSON, text and CSV of every version.

Names and units are those of amd-smi's own sources (`amdsmi_cli`, ROCm 5.6 to 7.x): JSON of ROCm 5 and 6.0 and all CSV
have bare numbers, in the units that text and newer JSON write. What is not obvious:

- Its MB and GB of memory are MiB and GiB: it divides bytes by 1024 twice or three times.
- `gfx_N` are the clocks of the compute dies (XCD); their median is the device's clock, as one die may sleep. A clock
  of 0 is none.
- The temperature is the hotspot's (junction), else the edge's. `mem` is the memory's.
- `*_accumulated` of `throttle` count cycles of the firmware's accumulation, not time, so they are no `throttle_ns`.
- `socket_power` of `limit` (6.x) and `socket_power_limit` of `ppt0` (7.x) are the limit that holds.
- The count of ECC errors is the total over all blocks; deferred errors are in neither count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from workers.readings.amd.products import (
    KIND,
    VIOLATIONS,
    clock_policy,
    device_class,
    hexadecimal,
    mode_text,
    numa_node,
    partition_mode,
    pci_address,
    pcie_gen,
    told,
)
from workers.readings.amd.smi_documents import CUT, Told
from workers.readings.quantities import quantity
from workers.readings.record import DeviceRecord, Facts, Tick, facts, tick

NOTHING = frozenset((0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF))
"""What the library has where a device does not tell: all bits set."""

HELD_BACK = (*VIOLATIONS, "gfx_clk_below_host_limit_power", "gfx_clk_below_host_limit_thermal")
NO_PAGES = "no bad pages found"
GROUPS_AFTER = {"retired": ("pending", "un_res"), "pending": ("un_res",)}
"""What stands below a list of pages in text, and shows that the list has its end."""

NO_PROCESSES = "no running processes detected"


def record(index: int | None, moments: Sequence[Mapping[str, Any]]) -> DeviceRecord:
    """Return the record of one device from what was told of it, in time order; a later fact wins."""
    known: dict[str, Any] = {"index": index}
    identity: dict[str, Any] = {}
    for values in moments:
        known |= {name: value for name, value in known_facts(values).items() if value is not None}
        identity |= {name: value for name, value in _identity(values).items() if value is not None}
    kept: Facts = facts(**known)
    group = device_class(kept["model"], partition=kept["partition_mode"], **identity)
    return DeviceRecord(KIND, group, kept, readings(moments))


def records(outputs: Iterable[Told]) -> list[DeviceRecord]:
    """Return one record for each device that the outputs tell of, in the order in which they first do."""
    devices: dict[int | None, list[Mapping[str, Any]]] = {}
    for output in outputs:
        devices.setdefault(output.gpu, []).append(output.values)
    return [record(index, moments) for index, moments in devices.items()]


def readings(moments: Sequence[Mapping[str, Any]]) -> tuple[Tick, ...]:
    """Return a tick for each moment that has a reading; those without a time that add to each other are one."""
    ticks: list[dict[str, Any]] = []
    for values in moments:
        known = {name: value for name, value in known_readings(values).items() if value is not None}
        if ticks and "time" not in known and "time" not in ticks[-1] and not known.keys() & ticks[-1].keys():
            ticks[-1] |= known
        elif known.keys() - {"time"}:
            ticks.append(known)
    return tuple(tick(**known) for known in ticks if known)


def _identity(values: Mapping[str, Any]) -> dict[str, int | None]:
    return {
        "device_id": hexadecimal(values.get("asic.device_id")),
        "revision": hexadecimal(values.get("asic.rev_id")),
    }


def known_facts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts among what was told, None where it tells nothing."""
    limits = ("limit.ppt0.max_power_limit", "limit.max_power", "limit.max_power_limit")
    return {
        "uuid": first(values, "uuid", "gpu_uuid", "hip_uuid"),
        "serial": _serial(values),
        "pci_bus_id": pci_address(first(values, "bus.bdf", "bdf", "gpu_bdf")),
        "model": _model(values),
        "architecture": first(values, "asic.target_graphics_version"),
        "cores": whole(values, "asic.num_compute_units", "asic.num_of_compute_units"),
        "memory_b": size_b(values, "mem_usage.total_vram", "vram.size", "vram.vram_size_mb", "vram.vram_size")
        or size_b(values, "mem_usage.vram", "fb_usage.vram_total", "fb_usage.fb_total", "vram_total"),
        "driver": first(values, "driver.version", "driver.driver_version"),
        "firmware": _firmware(values),
        "runtime": first(values, "runtime"),
        "sm_clock_max_hz": _clock(values, "gfx", "max_clk"),
        "mem_clock_max_hz": _clock(values, "mem", "max_clk"),
        "clock_policy": _policy(values),
        "power_limit_max_w": _positive(number(values, *limits, unit="W")),
        "ecc_mode": _ecc_mode(values),
        "remap_pending": _pending(values),
        "partition_mode": _partition(values),
        "pcie_gen_max": _generation(
            values, "bus.max_pcie_speed", "bus.pcie_interface_version", "bus.pcie_speed"
        ),
        "pcie_width_max": whole(values, "bus.max_pcie_width", "bus.max_pcie_lanes", "bus.pcie_lanes"),
        "numa_node": numa_node(first(values, "numa.node")),
    }


def known_readings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the readings among what was told, None where it tells nothing."""
    return {
        "time": _time(values.get("timestamp")),
        "util": share(values, "usage.gfx_activity", "usage.gfx_usage", "gfx", "gfx_util"),
        "mem_util": share(values, "usage.umc_activity", "usage.mem_usage", "mem", "mem_util"),
        "sm_clock_hz": _clock(values, "gfx", "clk", "cur_clk")
        or _positive(number(values, "gfx_clk", "gfx_clock", unit="MHz")),
        "mem_clock_hz": _clock(values, "mem", "clk", "cur_clk")
        or _positive(number(values, "mem_clock", unit="MHz")),
        "power_w": _power(values),
        "energy_j_total": number(values, "energy.total_energy_consumption", unit="J"),
        "temp_c": _temperature(values),
        "mem_temp_c": number(
            values,
            "temperature.mem",
            "temperature.vram",
            "temperature.mem_temperature",
            "temperature.vram_temperature",
            "memory_temperature",
            unit="C",
        ),
        "fan": _fan(values),
        "mem_used_b": _used_b(values),
        "throttle_reasons": _reasons(values),
        "ecc_corrected": whole(
            values,
            "ecc.total_correctable_count",
            "ecc.total_correctable",
            "ecc.correctable",
            "single_bit_ecc",
        ),
        "ecc_uncorrected": whole(
            values,
            "ecc.total_uncorrectable_count",
            "ecc.total_uncorrectable",
            "ecc.uncorrectable",
            "double_bit_ecc",
            "uncorr_ecc",
        ),
        "remapped_rows": _pages(values, "retired"),
        "pcie_gen": _generation(values, "pcie.speed", "pcie.current_speed", "pcie.pcie_speed"),
        "pcie_width": whole(
            values,
            "pcie.width",
            "pcie.current_lanes",
            "pcie.current_width",
            "pcie.pcie_lanes",
            "pcie.pcie_width",
        ),
        "pcie_replays": whole(values, "pcie.replay_count", "replay_count", "pcie_replay"),
        "foreign_pids": _pids(values),
        "power_limit_w": _positive(
            number(
                values,
                "limit.ppt0.socket_power_limit",
                "limit.socket_power",
                "limit.socket_power_limit",
                "limit.current_power",
                "limit.power",
                "max_power",
                "power_usage.power_limit",
                unit="W",
            )
        ),
        "mode": _mode(values),
    }


def first(values: Mapping[str, Any], *names: str) -> str | None:
    """Return the first word that is told under one of these names."""
    return next((word for name in names if (word := told(values.get(name))) is not None), None)


def number(values: Mapping[str, Any], *names: str, unit: str = "") -> float | None:
    """Return the first number under one of these names in base units; `unit` is that of a bare number."""
    found = (quantity(values.get(name), unit=unit) for name in names if not _is_nothing(values.get(name)))
    return next((value for value in found if value is not None), None)


def _is_nothing(value: object) -> bool:
    bare = value.get("value") if isinstance(value, Mapping) else value
    return quantity(bare) in NOTHING


def whole(values: Mapping[str, Any], *names: str) -> int | None:
    """Return the first whole number under one of these names."""
    value = number(values, *names)
    return None if value is None or value != int(value) else int(value)


def share(values: Mapping[str, Any], *names: str) -> float | None:
    """Return the first percentage under one of these names as a share; None for more than all."""
    value = number(values, *names, unit="%")
    return value if value is not None and 0 <= value <= 1 else None


def size_b(values: Mapping[str, Any], *names: str) -> int | None:
    """Return the first size under one of these names [B]: MB is MiB here, also of a bare number; 0 is no size."""
    found = (binary(values.get(name)) for name in names)
    return next((size for size in found if size), None)


def binary(value: object) -> int | None:
    """Return a size whose unit is a power of 1024, whatever it is called [B]."""
    if isinstance(value, Mapping):
        value = f"{value.get('value')} {value.get('unit') or ''}"
    text = re.sub(r"\b([KMGT])B\b", r"\1iB", str(value).strip())
    size = None if _is_nothing(text) else quantity(text, unit="MiB")
    return None if size is None else round(size)


def _positive(value: float | None) -> float | None:
    """Return a limit or a clock; 0 is what amd-smi has where the driver tells none."""
    return value or None


def first_else(values: Mapping[str, Any], names: Sequence[str], others: Sequence[str]) -> str | None:
    """Return the first word under `names`, else under `others`: these only where the former would have been seen."""
    word = first(values, *names)
    if word is None and (CUT not in values or any(name in values for name in names)):
        return first(values, *others)
    return word


def _firmware(values: Mapping[str, Any]) -> str | None:
    """Return the VBIOS' version; its part number where amd-smi says that the version is unknown."""
    names = [name for name in ("ifwi.version", "vbios.version") if name in values]
    return first(values, *names) or (
        first(values, "ifwi.part_number", "vbios.part_number") if names else None
    )


def _serial(values: Mapping[str, Any]) -> str | None:
    serial = first_else(values, ("board.product_serial", "board.serial_number"), ("asic.asic_serial",))
    return None if serial is None or not serial.lower().removeprefix("0x").strip("0") else serial


def _model(values: Mapping[str, Any]) -> str | None:
    """Return the product's name; where it is unknown amd-smi has the device's id as its name."""
    name = first(values, "asic.market_name", "market_name")
    return first(values, "board.product_name") if name is None or name.lower().startswith("0x") else name


def _generation(values: Mapping[str, Any], *names: str) -> int | None:
    return next((found for name in names if (found := pcie_gen(values.get(name))) is not None), None)


def _clock(values: Mapping[str, Any], domain: str, *fields: str) -> float | None:
    """Return the median over a domain's instances of the first of `fields` that is told [Hz]; None if any may lack."""
    if CUT in values and not any(name.startswith(("clock.mem", "temperature.")) for name in values):
        return None
    for field in fields:
        pattern = re.compile(rf"clock\.{domain}(?:_\d+)?\.{field}")
        found = [number(values, name, unit="MHz") for name in values if pattern.fullmatch(name)]
        clocks = [clock for clock in found if clock]
        if clocks:
            return float(median(clocks))
    return None


def _temperature(values: Mapping[str, Any]) -> float | None:
    hottest = ("temperature.hotspot", "temperature.junction", "temperature.hotspot_temperature")
    found = number(values, *hottest, "hotspot_temperature", "temp", unit="C")
    if found is None and (CUT not in values or any(name in values for name in hottest)):
        return number(values, "temperature.edge", "temperature.edge_temperature", unit="C")
    return found


def _power(values: Mapping[str, Any]) -> float | None:
    names = ("socket_power", "current_socket_power", "average_socket_power", "current_power")
    return number(
        values, *(f"power.{name}" for name in names), "power_usage", "power_usage.current_power", unit="W"
    )


def _fan(values: Mapping[str, Any]) -> float | None:
    usage = number(values, "fan.usage", "fan", unit="%")
    if usage is not None or CUT in values:
        return usage
    speed, most = number(values, "fan.speed"), number(values, "fan.max")
    return speed / most if speed is not None and most else None


def _used_b(values: Mapping[str, Any]) -> int | None:
    names = ("mem_usage.used_vram", "fb_usage.vram_used", "fb_usage.fb_used", "vram_used")
    return next((size for name in names if (size := binary(values.get(name))) is not None), None)


def _policy(values: Mapping[str, Any]) -> str | None:
    return clock_policy(values.get("perf_level"), values.get("profile.current"))


def _mode(values: Mapping[str, Any]) -> str | None:
    partition = _partition(values)
    return mode_text(partition, _policy(values)) if partition or CUT not in values else None


def _partition(values: Mapping[str, Any]) -> str | None:
    if told(values.get("partition_mode")):
        return partition_mode(values["partition_mode"], None)
    compute = first(
        values,
        "partition.accelerator_partition",
        "partition.compute_partition",
        "accelerator_type",
    )
    memory = first(values, "partition.memory_partition", "memory", "current_memory_partition")
    is_whole = CUT not in values or any("memory" in name for name in values)
    return partition_mode(compute, memory) if is_whole else None


def _ecc_mode(values: Mapping[str, Any]) -> bool | None:
    """Return whether errors of the memory (block UMC) are corrected; versions list the blocks in three ways."""
    state = told(values.get("ras.ecc_block_state.umc"))
    blocks = values.get("ras.ecc_block_state")
    if isinstance(blocks, list):
        entries = [block for block in blocks if isinstance(block, Mapping)]
        state = next((told(block.get("status")) for block in entries if block.get("block") == "UMC"), None)
    for name, value in values.items():
        if value == "UMC" and (match := re.fullmatch(r"ras\.ecc_block_state\.block(#\d+)?", name)):
            state = told(values.get(f"ras.ecc_block_state.status{match[1] or ''}"))
    return {"ENABLED": True, "DISABLED": False}.get((state or "").upper())


def _pages(values: Mapping[str, Any], group: str) -> int | None:
    """Return how many pages of memory are in a group; None where that is not told."""
    pages = values.get(group)
    if isinstance(pages, list):
        return len(pages) if all(isinstance(page, Mapping) for page in pages) else None
    if (told(pages) or "").lower().startswith(NO_PAGES):
        return 0
    listed = sum(bool(re.fullmatch(rf"{group}\.page_address(#\d+)?", name)) for name in values)
    is_whole = any(name.split(".")[0] in GROUPS_AFTER.get(group, ()) for name in values)
    return listed or None if is_whole else None


def _pending(values: Mapping[str, Any]) -> bool | None:
    pages = _pages(values, "pending")
    return None if pages is None else pages > 0


def _reasons(values: Mapping[str, Any]) -> list[str] | None:
    """Return the violations that are active, else whether the device is throttled at all."""
    states = {name: _is_active(values, f"throttle.{name}_violation_status") for name in HELD_BACK}
    if any(state is not None for state in states.values()):
        is_whole = any(name.endswith("_violation_activity") for name in values)  # they follow the states
        return [name for name, state in states.items() if state] if is_whole else None
    status = (told(values.get("power.throttle_status")) or told(values.get("throttle_status")) or "").upper()
    return {"THROTTLED": ["throttled"], "UNTHROTTLED": []}.get(status)


def _is_active(values: Mapping[str, Any], name: str) -> bool | None:
    """Return whether a violation is active on the device or on any of its partitions; None where none tells."""
    words: list[str] = []
    for path, value in values.items():
        if path == name or path.startswith(f"{name}."):
            parts = value if isinstance(value, list) else [value]
            words += [word.upper() for word in map(told, parts) if word]
    return any(word in ("ACTIVE", "TRUE") for word in words) if words else None


def _pids(values: Mapping[str, Any]) -> list[int] | None:
    """Return the processes on a device; empty only where the tool says that it looked and found none."""
    found = values.get("process_list")
    if isinstance(found, list):
        entries = [entry.get("process_info") if isinstance(entry, Mapping) else entry for entry in found]
        pids = [entry.get("pid") if isinstance(entry, Mapping) else entry for entry in entries]
    elif CUT in values:
        return None
    else:
        pids = [value for name, value in values.items() if re.fullmatch(r"process_info(#\d+)?(\.pid)?", name)]
    numbers = [number({"pid": pid}, "pid") for pid in pids]
    known = sorted({int(pid) for pid in numbers if pid is not None})
    looked = any((told(pid) or "").lower().startswith(NO_PROCESSES) for pid in pids)
    return known if known or looked else None


def _time(value: object) -> str | None:
    """Return the moment of a reading: amd-smi has seconds since 1970."""
    seconds = quantity(value)
    if seconds is None or not 1e9 <= seconds < 1e10:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat()
