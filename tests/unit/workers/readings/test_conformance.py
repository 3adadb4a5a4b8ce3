"""Every recorded output is read the same way: whole records, base units, nothing invented.

`tests/data/devices/TOOL/NAME` is an output written by hand from the tool's documentation; `NAME.expected.json` beside
it says what it tells: the tool, its form, and of each device its class and some facts and readings.
"""

import json
from pathlib import Path

import pytest

from workers.readings import READERS, read
from workers.readings.reader import UnreadableError
from workers.readings.record import FACTS, READINGS

FIXTURES = Path(__file__).parents[3] / "data" / "devices"
FILES = sorted(
    file for file in FIXTURES.glob("*/*") if file.is_file() and not file.name.endswith(".expected.json")
)
SHARES = ("util", "mem_util", "sm_active", "sm_occupancy", "tensor_active", "dram_active", "host_steal")
RANGES = {
    **dict.fromkeys(SHARES, (0, 1)),
    "fan": (0, 1.5),
    "sm_clock_hz": (1e6, 1e10),
    "mem_clock_hz": (1e6, 1e11),
    "sm_clock_max_hz": (1e6, 1e10),
    "mem_clock_max_hz": (1e6, 1e11),
    "app_sm_clock_hz": (1e6, 1e10),
    "app_mem_clock_hz": (1e6, 1e11),
    "temp_c": (-40, 150),
    "mem_temp_c": (-40, 150),
    "power_w": (0, 3000),
    "power_limit_w": (1, 3000),
    "power_limit_default_w": (1, 3000),
    "power_limit_max_w": (1, 3000),
    "memory_b": (2**27, 2**42),
    "mem_used_b": (0, 2**42),
    "pcie_gen": (1, 8),
    "pcie_width": (1, 32),
}
"""What is plausible in base units: a value outside was read in another unit."""


def files_named(file):
    return f"{file.parent.name}/{file.name}"


@pytest.fixture(params=FILES, ids=files_named)
def file(request):
    return request.param


@pytest.fixture
def recording(file):
    found = read(file.read_text())
    assert found is not None, "no reader knows this output"
    return found


def assert_complete(values, names):
    assert set(values) == {*names, "unavailable"}
    assert sorted(values["unavailable"]) == sorted(name for name in names if values[name] is None)


def assert_plausible(values):
    for name, (low, high) in RANGES.items():
        value = values.get(name)
        assert value is None or low <= value <= high, (name, value)


def devices_of(text):
    try:
        found = read(text)
    except UnreadableError:
        return []
    return found.devices if found else []


def test_the_output_is_known_by_its_content_to_one_reader(file):
    knowing = [(reader.tool, reader.form) for reader in READERS if reader.recognises(file.read_text())]
    assert len(knowing) == 1
    assert knowing[0][0] == file.parent.name


def test_records_are_whole_and_plausible(recording):
    for device in recording.devices:
        assert_complete(device.facts, FACTS)
        assert_plausible(device.facts)
        for reading in device.readings:
            assert_complete(reading, READINGS)
            assert_plausible(reading)
        json.dumps(device.facts, allow_nan=False)
        json.dumps(device.readings, allow_nan=False)


def test_the_output_tells_what_is_expected(file, recording):
    expected = json.loads(file.with_name(file.name + ".expected.json").read_text())
    assert (recording.tool, recording.form) == (expected["tool"], expected["form"])
    assert len(recording.devices) == len(expected["devices"])
    for device, wanted in zip(recording.devices, expected["devices"], strict=True):
        assert (device.kind, device.device_class) == (wanted["kind"], wanted["device_class"])
        assert len(device.readings) == wanted["n_readings"]
        assert {name: device.facts[name] for name in wanted["facts"]} == wanted["facts"]
        ends = {"first": device.readings[:1], "last": device.readings[-1:]}
        for end, readings in ends.items():
            for name, value in wanted.get(end, {}).items():
                assert readings[0][name] == (pytest.approx(value) if isinstance(value, float) else value), (
                    name
                )


def test_an_output_that_was_cut_gives_less_and_invents_nothing(file, recording):
    text = file.read_text()
    whole = {device.name: device for device in recording.devices}
    for share in (0.25, 0.5, 0.75, 0.95):
        for device in devices_of(text[: int(len(text) * share)]):
            assert_complete(device.facts, FACTS)
            assert device.kind in {device.kind for device in recording.devices}
            known = whole.get(device.name)
            told = {name for name, value in device.facts.items() if value is not None} - {"unavailable"}
            if known is not None:
                assert {name: device.facts[name] for name in told} == {
                    name: known.facts[name] for name in told
                }
