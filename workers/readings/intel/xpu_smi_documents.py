"""JSON of Intel's `xpu-smi`: the devices of every whole document in a text, whatever stands between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from workers.readings.reader import UnreadableError

OPENING = re.compile(r"^[ \t]*([\[{])", re.MULTILINE)
LISTS = ("device_list", "datas")
"""What a list of devices is called: of discovery, and of a group's statistics."""


def devices(text: str) -> list[dict[str, Any]]:
    """Return the devices of all documents in a text, which other words may stand between.

    Raises:
        UnreadableError: not one document is whole.
    """
    found = list(_documents(text))
    if not found:
        end = text.count("\n") + 1
        raise UnreadableError(f"xpu-smi: no whole JSON up to line {end}; an object with devices was expected")
    return [device for devices in found for device in devices]


def _documents(text: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the devices of each whole document that has a place for some."""
    decoder, end = json.JSONDecoder(), 0
    for opening in OPENING.finditer(text):
        if opening.start(1) < end:
            continue
        try:
            document, end = decoder.raw_decode(text, opening.start(1))
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(document, dict):
            listed = next((document[name] for name in LISTS if name in document), None)
            document = listed if "device_id" not in document else [document]
        if isinstance(document, list):
            yield [device for device in objects(document) if "device_id" in device]


def objects(listed: object) -> list[dict[str, Any]]:
    """Return the objects of what should be a list of some."""
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
