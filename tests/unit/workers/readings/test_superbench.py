import json

import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.nvidia.superbench import recognises
from workers.readings.reader import UnreadableError


def line(**values):
    return json.dumps({name.replace("__", ":"): value for name, value in values.items()}) + "\n"


def test_a_metric_that_a_line_lacks_is_missing_in_its_reading():
    (device,) = read(line(gpu_usage__0=5, gpu_power__0=70) + line(gpu_usage__0=6)).devices
    assert [(tick["util"], tick["power_w"]) for tick in device.readings] == [(0.05, 70.0), (0.06, None)]


def test_remapped_rows_are_told_where_both_counts_are():
    both = line(gpu_usage__0=1, gpu_remap_correctable_error__0=2, gpu_remap_uncorrectable_error__0=3)
    one = line(gpu_usage__0=1, gpu_remap_correctable_error__0=2)
    (device,) = read(both + one).devices
    assert [tick["remapped_rows"] for tick in device.readings] == [5, None]


def test_a_broken_line_is_refused_with_the_place_and_a_cut_one_is_left_out():
    good = line(gpu_usage__0=5)
    with pytest.raises(UnreadableError, match="line 2: expected a JSON object"):
        read(good + '{"gpu_usage:0": \n' + good)
    (device,) = read(good + '{"gpu_usage:0": 7').devices
    assert len(device.readings) == 1


def test_lines_that_begin_no_object_are_no_part_of_it():
    text = "$ cat monitor.jsonl\n" + line(gpu_usage__0=5) + "tail: file truncated\n" + line(gpu_usage__0=6)
    (device,) = read(text).devices
    assert [tick["util"] for tick in device.readings] == [0.05, 0.06]


def test_a_number_without_bounds_is_missing():
    (device,) = read(line(gpu_usage__0=5, gpu_mem_used__0=10**400, time="2026-02-30 00:00:00")).devices
    assert (device.readings[0]["mem_used_b"], device.readings[0]["time"]) == (None, None)


@pytest.mark.parametrize(
    "text", ["", "{}\n", '{"gpu_usage": 5}\n', '{"a:0": 1}\n', "[1]\n", "gpu_usage:0 5\n"]
)
def test_other_texts_are_not_recognised(text):
    assert not recognises(text)


@pytest.mark.parametrize("path", fixtures("superbench"), ids=lambda path: path.name)
def test_a_file_that_is_cut_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.fixture
def sample(recordings):
    return (recordings / "superbench" / "monitor.jsonl").read_text()


def test_a_real_file_of_eight_gpus_is_read(sample):
    found = read(sample)
    assert (found.tool, [device.facts["index"] for device in found.devices]) == ("superbench", list(range(8)))
    assert {device.facts["memory_b"] for device in found.devices} == {17071734784}
    first, last = found.devices[0].readings[0], found.devices[0].readings[-1]
    names = (
        "time",
        "util",
        "temp_c",
        "power_limit_w",
        "mem_used_b",
        "ecc_corrected",
        "ecc_uncorrected",
        "power_w",
    )
    assert [first[name] for name in names] == [
        "2021-12-06T04:19:35",
        0.56,
        26.0,
        250.0,
        267517952,
        0,
        0,
        None,
    ]
    assert [last[name] for name in names] == ["2021-12-06T04:20:19", 0.0, 27.0, 250.0, 0, 12, 0, None]
    assert [tick["util"] for tick in found.devices[4].readings] == [0.5, 0.47, 0.21, 0.24, 0.14]
