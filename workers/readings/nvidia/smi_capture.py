"""Many outputs of nvidia-smi on one host in one file: a capture, each under a title, or one after the other.

A capture looks like this:

    ################################################################################
    # idle :: query (-q)
    # $ nvidia-smi -q
    ################################################################################

This is the form of the captures that nvidia_gpu_exporter collects (its `internal/captures/README.md`). The word before
`::` is the state that the host was in: `capabilities` has what does not change, then come `idle` and `load`. Every
output is read by the reader of its form; those of other commands (help, topology, queries of processes) are skipped.

What people write down of a terminal has outputs of several forms, with prompts and words of their own between them: an
output ends where one of another form begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from workers.readings.nvidia.smi import CTIME, TOOL, is_capture
from workers.readings.nvidia.smi_csv import CSV, is_header
from workers.readings.nvidia.smi_devices import united
from workers.readings.nvidia.smi_list import GPU, LIST
from workers.readings.nvidia.smi_monitor import DEVICES, NAMES, PROCESSES
from workers.readings.nvidia.smi_table import HEAD, TABLE
from workers.readings.nvidia.smi_text import LOG, TEXT
from workers.readings.nvidia.smi_xml import START, XML
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


LISTED = re.compile(r"^GPU \d+: \S.* \(UUID: \S+\)[ \t]*\r?$", re.MULTILINE)


def is_mixed(text: str) -> bool:
    """Say whether a text has outputs of several forms, and no titles that tell them apart."""
    forms = [form for form in FORMS if form.recognises(text)]
    return len(forms) > 1 or (len(forms) == 1 and forms != [LIST] and LISTED.search(text) is not None)


def read_mixed(text: str) -> list[DeviceRecord]:
    """Return the devices of all outputs, readings in the order of the text.

    Raises:
        UnreadableError: no output in it tells of a device.
    """
    found = united(_devices(output) for output in _outputs(text))
    if not found:
        raise UnreadableError("outputs of several forms, and none of them tells of a GPU")
    return found


def _outputs(text: str) -> Iterator[str]:
    """Yield the outputs of a text, each with what follows it; those of one form after each other are one."""
    output: list[str] = []
    begun: str | None = None
    for line in text.splitlines(keepends=True):
        form = _begins(line.rstrip("\r\n"))
        if form is not None and form != begun:
            own = _time_above(output) if form == TABLE.form else []
            yield "".join(output[: len(output) - len(own)])
            output, begun = own, form
        output.append(line)
    yield "".join(output)


def _begins(line: str) -> str | None:
    """Return the form of the output that a line is the first of, None for any other line."""
    if START.match(line.lstrip()):
        return XML.form
    if LOG.match(line):
        return TEXT.form
    if HEAD.match(line):
        return TABLE.form
    if GPU.fullmatch(line):
        return LIST.form
    if NAMES.fullmatch(line):
        return PROCESSES.form if " pid " in line else DEVICES.form
    return CSV.form if is_header(line) else None


def _time_above(lines: list[str]) -> list[str]:
    """Return the time and the rule that stand above the head of a table."""
    return lines[-2:] if len(lines) > 1 and CTIME.fullmatch(lines[-2].strip()) else []


def _alone(form: Reader) -> Reader:
    """Return the reader of texts that have this form and no other."""
    return replace(form, recognises=lambda text: form.recognises(text) and not is_mixed(text))


READERS: tuple[Reader, ...] = (
    *map(_alone, FORMS),
    Reader(TOOL, "capture", recognises, read),
    Reader(TOOL, "mixed", is_mixed, read_mixed),
)
"""All forms of nvidia-smi's output."""
