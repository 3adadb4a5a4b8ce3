"""A capture: many outputs of nvidia-smi on one host in one file, each under a title.

    ################################################################################
    # idle :: query (-q)
    # $ nvidia-smi -q
    ################################################################################

This is the form of the captures that nvidia_gpu_exporter collects (its `internal/captures/README.md`). The word before
`::` is the state that the host was in: `capabilities` has what does not change, then come `idle` and `load`. Every
output is read by the reader of its form; those of other commands (help, topology, queries of processes) are skipped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workers.readings.nvidia_smi import TOOL, is_capture
from workers.readings.nvidia_smi_csv import CSV
from workers.readings.nvidia_smi_devices import united
from workers.readings.nvidia_smi_list import LIST
from workers.readings.nvidia_smi_monitor import DEVICES, PROCESSES
from workers.readings.nvidia_smi_table import TABLE
from workers.readings.nvidia_smi_text import TEXT
from workers.readings.nvidia_smi_xml import XML
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

FORMS: tuple[Reader, ...] = (XML, TEXT, CSV, TABLE, DEVICES, PROCESSES, LIST)
"""The forms that a section may have."""

TITLE = re.compile(
    r"^#{8,}[ \t]*\r?\n# ([\w-]+) :: .+\r?\n(?:# .*\r?\n)*#{8,}[ \t]*(?:\r?\n|$)", re.MULTILINE
)
CUT_TITLE = re.compile(r"(?:^#.*(?:\n|\Z))+\Z", re.MULTILINE)
"""What the end of the text leaves of the title of one more section."""

COMMAND = re.compile(r"^# \$ \S*nvidia-smi\b", re.MULTILINE)
ORDER = ("capabilities", "idle", "load")


class Section(NamedTuple):
    """One output, and the state that the host was in."""

    state: str
    text: str


def recognises(text: str) -> bool:
    """Say whether a text is a capture of nvidia-smi's outputs."""
    return is_capture(text) and COMMAND.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return the devices of all outputs, readings in the order of the states: idle, then load.

    Raises:
        UnreadableError: no output in it tells of a device.
    """
    sections = sorted(_sections(text), key=lambda section: _rank(section.state))
    found = united(_devices(section.text) for section in sections)
    if not found:
        raise UnreadableError(f"{len(sections)} sections, and none of them tells of a GPU")
    return found


def _sections(text: str) -> list[Section]:
    titles = list(TITLE.finditer(text))
    ends = [*(title.start() for title in titles[1:]), len(text)]
    return [
        Section(title[1], CUT_TITLE.sub("", text[title.end() : end]))
        for title, end in zip(titles, ends, strict=False)
    ]


def _rank(state: str) -> int:
    return ORDER.index(state) if state in ORDER else len(ORDER)


def _devices(text: str) -> list[DeviceRecord]:
    """Return what a section tells; nothing where it is of another command, or is cut before its first device."""
    form = next((form for form in FORMS if form.recognises(text)), None)
    try:
        return [] if form is None else form.read(text)
    except UnreadableError:
        return []


READERS: tuple[Reader, ...] = (*FORMS, Reader(TOOL, "capture", recognises, read))
"""All forms of nvidia-smi's output."""
