"""What a reader of one tool's output is: text in, records out; it opens no file and starts no program."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from workers.readings.record import DeviceRecord

PROMPT = r"(?:\(\S+\) )?(?:\[?[\w.-]+@[\w.-]+[: ][^\n]*?[$#%]|(?:PS )?[A-Z]:\\[^\n>]*>|[$❯➜])(?: [^\n]*)?"
AFTERWARDS = re.compile(rf"[ \t]*(?:(?:`{{3}}|~{{3}})[^\n]*|{PROMPT})")
"""A line that ends what a tool printed: the prompt of a shell, or the end of a block in Markdown."""


class UnreadableError(Exception):
    """The output is that tool's, but is broken; the message says where and what was expected."""


@dataclass(frozen=True)
class Reader:
    """One form of one tool's output.

    `tool` is the tool's name, `form` says which of its outputs. `recognises` looks at content alone, never at a file's
    name, and is strict: two readers never recognise one text. `read` returns one record a device.

    Raises:
        UnreadableError: (of `read`) the text is recognised, but cannot be read.
    """

    tool: str
    form: str
    recognises: Callable[[str], bool]
    read: Callable[[str], list[DeviceRecord]]


class Recording(NamedTuple):
    """The devices of one recorded output, and which tool it came from."""

    tool: str
    form: str
    devices: list[DeviceRecord]
