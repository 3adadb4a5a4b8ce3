"""What rocm-smi prints: JSON and CSV, the log of its `--show...` options, and the concise table without any.

JSON has `card0`, `card1` ... and `system`; every value is text, and the names are the log's sentences, which differ
between versions (`python_smi_tools/rocm_smi.py`, ROCm 4 to 7). What is not obvious:

- `GPU memory use (%)` (to 5.7) and `GPU Memory Read/Write Activity (%)` are how busy the memory is; `VRAM%` and
  `GPU Memory Allocated (VRAM%)` are how full it is, and no reading. `GFX Activity` and `Memory Activity` are counters.
- `Max Graphics Package Power (W)` and `PwrCap` are the limit that holds (`rsmi_dev_power_cap_get`).
- `Energy counter` counts 15.259 uJ each; `Accumulated Energy (uJ)` is the same in uJ.
- `Card model` (to 5.7) is the subsystem's id, not the device's; `GPU ID` is the device's, later `Device ID`.
- `(Topology) Numa Node` -1, and a serial number or unique id of 0, are what a device has that has none.
- A clock of `0Mhz` is that of a device that sleeps, and no clock.
- What `--showmetrics` prints stands in for what the other options did not say; its clocks are in MHz, power in W.
- `Average Graphics Package Power` of the second die of an MI250 is N/A: the first one has the power of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workers.readings.amd.products import (
    KIND,
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
from workers.readings.amd.smi_documents import CUT, csv_row
from workers.readings.amd.smi_json import json_documents
from workers.readings.quantities import quantity
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, facts, tick

TOOL = "rocm-smi"

CARD = re.compile(r"card(\d+)")
MARKS = (
    "temperature (sensor",
    "graphics package power",
    "gpu use (%)",
    "gpu memory",
    "vram total",
    "clock level",
    "clock speed",
    "performance level",
    "vbios version",
    "unique id",
    "pci bus",
    "card series",
    "card vendor",
    "device name",
    "gpu id",
    "device id",
    "fan speed",
    "serial number",
    "energy counter",
    "partition",
    "(topology)",
    "firmware version",
    "average_gfx_activity",
    "temperature_hotspot",
)
"""Parts of rocm-smi's sentences, of which each output has one."""

Sentences = dict[str, Any]


def record(index: int, said: Sentences, system: Mapping[str, Any]) -> DeviceRecord:
    """Return the record of one card from its sentences, in lower case without colons at their ends."""
    if CUT in said:
        said = {name: value for name, value in said.items() if not _may_go_on(name, said)}
    series = _product(said)
    partition = partition_mode(said.get("compute partition"), said.get("memory partition"))
    policy = clock_policy(said.get("performance level"))
    clock, link = said.get("pcie clock level"), _link(said.get("pcie clock level"))
    known = facts(
        index=index,
        uuid=_id(said.get("unique id")),
        serial=_id(said.get("serial number")),
        pci_bus_id=pci_address(said.get("pci bus")),
        model=series,
        architecture=_first(said, "gfx version"),
        memory_b=_whole(said.get("vram total memory (b)")) or None,
        driver=told(system.get("driver version")),
        firmware=_first(said, "vbios version"),
        clock_policy=policy,
        partition_mode=partition,
        numa_node=numa_node(said.get("(topology) numa node")),
    )
    group = device_class(
        series,
        device_id=hexadecimal(said.get("device id")) or hexadecimal(said.get("gpu id")),
        revision=hexadecimal(said.get("device rev")),
        partition=partition,
    )
    readings = tick(
        util=_share(said.get("gpu use (%)"), said.get("average_gfx_activity (%)")),
        mem_util=_share(
            said.get("gpu memory read/write activity (%)"),
            said.get("gpu memory use (%)"),
            said.get("average_umc_activity (%)"),
        ),
        sm_clock_hz=_clock(said, "sclk") or _metric(said, "current_gfxclk (mhz)", "MHz") or None,
        mem_clock_hz=_clock(said, "mclk") or _metric(said, "current_uclk (mhz)", "MHz") or None,
        power_w=_power(said),
        energy_j_total=_energy(said),
        temp_c=_temperature(said, "junction", "hotspot", "edge", "#1"),
        mem_temp_c=_temperature(said, "memory", "mem"),
        fan=_fan(said),
        mem_used_b=_whole(said.get("vram total used memory (b)")),
        pcie_gen=link[0] if clock else None,
        pcie_width=link[1] if clock else None,
        pcie_replays=_whole(said.get("pcie replay count")),
        power_limit_w=quantity(said.get("max graphics package power (w)")) or None,
        mode=mode_text(partition, policy) if partition or CUT not in said else None,
    )
    return DeviceRecord(KIND, group, known, (readings,) if _tells(readings) else ())


def _may_go_on(name: str, said: Sentences) -> bool:
    """Return whether a sentence of a card that was cut is of second choice, and the first may have followed."""
    first = {
        "temperature (sensor edge) (c)": "temperature (sensor junction) (c)",
        "compute partition": "memory partition",
        "energy counter": "accumulated energy (uj)",
    }
    return first.get(name, name) not in said


def _tells(readings: Mapping[str, Any]) -> bool:
    return any(value is not None for name, value in readings.items() if name != "unavailable")


def _first(said: Sentences, *names: str) -> str | None:
    return next((word for name in names if (word := told(said.get(name))) is not None), None)


def _product(said: Sentences) -> str | None:
    """Return the product's name; ROCm 4 has the vendor's id in its place where it does not know it."""
    name = _first(said, "device name", "card series")
    return None if name is None or name.lower().startswith("0x") else name


def _id(value: object) -> str | None:
    """Return an id or a serial number; 0 is what a card has that has none."""
    text = told(value)
    return text if text and text.lower().removeprefix("0x").strip("0") else None


def _whole(value: object) -> int | None:
    number = quantity(value)
    return None if number is None else int(number)


def _share(*values: object) -> float | None:
    shares = (quantity(value, unit="%") for value in values)
    return next((share for share in shares if share is not None and 0 <= share <= 1), None)


def _clock(said: Sentences, name: str) -> float | None:
    """Return a clock [Hz]: `(1725Mhz)` as speed, `8 (1725Mhz)` as level, with the level in the sentence in the log."""
    for sentence, value in said.items():
        if re.fullmatch(rf"{name} clock (?:speed|level)(?:: *\w+)?", sentence):
            match = re.search(r"\(?(\d+(?:\.\d+)?)\s*Mhz\)?\s*$", str(value), re.IGNORECASE)
            if match:
                return quantity(match[1], unit="MHz") or None
    return None


def _metric(said: Sentences, name: str, unit: str) -> float | None:
    """Return a number of the driver's table of metrics, which `--showmetrics` prints; all bits set are none."""
    value = said.get(name)
    return None if quantity(value) == 0xFFFF else quantity(value, unit=unit)


def _link(value: object) -> tuple[int | None, int | None]:
    """Return generation and lanes of `1 (16.0GT/s x16)`."""
    match = re.search(r"\(\s*([\d.]+)\s*GT/s,?\s*x\s*(\d+)", str(value or ""))
    return (pcie_gen(f"{match[1]} GT/s"), int(match[2])) if match else (None, None)


def _power(said: Sentences) -> float | None:
    names = [
        "current socket graphics package power (w)",
        "current graphics package power (w)",
        "average graphics package power (w)",
    ]
    powers = [quantity(said.get(name)) for name in names]
    powers += [_metric(said, f"{kind}_socket_power (w)", "W") for kind in ("current", "average")]
    return next((power for power in powers if power is not None), None)


def _energy(said: Sentences) -> float | None:
    microjoule = quantity(said.get("accumulated energy (uj)"), unit="uJ")
    counter = quantity(said.get("energy counter"))
    return microjoule if microjoule is not None else (None if counter is None else counter / 2**16)


def _temperature(said: Sentences, *sensors: str) -> float | None:
    found = [quantity(said.get(f"temperature (sensor {sensor}) (c)")) for sensor in sensors]
    found += [_metric(said, f"temperature_{sensor} (c)", "C") for sensor in sensors]
    return next((temperature for temperature in found if temperature is not None), None)


def _fan(said: Sentences) -> float | None:
    level = re.fullmatch(r"\d+ \((\d+)%\)", str(said.get("fan level", "")))
    return quantity(level[1] if level else said.get("fan speed (%)"), unit="%")


def _sentences(values: Mapping[str, Any]) -> Sentences:
    return {
        " ".join(str(name).lower().rstrip(": ").split()): value.strip() if isinstance(value, str) else value
        for name, value in values.items()
    }


def from_json(text: str) -> list[DeviceRecord]:
    """Return what rocm-smi's JSON tells of each card.

    Raises:
        UnreadableError: it is broken, or ends before anything of a card is complete.
    """
    documents, cut = json_documents(text)
    merged: dict[str, dict[str, Any]] = {}
    for document in documents:
        for name, values in document.items() if isinstance(document, dict) else ():
            if isinstance(values, dict):
                merged.setdefault(str(name), {}).update(values)
    if cut is not None and merged:
        merged[next(reversed(merged))][CUT] = True
    if not merged and cut is not None:
        raise UnreadableError(f"the JSON ends at character {cut}, before anything of a card is complete")
    return _cards(merged)


def _cards(merged: Mapping[str, Mapping[str, Any]]) -> list[DeviceRecord]:
    system = _sentences(merged.get("system", {}))
    cards = {int(match[1]): values for name, values in merged.items() if (match := CARD.fullmatch(name))}
    return [record(index, _sentences(values), system) for index, values in cards.items()]


def _is_json(text: str) -> bool:
    if not re.search(r'^[ \t]*(?:\{\s*)?"card\d+"\s*:\s*\{', text, re.MULTILINE):
        return False
    names = [match[1].lower() for match in re.finditer(r'"([^"\n]+)"\s*:', text)]
    return any(mark in name for name in names for mark in MARKS)


def from_csv(text: str) -> list[DeviceRecord]:
    """Return what rocm-smi's CSV tells of each card; a cell that may be cut is left out."""
    merged: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        cells = csv_row(line)
        if cells[:1] == ["device"]:
            names = cells if number < len(lines) - 1 else []
        elif names and cells and re.fullmatch(r"card\d+|system", cells[0]) and len(cells) <= len(names):
            whole = cells[:-1] if number == len(lines) - 1 else cells
            told_here = {name: cell for name, cell in zip(names[1:], whole[1:], strict=False) if cell}
            merged.setdefault(cells[0], {}).update(
                told_here | ({CUT: True} if len(whole) < len(names) else {})
            )
    return _cards(merged)


def _is_csv(text: str) -> bool:
    head = re.search(r"^device,(.+)$", text, re.MULTILINE)
    return head is not None and any(mark in head[1].lower() for mark in MARKS)


def from_log(text: str) -> list[DeviceRecord]:
    """Return what the log tells of each card; a last line without its end is left out."""
    merged: dict[str, dict[str, Any]] = {}
    for line in text.replace("\r\n", "\n").split("\n")[:-1]:
        if match := re.match(r"^GPU\[(\d+)\]\s*:\s*(.*)$", line):
            name, value = _said(match[2])
            if value:
                merged.setdefault(f"card{match[1]}", {})[name] = value
        elif match := re.match(r"^(Driver version):\s*(\S.*)$", line):
            merged.setdefault("system", {})[match[1]] = match[2]
    if not LOG_END.search(text) and (LOG_BEGIN.search(text) or not text.endswith("\n")):
        for card in merged.values():  # each sentence is printed for all of them
            card[CUT] = True
    return _cards(merged)


def _said(sentence: str) -> tuple[str, str]:
    """Return the name and the value of a line: `sclk clock level: 8: (1725Mhz)` has the level in its name."""
    if match := re.match(r"(\w+ clock level: \w+):\s*(.*)$", sentence):
        return match[1], match[2]
    name, _, value = sentence.partition(":")
    return name, value.strip()


def _is_log(text: str) -> bool:
    lines = re.findall(r"^GPU\[\d+\]\s*:\s*(.*)$", text, re.MULTILINE)
    return any(mark in line.lower() for line in lines for mark in MARKS)


LOG_BEGIN = re.compile(r"= *ROCm System Management Interface *=")
LOG_END = re.compile(r"= *End of ROCm SMI Log *=")
TITLE = re.compile(r"= *(?:ROCm System Management Interface|Concise Info) *=")
"""Titles; to ROCm 4.0 without blanks around them."""

NAME = re.compile(r"^ {4,}(?=[A-Z])\S[^()=]{0,18}\s*$")
"""A product below its card's row (ROCm 5.7, 6.0); of 20 characters on it may have been cut."""

HEAD = re.compile(r"^(?:GPU|Device)\s+(?=.*\b(?:SCLK|PwrCap)\b)(?=.*GPU%)")


def from_table(text: str) -> list[DeviceRecord]:
    """Return what the concise table tells of each card; its columns begin below the words of its header.

    Raises:
        UnreadableError: the columns of a row are not below the header's.
    """
    rows: list[dict[str, str]] = []
    columns: list[tuple[str, int]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")[:-1], start=1):
        if HEAD.match(line):
            columns = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", line)]
        elif columns and re.match(r"^\d+\s", line):
            rows.append(_cells(line, columns, number))
        elif rows and NAME.match(line):
            rows[-1]["name"] = line.strip()
    return [_concise(cells) for cells in rows]


def _cells(line: str, columns: Sequence[tuple[str, int]], number: int) -> dict[str, str]:
    ends = [start for _, start in columns[1:]] + [len(line) + 1]
    cells = {}
    for (name, start), end in zip(columns, ends, strict=True):
        if start > 0 and line[start - 1 : start].strip():
            raise UnreadableError(f"line {number}: no column begins below {name!r}")
        cells[name.partition(" (")[0].lower()] = line[start:end].strip()
    return cells


def _concise(cells: Mapping[str, str]) -> DeviceRecord:
    memory, compute, *_ = [*(part.strip() for part in cells.get("partitions", "").split(",")), "", ""]
    partition = partition_mode(compute, memory)
    policy = clock_policy(cells.get("perf"))
    device_id = re.match(r"0x[0-9a-fA-F]{4}", cells.get("ids", ""))
    readings = tick(
        util=_share(cells.get("gpu%")),
        sm_clock_hz=quantity(cells.get("sclk")) or None,
        mem_clock_hz=quantity(cells.get("mclk")) or None,
        power_w=quantity(cells.get("avgpwr")) if "avgpwr" in cells else quantity(cells.get("power")),
        temp_c=quantity(cells.get("temp")),
        fan=quantity(cells.get("fan"), unit="%"),
        power_limit_w=quantity(cells.get("pwrcap")) or None,
        mode=mode_text(partition, policy),
    )
    index = quantity(cells.get("gpu", cells.get("device")))
    known = facts(
        index=None if index is None else int(index),
        model=cells.get("name"),
        clock_policy=policy,
        partition_mode=partition,
    )
    model = cells.get("name")
    group = device_class(
        model, device_id=hexadecimal(device_id[0] if device_id else None), partition=partition
    )
    return DeviceRecord(KIND, group, known, (readings,) if _tells(readings) else ())


def _is_table(text: str) -> bool:
    return TITLE.search(text) is not None and any(HEAD.match(line) for line in text.splitlines())


READERS = (
    Reader(TOOL, "json", _is_json, from_json),
    Reader(TOOL, "csv", lambda text: _is_csv(text) and not _is_json(text), from_csv),
    Reader(
        TOOL,
        "log",
        lambda text: _is_log(text) and not (_is_json(text) or _is_csv(text) or _is_table(text)),
        from_log,
    ),
    Reader(TOOL, "table", lambda text: _is_table(text) and not (_is_json(text) or _is_csv(text)), from_table),
)
"""What rocm-smi prints, one reader a form."""
