import json

import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.reader import UnreadableError

HEADER = "Timestamp, DeviceId, GPU Power (W), GPU Frequency (MHz)\n"
PATHS = [*fixtures("xpu-smi"), *fixtures("intel_gpu_top")]


def period(**parts):
    return {"period": {"duration": 1000.0, "unit": "ms"}, "engines": {}, **parts}


def readings(text):
    (device,) = read(text).devices
    return device.readings


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_recording_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


# --- intel_gpu_top ---


def test_the_busiest_engine_is_the_utilisation():
    engines = {name: {"busy": busy, "unit": "%"} for name, busy in (("Render/3D", 12.5), ("Video", 80.0))}
    (reading,) = readings(json.dumps(period(engines=engines)))
    assert reading["util"] == 0.8


def test_power_of_the_package_alone_is_not_the_gpus():
    (reading,) = readings(json.dumps(period(power={"Package": 16.5, "unit": "W"})))
    assert reading["power_w"] is None


@pytest.mark.parametrize(
    "text", ["[\n{0},\n{0}\n]\n", "[{0},{0}", "{0}\n{0}\n", "{0},\n{0},\n", "warning: x\n[\n{0},{0}]"]
)
def test_periods_are_read_with_and_without_an_array_around_them(text):
    one = json.dumps(period(frequency={"actual": 600.0, "unit": "MHz"}), indent=2)
    assert [reading["sm_clock_hz"] for reading in readings(text.replace("{0}", one))] == [6e8, 6e8]


def test_a_part_that_is_no_engine_is_left_out():
    text = json.dumps(period(engines={"Video": {"busy": 40.0, "unit": "%"}, "wait": 0.5, "unit": "%"}))
    assert readings(text)[0]["util"] == 0.4


def test_of_several_tiles_the_first_ones_clock_is_read():
    told = {
        f"frequency-gt{tile}": {"actual": clock, "unit": "MHz"} for tile, clock in ((0, 900.0), (1, 50.0))
    }
    assert readings(json.dumps(period(**told)))[0]["sm_clock_hz"] == 9e8


def test_a_text_without_a_whole_period_is_unreadable():
    with pytest.raises(UnreadableError, match="within its first period"):
        read(json.dumps(period(power={"GPU": 1.0}), indent=2)[:-2])


# --- xpu-smi ---


def test_a_row_of_a_dump_whose_last_number_may_be_cut_tells_the_others():
    told = readings(f"{HEADER}06:14:46.000,    0, 14.61, 2050\n06:14:47.000,    0, 14.59, 20")
    assert [(reading["power_w"], reading["sm_clock_hz"]) for reading in told] == [
        (14.61, 2.05e9),
        (14.59, None),
    ]


def test_a_header_in_the_midst_of_a_dump_is_no_row():
    told = readings(f"{HEADER}06:14:46.000, 0, 14.61, 2050\n{HEADER}06:14:47.000, 0, 15.00, 2050\n")
    assert [reading["power_w"] for reading in told] == [14.61, 15.0]


def test_a_dump_without_rows_has_no_devices():
    assert read(HEADER).devices == []


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("Not Throttled", []),
        ("The device frequency not throttled", []),
        ("Thermal Limit", ["Thermal Limit"]),
        ("Burst Power | Current Limit", ["Burst Power", "Current Limit"]),
        ("N/A", None),
        ("", None),
    ],
)
def test_reasons_for_throttling_are_in_the_vendors_words(text, reasons):
    (reading,) = readings(f"Timestamp, DeviceId, Throttle reason\n10:00:00.000, 0, {text}\n")
    assert reading["throttle_reasons"] == reasons


@pytest.mark.parametrize(
    ("value", "size_b"), [(24, 24 * 2**20), (229.1875, 240320512), (8501719040, 8501719040)]
)
def test_memory_of_statistics_as_json_is_in_mebibytes_or_bytes(value, size_b):
    metrics = [{"metrics_type": "XPUM_STATS_MEMORY_USED", "value": value}]
    (reading,) = readings(json.dumps({"device_id": 0, "device_level": metrics}))
    assert reading["mem_used_b"] == size_b


def test_a_date_of_a_dump_is_told_as_in_iso_8601():
    (reading,) = readings(f"{HEADER}2026/02/03 06:14:46.000,    0, 14.61, 2050\n")
    assert reading["time"] == "2026-02-03T06:14:46.000"


@pytest.mark.parametrize(
    ("active", "stall", "idle", "told"),
    [("60", "30", "10", 0.9), ("0", "0", "100", 0.0), ("0", "0", "0", None), ("", "", "40", 0.6)],
)
def test_an_array_of_units_that_does_nothing_at_all_is_not_counted(active, stall, idle, told):
    rows = {"EU Array Active (%)": active, "EU Array Stall (%)": stall, "EU Array Idle (%)": idle}
    table = "| Device ID | 0 |\n" + "".join(f"| {title} | {text} |\n" for title, text in rows.items())
    assert readings(table)[0]["sm_active"] == told


def test_errors_of_a_span_are_counted_by_their_total():
    (reading,) = readings(
        "| Device ID | 0 |\n| Mem Errors Correctable | Tile 0: 0, total: 3; Tile 1: 1, total: 4 |\n+--+\n"
    )
    assert reading["ecc_corrected"] == 7


def test_a_table_that_ends_among_the_tiles_of_a_row_does_not_tell_that_row():
    cut = "| Device ID | 0 |\n| GPU Memory Used (MiB) | Tile 0: 28 |\n"
    assert readings(cut)[0]["mem_used_b"] is None
    assert readings(f"{cut}+--+\n")[0]["mem_used_b"] == 28 * 2**20


def test_the_same_device_twice_has_two_readings_or_the_facts_that_tell_most():
    table = "| Device ID | 0 |\n| GPU Power (W) | {} |\n+--+\n"
    assert [reading["power_w"] for reading in readings(table.format(15) + table.format(20))] == [15.0, 20.0]
    short, long = {"device_id": 0}, {"device_id": 0, "number_of_eus": 64}
    listed = "\n".join(json.dumps({"device_list": [told]}) for told in (short, long, short))
    (device,) = read(listed).devices
    assert device.facts["cores"] == 64


def test_json_is_found_behind_a_prompt_with_brackets():
    listed = json.dumps({"device_list": [{"device_id": 3, "soc_uuid": "00-01"}]}, indent=4)
    (device,) = read(f"[root@node ~]# xpu-smi discovery -j\n{listed}\n[root@node ~]#\n").devices
    assert (device.facts["index"], device.facts["uuid"]) == (3, "00-01")


def test_processes_of_a_summary_that_was_cut_are_unknown():
    text = (fixtures("xpu-smi")[0].parent / "summary_two_gpus.txt").read_text()
    devices = read(text[: text.index("4711")]).devices
    assert [device.readings[0]["foreign_pids"] for device in devices] == [None, None]


def test_several_devices_of_one_table_each_have_a_reading():
    table = "| Device ID | {} |\n| GPU Power (W) | {} |\n"
    devices = read(table.format(0, 15) + table.format(1, 20)).devices
    assert [(device.facts["index"], device.readings[0]["power_w"]) for device in devices] == [
        (0, 15.0),
        (1, 20.0),
    ]


def test_an_empty_list_has_no_devices():
    assert read('{\n    "device_list": []\n}').devices == []


def test_json_that_was_cut_is_unreadable():
    with pytest.raises(UnreadableError, match="no whole JSON"):
        read('{\n    "device_list": [\n        {\n            "device_id": 0,')


# --- recordings that somebody published ---


def test_a_real_dump_is_read(recordings):
    told = readings((recordings / "xpu-smi" / "xpu-smi_dump_csv.txt").read_text())
    assert [reading["power_w"] for reading in told] == [14.61, 14.59, 14.61, 14.61, 14.61]
    assert (told[0]["time"], told[0]["util"], told[0]["sm_clock_hz"]) == ("06:14:46.000", 0.0, None)


def test_a_real_table_of_statistics_is_read(recordings):
    (reading,) = readings((recordings / "xpu-smi" / "xpu-smi_stats.txt").read_text())
    told = {name: value for name, value in reading.items() if value is not None and name != "unavailable"}
    assert told == {
        "util": 0.0,
        "power_w": 15.0,
        "sm_clock_hz": 2.05e9,
        "temp_c": 41.0,
        "mem_used_b": 24 * 2**20,
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
    }


def test_a_real_period_of_intel_gpu_top_is_read(recordings):
    (reading,) = readings((recordings / "intel_gpu_top" / "igt.json").read_text())
    assert reading["util"] == pytest.approx(0.96092944)
    assert (reading["sm_clock_hz"], reading["power_w"]) == (1253085184.0, 3.233528)
    assert reading["foreign_pids"] == [2727837]
