"""The tables that amd-smi prints for people: the default view, `monitor` and `partition`.

Their columns are told by the words in the headers, of which there are several generations; what they hold goes by the
same names as in JSON. In the default view VBIOS and driver are those of the first GPU: all share the driver, but not
the VBIOS. Names that do not fit lose their beginning there, and a percent sign may be cut off.
"""

from __future__ import annotations

import re
from typing import Any

from workers.readings.amd.smi_documents import Told, complete_lines

DEFAULT_HEAD = re.compile(r"^\|\s*AMD-SMI\s", re.MULTILINE)
TOP = re.compile(
    r"^\|\s*(?P<bdf>[0-9a-fA-F:.]{12}|N/A)\s+(?P<name>\S.*?|)\s*\|\s*(?P<mem>\d+ ?%?|N/A)\s+(?P<temp>\d+ ?°?C|N/A)"
    r"\s+(?P<uec>\d+|N/A)\s+(?P<power>\S.*?)\s*\|$"
)
BOTTOM = re.compile(
    r"^\|\s*(?P<gpu>\d+)\s+(?P<hip>\S+)\s+(?P<oam>\S+)\s+(?P<partition>\S+)\s*\|\s*(?P<gfx>\d+ ?%?|N/A)"
    r"\s+(?P<fan>\d+(?:\.\d+)? ?%?|N/A)\s+(?P<memory>\S.*?)\s*\|$"
)
PROCESS = re.compile(r"^\|\s*(?P<gpu>\d+)\s+(?P<pid>\d+)\s+\S")
VERSIONS = {
    "driver.version": re.compile(r"amdgpu version:\s*(\d\S*)", re.IGNORECASE),
    "runtime": re.compile(r"ROCm version:\s*(\S+)", re.IGNORECASE),
    "ifwi.version": re.compile(r"VBIOS version:\s*(\S+)", re.IGNORECASE),
}


def is_default_view(text: str) -> bool:
    """Return whether this is what `amd-smi` without a command prints."""
    return DEFAULT_HEAD.search(text) is not None and "Mem-Uti" in text


def default_view(text: str) -> list[Told]:
    """Return what the default view tells of each GPU."""
    versions = _versions(text)
    found: list[Told] = []
    top: re.Match[str] | None = None
    for line in complete_lines(text):
        line = line.strip()
        if match := TOP.match(line):
            top = match
        elif top is not None and (match := BOTTOM.match(line)):
            found.append(_gpu(top, match, versions))
            top = None
    return [Told(gpu.gpu, gpu.values | _processes(text, gpu.gpu)) for gpu in found]


def _versions(text: str) -> dict[str, str]:
    return {name: match[1] for name, find in VERSIONS.items() if (match := find.search(text))}


def _gpu(top: re.Match[str], bottom: re.Match[str], versions: dict[str, str]) -> Told:
    index = int(bottom["gpu"])
    own = {name: value for name, value in versions.items() if index == 0 or name != "ifwi.version"}
    power, memory = _ratio(top["power"]), _ratio(bottom["memory"])
    values = {
        **own,
        "bdf": top["bdf"],
        "asic.market_name": _whole_name(top["name"]),
        "mem_util": top["mem"],
        "temp": top["temp"],
        "uncorr_ecc": top["uec"],
        "power_usage.current_power": power[0],
        "power_usage.power_limit": power[1],
        "partition_mode": bottom["partition"],
        "gfx_util": bottom["gfx"],
        "fan": bottom["fan"],
        "mem_usage.used_vram": memory[0],
        "mem_usage.total_vram": memory[1],
    }
    return Told(index, values)


def _ratio(text: str) -> tuple[str | None, str | None]:
    """Return both values of `103/300 W`, each with the unit; the second is missing where there is no limit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?|N/A)(?:/\s*(\d+(?:\.\d+)?|N/A))?\s*(W|MB|GB|)", text)
    if match is None:
        return None, None
    return f"{match[1]} {match[3]}", f"{match[2]} {match[3]}" if match[2] else None


def _whole_name(name: str) -> str | None:
    """Return a product's name without a word that may have lost its beginning, the brand being one that has not."""
    if not name.startswith("..."):
        return name
    rest = name[3:].strip()
    return rest if re.match(r"(Radeon|Instinct|AMD)\b", rest) else None


def _processes(text: str, index: int | None) -> dict[str, Any]:
    """Return the processes of one GPU, where the view has a table of them that is complete."""
    _, head, table = text.partition("Processes:")
    if not head or not re.search(r"^[ \t]*\+-+\+\s*$", table, re.MULTILINE):
        return {}
    rows = [match for line in table.splitlines() if (match := PROCESS.match(line.strip()))]
    pids = [{"process_info": {"pid": row["pid"]}} for row in rows if int(row["gpu"]) == index]
    return {"process_list": pids or [{"process_info": "No running processes detected"}]}


MONITOR_COLUMNS = {
    "TIMESTAMP": "timestamp",
    "GPU": "gpu",
    "POWER": "power_usage",
    "PWR_CAP": "max_power",
    "GPU_TEMP": "hotspot_temperature",
    "GPU_T": "hotspot_temperature",
    "MEM_TEMP": "memory_temperature",
    "MEM_T": "memory_temperature",
    "GFX_UTIL": "gfx",
    "GFX%": "gfx",
    "GFX_CLOCK": "gfx_clock",
    "GFX_CLK": "gfx_clk",
    "MEM_UTIL": "mem",
    "MEM%": "mem",
    "MEM_CLOCK": "mem_clock",
    "SINGLE_ECC": "single_bit_ecc",
    "DOUBLE_ECC": "double_bit_ecc",
    "PCIE_REPLAY": "pcie_replay",
    "VRAM_USED": "vram_used",
    "VRAM_TOTAL": "vram_total",
    "VRAM_USAGE": "vram_usage",
    "THROTTLE": "throttle_status",
    "THROTTLE_STATUS": "throttle_status",
}
"""Columns of `monitor` -> names in its JSON; those not here say nothing that is wanted."""

MONITOR_HEAD = re.compile(
    r"^ *(?:TIMESTAMP +)?GPU +(?:XCP +)?[A-Z0-9_%]+(?: +[A-Z0-9_%]+)*\s*$", re.MULTILINE
)
CELL = re.compile(
    r"\[[^\]]*\]|N/A(?: (?:Mb/s|MHz|%|W))?|[\d.]+/ *[\d.]+ [KMGT]B"
    r"|-?\d+(?:\.\d+)?(?: (?:%|W|°C|C|MHz|[KMGT]?B|Mb/s|MB/s))?|\S+"
)


def is_monitor(text: str) -> bool:
    """Return whether this is the table of `amd-smi monitor`."""
    return any(_wanted(match[0].split()) for match in MONITOR_HEAD.finditer(text))


def _wanted(names: list[str]) -> bool:
    return len(set(names) & MONITOR_COLUMNS.keys()) > 1 and "PID" not in names


def monitor(text: str) -> list[Told]:
    """Return what each row of `monitor` tells: one GPU, or one of its partitions, at one moment.

    The line of `amd-smi version` may stand above the table.
    """
    versions = {name: value for name, value in _versions(text).items() if name != "ifwi.version"}
    found: list[Told] = []
    names: list[str] = []
    for line in complete_lines(text):
        if MONITOR_HEAD.match(line):
            names = line.split() if _wanted(line.split()) else []
        elif names:
            cells = CELL.findall(line)
            told = dict(zip(names, cells, strict=True)) if len(cells) == len(names) else {}
            if told.get("GPU", "").isdecimal():
                row = {MONITOR_COLUMNS[name]: cell for name, cell in told.items() if name in MONITOR_COLUMNS}
                found.append(monitored(versions | row))
    return found


def monitored(values: dict[str, Any]) -> Told:
    """Return a row of `monitor` by its JSON's names: a ratio of memory apart, and a bare size with its unit."""
    used, _, total = str(values.pop("vram_usage", "")).partition("/")
    if total:
        values |= {"vram_used": f"{used.strip()} {total.split()[-1]}", "vram_total": total.strip()}
    for name in ("vram_used", "vram_total"):
        # Tables in CSV have no units: whole numbers are MiB, and the short form has GiB with one decimal.
        if re.fullmatch(r"\d+\.\d", str(values.get(name, ""))):
            values[name] = f"{values[name]} GB"
    index = str(values.pop("gpu", ""))
    return Told(int(index) if index.isdecimal() else None, values)


PARTITION_TITLE = re.compile(r"^(CURRENT_PARTITION|MEMORY_PARTITION):\s*$", re.MULTILINE)


def is_partition(text: str) -> bool:
    """Return whether this is the table of `amd-smi partition`."""
    return PARTITION_TITLE.search(text) is not None and "GPU_ID" in text


def partition(text: str) -> list[Told]:
    """Return how each GPU is divided."""
    found: list[Told] = []
    names: list[str] = []
    for line in complete_lines(text):
        words = line.split()
        if re.match(r"^\w+:\s*$", line):
            names = []
        elif words[:1] == ["GPU_ID"]:
            wanted = {"ACCELERATOR_TYPE", "CURRENT_MEMORY_PARTITION"} & set(words)
            names = [word.lower() for word in words] if wanted and "PROFILE_INDEX" not in words else []
        elif names and len(words) == len(names) and words[0].isdecimal():
            values: dict[str, Any] = dict(zip(names, words, strict=True))
            found.append(Told(int(values.pop("gpu_id")), values))
    return found
