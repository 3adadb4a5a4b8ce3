"""`nvpmodel -q` of NVIDIA's Jetson boards: the name of the power mode, then its number on a line of its own.

Described in the Jetson Linux Developer Guide, "Power Mode Controls". `--verbose` puts `NVPM VERB: Current mode: `
before the name and lists what the mode sets; some versions tell the fan's mode first, or warn of it. The same sentence
ends the output of `jetson_clocks --show`, which is another tool's, as is what `tegrastats` says in the same file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workers.readings.jetson import tegrastats
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, facts, tick

SAID = r"^[ \t]*(?:NVPM VERB: Current mode: )?NV Power Mode ?:"
MODE = re.compile(rf"{SAID} ?(\S[^\r\n]*?)[ \t]*\r?\n", re.MULTILINE)
NUMBER = re.compile(r"\s*^[ \t]*(\d+)\s*?(?:$|\Z)", re.MULTILINE)
COMPLAINT = re.compile(r"^[ \t]*NVPM (?:ERROR|VERB|WARN)\s*:", re.MULTILINE)
OTHER_TOOL = re.compile(rf"^[ \t]*(?:SOC family:|cpu\d+: Online=)|{tegrastats.LINE.pattern}", re.MULTILINE)


class PowerMode(NamedTuple):
    """A power mode of a board."""

    name: str
    number: int | None


def recognises(text: str) -> bool:
    """Tell whether the text says the mode, or complains as the tool does."""
    said = re.search(SAID, text, re.MULTILINE) or COMPLAINT.search(text)
    return said is not None and OTHER_TOOL.search(text) is None


def parse(text: str) -> PowerMode | None:
    """Return the mode that the text says; None where it says none, or was cut within the name."""
    found = MODE.search(text)
    if found is None:
        return None
    number = NUMBER.match(text, found.end())
    return PowerMode(found[1], int(number[1]) if number else None)


def read(text: str) -> list[DeviceRecord]:
    """Return the board with its power mode.

    Raises:
        UnreadableError: the tool complained, or its output ends within the name of the mode.
    """
    mode = parse(text)
    if mode is None:
        last = (text.strip().splitlines() or ["nothing"])[-1]
        raise UnreadableError(f"nvpmodel: no whole line 'NV Power Mode: NAME'; the last line is {last!r}")
    return [DeviceRecord("jetson", "jetson", facts(power_mode=mode.name), (tick(mode=mode.name),))]


READERS = (Reader("nvpmodel", "query", recognises, read),)
