"""Recordings cut at many places, within numbers above all: what is left tells less, and nothing else than the whole."""

import re
from pathlib import Path

from workers.readings import read
from workers.readings.reader import UnreadableError

FIXTURES = Path(__file__).parents[3] / "data" / "devices"


def fixtures(tool):
    return sorted(path for path in (FIXTURES / tool).iterdir() if not path.name.endswith(".expected.json"))


MOST = 400
"""Cuts of a text within numbers, and as many anywhere, at about the most: it is read from its beginning for each."""

_WITHIN_A_NUMBER = re.compile(r"[0-9.](?=[0-9.])")


def ends(text):
    """Return where to cut: an odd number of characters apart, and within numbers, of which half would be another."""
    within = [found.end() for found in _WITHIN_A_NUMBER.finditer(text)]
    return sorted({*range(0, len(text), len(text) // MOST | 1), *within[:: len(within) // MOST | 1]})


def assert_every_cut_tells_nothing_else(path):
    text = path.read_bytes().decode()
    whole = read(text).devices
    for end in ends(text):
        for device, of_whole in zip(_devices(text[:end]), whole, strict=False):
            assert_tells_no_other(device.facts, of_whole.facts, text[:end])
            for reading, at_that_time in zip(device.readings, of_whole.readings, strict=False):
                assert_tells_no_other(reading, at_that_time, text[:end])


def _devices(text):
    try:
        found = read(text)
    except UnreadableError:
        return []
    return found.devices if found else []


def assert_tells_no_other(values, whole, text):
    told = {name: value for name, value in values.items() if value is not None and name != "unavailable"}
    assert told == {name: whole[name] for name in told}, text[-80:]
