"""What rocminfo prints of the GPUs among the agents of the HSA runtime: facts only, as it reads no sensor.

Agents are numbered blocks of `Name:  value` (`rocminfo.cc`, ROCm 2 to 7). `BDFID` is bus, device and function in one
number; it leaves the domain out, which is written as the 0000 of machines that have one. Sizes in KB are divided by
1024. The version of the runtime is that of HSA, not of ROCm; the id `GPU-XX` is that of a GPU without one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from workers.readings.amd.products import KIND, device_class, told
from workers.readings.quantities import quantity
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, facts

TOOL = "rocminfo"

AGENT = re.compile(r"^Agent (\d+)\s*$", re.MULTILINE)
TITLE = re.compile(r"^HSA (?:Agents|System Attributes)", re.MULTILINE)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

Lines = Sequence[str]


def read(text: str) -> list[DeviceRecord]:
    """Return one record for each agent that is a GPU, numbered as the runtime counts them."""
    plain = ESCAPE.sub("", text.replace("\r\n", "\n"))
    blocks = AGENT.split(plain)[2::2]
    gpus = [block for block in map(_lines, blocks) if _value(block, "Device Type") == "GPU"]
    return [_record(index, lines) for index, lines in enumerate(gpus)]


def _lines(block: str) -> Lines:
    """Return the complete lines of an agent's block."""
    return block.split("\n")[:-1]


def _record(index: int, lines: Lines) -> DeviceRecord:
    model = told(_value(lines, "Marketing Name"))
    architecture = told(_value(lines, "Name"))
    known = facts(
        index=index,
        uuid=_uuid(_value(lines, "Uuid")),
        pci_bus_id=_pci_bus_id(_value(lines, "BDFID")),
        model=model,
        architecture=architecture,
        cores=_number(_value(lines, "Compute Unit")),
        memory_b=_memory_b(lines),
        sm_clock_max_hz=_clock(_value(lines, "Max Clock Freq. (MHz)")),
    )
    group = device_class(model or architecture, device_id=_number(_value(lines, "Chip ID")))
    return DeviceRecord(KIND, group, known)


def _value(lines: Lines, name: str) -> str | None:
    """Return what stands behind a name of the agent itself; names of its pools and ISAs are further in."""
    for line in lines:
        match = re.match(rf"^ {{1,3}}{re.escape(name)}:\s*(.*?)\s*$", line)
        if match:
            return match[1]
    return None


def _number(value: str | None) -> int | None:
    """Return the number of `26273(0x66a1)` or `60`."""
    match = re.fullmatch(r"(\d+)(?:\(0x[0-9a-f]+\))?", value or "")
    return int(match[1]) if match else None


def _uuid(value: str | None) -> str | None:
    return value if value and re.fullmatch(r"GPU-[0-9a-fA-F-]{6,}", value) else None


def _pci_bus_id(value: str | None) -> str | None:
    number = _number(value)
    return None if not number else f"0000:{number >> 8 & 0xFF:02x}:{number >> 3 & 0x1F:02x}.{number & 7:x}"


def _clock(value: str | None) -> float | None:
    return quantity(value, unit="MHz") or None


def _memory_b(lines: Lines) -> int | None:
    """Return the size of the first pool of global, coarse grained memory [B]: the GPU's own."""
    text = "\n".join(lines)
    match = re.search(
        r"Segment:\s*GLOBAL; FLAGS: [^\n]*COARSE GRAINED[^\n]*\n\s*Size:\s*(\d+)\(0x[0-9a-f]+\)\s*KB", text
    )
    return int(match[1]) * 1024 if match else None


def _recognises(text: str) -> bool:
    titles = {match[0] for match in TITLE.finditer(text)}
    return "HSA Agents" in titles or ("HSA System Attributes" in titles and AGENT.search(text) is not None)


READERS = (Reader(TOOL, "text", _recognises, read),)
"""What rocminfo prints."""
