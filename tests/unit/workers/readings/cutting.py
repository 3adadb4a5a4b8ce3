"""Recordings cut at every place: what is left tells less, and nothing else than the whole."""

from pathlib import Path

from workers.readings import read
from workers.readings.reader import UnreadableError

FIXTURES = Path(__file__).parents[3] / "data" / "devices"


def fixtures(tool):
    return sorted(path for path in (FIXTURES / tool).iterdir() if not path.name.endswith(".expected.json"))


MOST = 1_000
"""Cuts of a text at the most, an odd number of characters apart: a long one is read from its beginning for each."""


def assert_every_cut_tells_nothing_else(path):
    text = path.read_bytes().decode()
    whole = read(text).devices
    for end in range(0, len(text), len(text) // MOST | 1):
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
