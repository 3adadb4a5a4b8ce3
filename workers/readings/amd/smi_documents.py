"""Indented text and CSV of amd-smi as what JSON is made of: dotted names in lower case, and what stands there.

The three forms come from one dictionary in amd-smi (`amdsmi_logger.py`): JSON as it is, text with keys in capitals and
four blanks a level, CSV with the names of nested keys joined. A text that was cut gives what is complete for sure.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

CUT = "(cut)"
"""Name of a value that says that the text ends within this device: what is not there may have been."""


class Told(NamedTuple):
    """What one output tells of one device at one moment: dotted names in lower case -> value or list of values."""

    gpu: int | None
    values: dict[str, Any]


SECTION = re.compile(r"^(?P<blanks> *)(?P<key>[A-Za-z0-9][A-Za-z0-9_%/#. -]*?)\s*:(?:\s+(?P<value>.*))?$")
GPU = re.compile(r"^GPU(?:: *(?P<index>\d+)| +(?P<before>\d+):)\s*$")
"""The title of a device's block, `GPU: 0`; hosts of virtual machines and Windows have `GPU 0:`."""

OTHERS = re.compile(r"^(CPU|CORE|BRCM_NIC|BRCM_SWITCH|AI_NIC|NIC): *\d+\s*$")


WHOLE = re.compile(r"\d ?(?:%|W|J|MHz|MB|°C|GT/s|mV)$")
"""What a quantity ends in when its unit, and so its number, is complete."""


def complete_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; the last one only where it is complete for sure."""
    *lines, last = text.replace("\r\n", "\n").split("\n")
    return [*lines, last] if WHOLE.search(last) else lines


def text_documents(text: str) -> list[Told]:
    """Return what indented text tells of each GPU, in its order, and nothing of processors and network cards."""
    found: list[Told] = []
    stack: list[tuple[int, str]] = []
    values: dict[str, Any] | None = None
    for line in _joined(complete_lines(text)):
        if match := GPU.match(line):
            values, stack = {}, []
            found.append(Told(int(match["index"] or match["before"]), values))
        elif OTHERS.match(line):
            values = None
        elif values is not None and (match := SECTION.match(line)) and match["blanks"]:
            _enter(values, stack, match)
    if found and (not text.endswith("\n") or text.rstrip().endswith(":")):
        found[-1].values[CUT] = True  # a heading with nothing below it is a sign as well
    return found


def _enter(values: dict[str, Any], stack: list[tuple[int, str]], match: re.Match[str]) -> None:
    """Note one line of a section; `stack` has the depth and path of the sections that it is in."""
    depth = len(match["blanks"])
    while stack and stack[-1][0] >= depth:
        stack.pop()
    path = ".".join([*(part for _, part in stack[-1:]), match["key"].lower()])
    path = _unused(path, values)
    if match["value"]:
        values[path] = _written(match["value"].strip())
    else:
        values[f"{path}."] = None
        stack.append((depth, path))


def _unused(path: str, values: dict[str, Any]) -> str:
    """Return the path, numbered where the section or the key was there before."""
    if path not in values and f"{path}." not in values:
        return path
    number = 2
    while f"{path}#{number}" in values or f"{path}#{number}." in values:
        number += 1
    return f"{path}#{number}"


def _written(value: str) -> Any:
    """Return a value, or the values of a list in brackets."""
    if value.startswith("[") and value.endswith("]"):
        return [part.strip() for part in value[1:-1].split(",") if part.strip()]
    return value


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield lines with wrapped lists put together; a list that never ends is left out."""
    pending = ""
    for line in lines:
        if pending and (GPU.match(line) or re.match(r"^ *[A-Z0-9_]+:", line)):
            pending = ""
        line = f"{pending} {line.strip()}" if pending else line.rstrip()
        opened = re.search(r":\s*\[", line) is not None and not line.endswith("]")
        pending = line if opened else ""
        if not opened:
            yield line


def csv_row(line: str) -> list[str]:
    """Return the cells of a line; none of one that is no CSV."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


HEADER = re.compile(r"^(?:timestamp,)?(?:gpu|gpu_id)(?:,|$)")


def csv_rows(text: str) -> list[dict[str, str]]:
    """Return the rows of every table in a CSV output by the names in its header, without a cell that may be cut."""
    rows: list[dict[str, str]] = []
    names: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        if HEADER.match(line):
            names = csv_row(line) if number < len(lines) - 1 else []
        elif names and re.match(r"^\d", line):
            cells = csv_row(line)
            if number == len(lines) - 1:
                cells = cells[:-1]
            if len(cells) <= len(names):
                is_cut = len(cells) < len(names)
                rows.append(dict(zip(names, cells, strict=False)) | ({CUT: ""} if is_cut else {}))
        elif line.strip():
            names = []
    return rows
