"""The forms of amd-smi's output: JSON, indented text, CSV, and the tables of the default view, `monitor`, `partition`.

JSON is a list of devices up to ROCm 6 and for some commands, `{"gpu_data": [...]}` since ROCm 7 for others. Several
documents may follow each other, as `--watch` and machines with EPYC processors print them; what comes before and
between them are warnings.
"""

from __future__ import annotations

import re
from typing import Any

from workers.readings.amd.products import VIOLATIONS
from workers.readings.amd.smi_documents import CUT, Told, csv_rows, text_documents
from workers.readings.amd.smi_fields import records
from workers.readings.amd.smi_json import flat, json_documents
from workers.readings.amd.smi_tables import (
    default_view,
    is_default_view,
    is_monitor,
    is_partition,
    monitor,
    monitored,
    partition,
)
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

TOOL = "amd-smi"

KEYS = frozenset(
    """asic bus ifwi vbios limit driver board ras partition vram cache numa soc_pstate xgmi_plpd process_isolation clock
    usage power temperature pcie ecc ecc_blocks ecc_block fan voltage voltage_curve overdrive mem_overdrive perf_level
    xgmi_err energy mem_usage fb_usage throttle process_list process_info bdf uuid kfd_id fw_list retired pending un_res
    links link_accessibility power_usage hotspot_temperature gfx gfx_clk vram_used vram_total pviol partition_mode
    accelerator_type current_memory_partition gpu_board base_board profile""".split()
)
"""Names that stand beside `gpu` in amd-smi's JSON and CSV."""

CSV_NAMES = frozenset(
    """gpu_bdf gpu_uuid bdf kfd_id market_name asic_serial max_pcie_width gfx_activity umc_activity socket_power
    average_socket_power hotspot total_vram used_vram vram_used vram_total total_energy_consumption
    total_correctable_count gtt_mem vram_mem process_info fw_id retired power_usage hotspot_temperature
    ppt0_max_power_limit socket_power_limit accelerator_partition compute_partition memory_partition
    accelerator_type perf_level replay_count part_number num_compute_units gfx_0_clk prochot_accumulated""".split()
)
"""Columns of amd-smi's CSV, of which each table has one or more."""

CSV_SECTIONS = {
    "asic": "market_name device_id rev_id asic_serial num_compute_units target_graphics_version",
    "bus": "bdf max_pcie_width max_pcie_speed pcie_interface_version",
    "limit": """ppt0.max_power_limit ppt0.socket_power_limit max_power socket_power max_power_limit
        socket_power_limit""",
    "board": "product_serial product_name",
    "partition": "accelerator_partition compute_partition memory_partition",
    "mem_usage": "total_vram used_vram",
    "fb_usage": "vram_total vram_used",
    "usage": "gfx_activity umc_activity",
    "power": "socket_power current_socket_power average_socket_power throttle_status",
    "temperature": "edge hotspot junction",
    "ecc": """total_correctable_count total_uncorrectable_count total_correctable total_uncorrectable correctable
        uncorrectable""",
    "energy": "total_energy_consumption",
    "pcie": "replay_count current_lanes current_speed",
    "throttle": " ".join(
        f"{reason}_violation_{part}" for reason in VIOLATIONS for part in ("status", "activity")
    ),
}
"""Sections of the JSON whose names CSV has alone."""

CSV_PATHS = {
    path.replace(".", "_"): f"{section}.{path}"
    for section, paths in CSV_SECTIONS.items()
    for path in paths.split()
}


def from_json(text: str) -> list[DeviceRecord]:
    """Return what amd-smi's JSON tells of each GPU.

    Raises:
        UnreadableError: a document is broken, or the text ends before anything of a GPU is complete.
    """
    documents, cut = json_documents(text)
    found = [told for document in documents for told in _devices(document)]
    if found and cut is not None:
        found[-1].values[CUT] = True
    if not found and cut is not None:
        raise UnreadableError(f"the JSON ends at character {cut}, before anything of a GPU is complete")
    return records(found)


def _is_json(text: str) -> bool:
    if not re.search(r'"(?:gpu|gpu_id|gpu_data|gpus|gpu_info_list|amdsmi_library_version|cpu_data)"', text):
        return False
    if re.search(r'^[ \t]*\{\s*"gpu_data":\s*\[\s*\{\s*"gpu":', text, re.MULTILINE):
        return True
    try:
        documents, _ = json_documents(text)
    except UnreadableError:
        return bool(re.search(r'"gpu":\s*\d+,\s*"\w+"', text)) and any(f'"{key}"' in text for key in KEYS)
    return any(_is_document(document) for document in documents)


def _is_document(document: Any) -> bool:
    items = document if isinstance(document, list) else [document]
    return any(_is_device(item) or _is_envelope(item) for item in items)


def _is_device(item: Any) -> bool:
    return isinstance(item, dict) and ("gpu" in item or "gpu_id" in item) and bool(item.keys() & KEYS)


def _is_envelope(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    tables = item.keys() & {"gpu_data", "gpu_info_list", "current_partition", "memory_partition"}
    by_pid = {"pid", "gpus"} <= item.keys()
    return bool(tables) or by_pid or "amdsmi_library_version" in item


def _devices(document: Any) -> list[Told]:
    """Return the devices of a document, whichever way it is wrapped."""
    if isinstance(document, list):
        return [told for item in document for told in _devices(item)]
    if not isinstance(document, dict):
        return []
    if isinstance(document.get("gpus"), list) and "pid" in document:
        indices = [_index(entry.get("gpu_index")) for entry in _objects(document["gpus"])]
        return [Told(index, _process(document["pid"])) for index in indices if index is not None]
    if "gpu_info_list" in document:
        return _default_json(document)
    tables = ("gpu_data", "current_partition", "memory_partition")
    inner = [document[name] for name in tables if isinstance(document.get(name), list)]
    if inner:
        return [told for table in inner for told in _devices(table)]
    index = _index(document.get("gpu", document.get("gpu_id")))
    return [] if index is None else [Told(index, flat(document))]


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none of what is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _process(pid: Any) -> dict[str, Any]:
    return {"process_list": [{"process_info": {"pid": pid}}]}


def _default_json(document: dict[str, Any]) -> list[Told]:
    """Return the devices of the default view: its versions are those of the first GPU, its driver is everybody's."""
    versions = document.get("version_info")
    versions = versions if isinstance(versions, dict) else {}
    driver = versions.get("driver info") or versions.get("amdgpu version")
    rocm = versions.get("rocm version")
    shared = {
        "driver.version": driver.get("driver_version") if isinstance(driver, dict) else None,
        "runtime": rocm[1] if isinstance(rocm, list) and len(rocm) == 2 and rocm[0] else None,
    }
    found = []
    for gpu in _objects(document["gpu_info_list"]):
        index = _index(gpu.get("gpu_id"))
        own = {"ifwi.version": versions.get("vbios version")} if index == 0 else {}
        if index is not None:
            found.append(Told(index, {**shared, **own, **flat(gpu), **_default_processes(document, index)}))
    return found


def _default_processes(document: dict[str, Any], index: Any) -> dict[str, Any]:
    processes = document.get("processes")
    if not isinstance(processes, list):
        return {}
    pids = [entry.get("pid") for entry in _objects(processes) if entry.get("gpu") == index]
    entries: list[Any] = [{"process_info": {"pid": pid}} for pid in pids]
    return {"process_list": entries or [{"process_info": "No running processes detected"}]}


def from_csv(text: str) -> list[DeviceRecord]:
    """Return what amd-smi's CSV tells of each GPU; rows of one GPU and one moment belong together."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in csv_rows(text):
        index = row.get("gpu", row.get("gpu_id", ""))
        if index.isdecimal():
            key = (index, row.get("timestamp", ""))
            _add(merged.setdefault(key, {}), row)
    return records(Told(int(index), values) for (index, _), values in merged.items())


def _add(values: dict[str, Any], row: dict[str, str]) -> None:
    """Add a row by the JSON's names; the processes and the blocks of memory have a row each."""
    for name in ("pid", "process_info"):
        if name in row:
            entry = {"pid": row[name]} if name == "pid" else row[name]
            values.setdefault("process_list", []).append({"process_info": entry})
    if "block" in row and "status" in row:
        values[f"ras.ecc_block_state.{row['block'].lower()}"] = row["status"]
    for name, cell in _paths(row).items():
        values.setdefault(name, cell)


def _paths(row: dict[str, str]) -> dict[str, Any]:
    """Return the cells of a row by the JSON's names; names that several sections have are told by their company."""
    if "pid" in row or "process_info" in row:
        return {}
    if "hotspot_temperature" in row or "power_usage" in row or "gfx" in row:
        return monitored({name: cell for name, cell in row.items() if name != "gpu"}).values
    paths: dict[str, Any] = {}
    for name, cell in row.items():
        clock = re.fullmatch(r"((?:gfx|mem)_\d+|mem)_(clk|cur_clk|max_clk|clk_locked)", name)
        if name in ("clk", "cur_clk", "max_clk"):
            paths[f"clock.gfx.{name}"] = cell
        elif clock:
            paths[f"clock.{clock[1]}.{clock[2]}"] = cell
        else:
            paths[CSV_PATHS.get(name, name)] = cell
    return {**paths, **_shared_names(row)}


def _shared_names(row: dict[str, str]) -> dict[str, str]:
    """Return the cells of names that several sections write into one column, where it is clear whose they are."""
    found: dict[str, str] = {}
    if "mem" in row and "hotspot" in row:
        found["temperature.mem"] = row["mem"]
    if "rpm" in row:
        found |= {f"fan.{name}": row[name] for name in ("usage", "speed", "max") if name in row}
    elif "width" in row and "speed" in row:
        found["pcie.speed"] = row["speed"]
    if "width" in row:
        found["pcie.width"] = row["width"]
    if "bit_width" in row and "size" in row:
        found["vram.size"] = row["size"]
    if "node" in row and ("affinity" in row or "market_name" in row):
        found["numa.node"] = row["node"]
    if "version" in row and row.get("name") == "amdgpu":
        found["driver.version"] = row["version"]
    elif "version" in row and "part_number" in row:
        found["ifwi.version"] = row["version"]
    return found


def _is_csv(text: str) -> bool:
    heads = re.findall(r"^(?:timestamp,)?(?:gpu|gpu_id),.*$", text, re.MULTILINE)
    columns = [set(head.strip().split(",")) for head in heads]
    return any(names & CSV_NAMES or names >= {"name", "pid"} for names in columns)


def from_text(text: str) -> list[DeviceRecord]:
    """Return what amd-smi's indented text tells of each GPU."""
    return records(text_documents(text))


BLOCK = re.compile(r"^GPU(?:: *\d+| +\d+:)[ \t]*\r?\n {2,}[A-Z][A-Z0-9_ ]*:", re.MULTILINE)
VERSION = re.compile(r"^AMDSMI Tool: .*\| AMDSMI Library version:", re.MULTILINE)


def _is_text(text: str) -> bool:
    """Return whether this is indented text, or the line of `amd-smi version` with no table below it."""
    if BLOCK.search(text):
        return not is_partition(text)
    return VERSION.search(text) is not None and not (
        is_monitor(text) or is_default_view(text) or _is_csv(text)
    )


READERS = (
    Reader(TOOL, "json", _is_json, from_json),
    Reader(TOOL, "text", lambda text: _is_text(text) and not _is_json(text), from_text),
    Reader(TOOL, "csv", lambda text: _is_csv(text) and not _is_json(text), from_csv),
    Reader(TOOL, "table", is_default_view, lambda text: records(default_view(text))),
    Reader(
        TOOL,
        "monitor",
        lambda text: is_monitor(text) and not (is_default_view(text) or _is_text(text)),
        lambda text: records(monitor(text)),
    ),
    Reader(TOOL, "partition", is_partition, lambda text: records(partition(text))),
)
"""What amd-smi prints, one reader a form."""
