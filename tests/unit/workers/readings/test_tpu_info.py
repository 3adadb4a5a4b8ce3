import pytest

from tests.unit.workers.readings.cutting import FIXTURES, assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.tpu.chips import Chip, Column, Row, cores, device_class, generation, spread
from workers.readings.tpu.tpu_info import moments

CHIPS = "TPU Chips\n| Chip | Type | Devices | PID |\n|--|--|--|--|\n"


def chips(*rows, after=""):
    return CHIPS + "".join(f"| {row} |\n" for row in rows) + "\n" + after


def table(title, columns, *rows):
    rule = "|".join("--" for _ in columns.split("|"))
    return f"{title}\n| {columns} |\n|{rule}|\n" + "".join(f"| {row} |\n" for row in rows) + "\n"


def one_chip(columns, row):
    """Return the reading and the facts of an output about one chip."""
    text = chips("/dev/vfio/0 | TPU v6e chip | 1 | 12", after=table("TPU Runtime Utilization", columns, row))
    device = read(text).devices[0]
    return device.readings[0], device.facts


@pytest.mark.parametrize("path", fixtures("tpu-info"), ids=lambda path: path.name)
def test_an_output_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize("path", fixtures("tpu-info"), ids=lambda path: path.name)
def test_ends_of_lines_do_not_matter(path):
    text = path.read_bytes().decode().replace("\r\n", "\n")
    assert read(text.replace("\n", "\r\n")) == read(text)


# --- names ---


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("TPU v2 chip", "v2"),
        ("TPU v5e chip", "v5e"),
        ("TPU v5 lite", "v5e"),
        ("v5litepod-16", "v5e"),
        ("v5p-8", "v5p"),
        ("TPU v6 lite", "v6e"),
        ("v6e-4", "v6e"),
        ("TPU7x chip", "v7x"),
        ("7x", "v7x"),
        ("tpu7x-8", "v7x"),
        ("TPU v9z chip", "v9z"),
        ("TPU v6e c…", None),
        ("a chip", None),
        (None, None),
    ],
)
def test_a_chips_generation_is_known_by_all_its_names(name, known_as):
    assert generation(name) == known_as


def test_a_chip_of_no_known_generation_has_a_class_and_no_number_of_cores():
    assert (device_class("v9z"), device_class(None)) == ("tpu-v9z", "tpu")
    assert cores("v9z", 2) is None


@pytest.mark.parametrize(
    ("name", "devices", "number"),
    [("v3", 2, 2), ("v7x", 2, 2), ("v6e", 1, 1), ("v4", 1, None), ("v5p", 1, None)],
)
def test_devices_are_cores_except_where_one_device_is_two_of_them(name, devices, number):
    assert cores(name, devices) == number


# --- which rows are about which chip ---


def rows(*shares, whole=True):
    return Column([Row(share=share) for share in shares], whole)


def shares(column, chips, **ways):
    return [[row.share for row in of_chip] for of_chip in spread(column, chips, **ways)]


def test_rows_of_all_devices_are_the_chips_in_order():
    assert shares(rows(0.1, 0.2, 0.3), [Chip(0, 2), Chip(2, 1)]) == [[0.1, 0.2], [0.3]]


def test_a_row_a_chip_is_taken_only_where_there_may_be_one():
    both = [Chip(0, 2), Chip(1, 2)]
    assert shares(rows(0.1, 0.2), both, by_chip=True) == [[0.1], [0.2]]
    assert shares(rows(0.1, 0.2), both) == [[], []]


def test_rows_of_one_process_are_those_of_its_chips():
    held = [Chip(0, 1), Chip(1, 1, (7,)), Chip(2, 1, (7,))]
    assert shares(rows(0.1, 0.2), held) == [[], [0.1], [0.2]]


def test_rows_of_two_processes_may_be_of_either():
    held = [Chip(0, 1, (8,)), Chip(1, 1, (7,)), Chip(2, 1)]
    assert shares(rows(0.1, 0.2), held) == [[], [], []]


def test_rows_are_spread_evenly_only_where_they_may_be():
    both = [Chip(0, 1), Chip(1, 1)]
    assert shares(rows(0.1, 0.2, 0.3, 0.4), both, evenly=True) == [[0.1, 0.2], [0.3, 0.4]]
    assert shares(rows(0.1, 0.2, 0.3, 0.4), both) == [[], []]


def test_a_table_that_may_lack_rows_tells_only_what_all_devices_do():
    both = [Chip(0, 2), Chip(1, 2)]
    assert shares(rows(0.1, 0.2, whole=False), both, by_chip=True, evenly=True) == [[], []]
    assert shares(rows(0.1, 0.2, whole=False), [Chip(0, 1), Chip(1, 1)]) == [[0.1], [0.2]]


def test_numbers_that_are_fewer_than_the_devices_are_nobodys():
    text = chips(
        "/dev/accel0 | TPU v5e chip | 1 | 5",
        "/dev/accel1 | TPU v5e chip | 1 | 6",
        after=table(
            "TPU Runtime Utilization", "Device | HBM usage | Duty cycle", "0 | 1.00 GiB / 16.00 GiB | 9.00%"
        ),
    )
    assert [device.readings[0]["util"] for device in read(text).devices] == [None, None]
    assert [device.readings[0]["foreign_pids"] for device in read(text).devices] == [[5], [6]]


# --- what stands in a cell ---


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("Chip | HBM Usage (GiB) | Duty cycle", "0 | 2.50 GiB / 32.00 GiB | 75.00%"),
        ("Device | Memory usage | Duty cycle", "0 | 2560 MiB / 32.00 GiB | 75%"),
        ("Duty cycle (%) | HBM usage (GiB) | Chip | Age", "75.0 | 2.50 / 32.00 | 0 | 3"),
        ("Chip | HBM Usage (GiB) | Duty cycle", "0 | 2.50 GiB / 32.00 GiB (7.8%) | [.......] 75.00%"),
    ],
)
def test_columns_are_found_by_name_and_units_where_they_are_told(columns, row):
    reading, facts = one_chip(columns, row)
    assert (reading["mem_used_b"], facts["memory_b"], reading["util"]) == (2684354560, 34359738368, 0.75)


@pytest.mark.parametrize("word", ["N/A", "", "-", "None", "nan%", "101.00%", "-1.00%"])
def test_what_is_no_share_is_missing(word):
    reading, _ = one_chip("Chip | HBM Usage (GiB) | Duty cycle", f"0 | 1.00 GiB / 32.00 GiB | {word}")
    assert reading["util"] is None
    assert reading["mem_used_b"] == 2**30


def test_a_number_without_any_unit_is_missing():
    reading, facts = one_chip("Chip | HBM Usage | Duty cycle", "0 | 2.50 / 32.00 | 75.00")
    assert (reading["mem_used_b"], facts["memory_b"], reading["util"]) == (None, None, None)


def test_several_processes_on_a_chip_are_all_told():
    assert read(chips("/dev/accel0 | TPU v4 chip | 1 | 30, 9")).devices[0].readings[0]["foreign_pids"] == [
        9,
        30,
    ]


def test_a_chip_that_nobody_is_seen_to_hold_may_still_be_held():
    assert read(chips("/dev/accel0 | TPU v4 chip | 1 | None")).devices[0].readings[0]["foreign_pids"] is None


def test_a_host_without_chips_has_no_devices():
    recording = read("No TPU chips found.\n")
    assert (recording.tool, recording.devices) == ("tpu-info", [])


def test_warnings_before_the_output_do_no_harm():
    path = FIXTURES / "tpu-info" / "host_of_many_v4.txt"
    warned = (
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n| a | b\n\n"
    )
    assert read(warned + path.read_text()) == read(path.read_text())


# --- one output after the other ---


def test_outputs_after_each_other_are_readings_of_the_same_chips():
    path = FIXTURES / "tpu-info" / "boxes_v5p.txt"
    twice = path.read_text() + path.read_text().replace("97.25%", "12.25%")
    device = read(twice).devices[0]
    assert [reading["util"] for reading in device.readings] == [0.9725, 0.1225]


def test_a_chip_that_shows_up_later_has_fewer_readings():
    first = chips("/dev/accel0 | TPU v4 chip | 1 | 5")
    later = chips("/dev/accel0 | TPU v4 chip | 1 | 5", "/dev/accel1 | TPU v4 chip | 1 | 6")
    assert [len(device.readings) for device in read(first + later).devices] == [2, 1]


def test_a_screen_that_was_drawn_twice_is_one_moment():
    path = FIXTURES / "tpu-info" / "streaming_v5e.txt"
    told = [moment.time for moment in moments(path.read_text()) if moment.chips]
    assert told == ["2027-02-03T04:05:06+00:00", "2027-02-03T04:05:08+00:00"]


# --- a recording of a real host ---


@pytest.fixture
def sample(recordings):
    return read((recordings / "tpu-info" / "tpu-info_v6e.txt").read_text())


def test_the_recorded_chips_are_read(sample):
    assert [device.device_class for device in sample.devices] == ["tpu-v6e"] * 4
    assert {device.facts["memory_b"] for device in sample.devices} == {33554432000}
    assert [device.facts["index"] for device in sample.devices] == [0, 1, 2, 3]
    assert sample.devices[0].facts["runtime"] == "0.0.19.dev20250721+nightly"
    assert sample.devices[0].facts["cores"] == 1


def test_the_recorded_chips_are_always_at_work_and_hardly_computing(sample):
    readings = [device.readings[0] for device in sample.devices]
    assert [reading["util"] for reading in readings] == [1.0] * 4
    assert [reading["tensor_active"] for reading in readings] == pytest.approx([0.136, 0.1481, 0.1436, 0.136])
    assert [reading["mem_used_b"] for reading in readings] == [19810536653, *[11166914970] * 3]
    assert {tuple(reading["foreign_pids"]) for reading in readings} == {(1469584,)}
