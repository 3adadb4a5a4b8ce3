import json

import pytest

from tests.unit.workers.readings.cutting import FIXTURES, assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.neuron.neuron_monitor import report
from workers.readings.reader import UnreadableError

JSON = [path for path in fixtures("neuron-monitor") if path.suffix == ".json"]


def text_of(name):
    return (FIXTURES / "neuron-monitor" / name).read_text()


def first(name, **parts):
    """Return a fixture's first report with some parts of it put in place of its own."""
    return {**json.loads(text_of(name).splitlines()[0]), **parts}


def devices(*documents):
    return read("\n".join(json.dumps(document) for document in documents)).devices


@pytest.mark.parametrize("path", JSON, ids=lambda path: path.name)
def test_a_stream_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


def test_a_stream_without_a_whole_report_is_refused_with_its_place():
    with pytest.raises(UnreadableError, match="neuron-monitor: no whole report up to line 2"):
        read('{"neuron_runtime_data": [\n {"pid": 1')


def test_words_between_the_reports_do_no_harm():
    line = text_of("two_periods_inf2.json").splitlines()[0]
    noisy = f"$ neuron-monitor {{}}\n{line}\n^C {{ [signal]\n{line}\n"
    assert [len(device.readings) for device in read(noisy).devices] == [2, 2]


def test_a_report_with_line_breaks_is_the_same():
    told = first("two_periods_inf2.json")
    spread = json.dumps(told, indent=2).replace("\n", "\r\n")
    assert read(spread).devices == devices(told)


def test_the_host_and_the_speed_are_no_readings_of_a_device():
    told = first("two_periods_inf2.json", neuron_runtime_data=[])
    del told["system_data"]["neuron_hw_counters"]
    for device in devices(told):
        assert [name for name, value in device.readings[0].items() if value not in (None, [])] == [
            "unavailable"
        ]


@pytest.mark.parametrize(
    ("part", "missing"),
    [("neuron_hardware_info", "memory_b"), ("instance_info", "instance_type")],
)
def test_a_part_with_an_error_is_missing(part, missing):
    told = first("two_periods_inf2.json")
    told[part]["error"] = "not available"
    assert [device.facts[missing] for device in devices(told)] == [None, None]


def test_a_runtime_with_an_error_makes_its_devices_memory_unknown():
    told = first("two_periods_inf2.json")
    told["neuron_runtime_data"].append({"pid": 99, "error": "gone", "report": {}})
    assert [device.readings[0]["mem_used_b"] for device in devices(told)] == [None, None]
    assert [device.readings[0]["util"] for device in devices(told)] == pytest.approx([0.6, 0.1])


def test_the_memory_of_newer_versions_is_known_by_its_other_name():
    told = first("nobody_there_inf2.json")
    memory = {"error": "", "neuron_runtime_used_bytes": {"host": 1, "device": 77}}
    told["neuron_hardware_info"]["neuron_device_count"] = 1
    told["neuron_runtime_data"] = [{"pid": 1, "error": "", "report": {"memory_used": memory}}]
    assert devices(told)[0].readings[0]["mem_used_b"] == 77


@pytest.mark.parametrize("used", [None, "N/A", -5, 250])
def test_a_core_without_a_share_is_left_out_of_its_devices_mean(used):
    told = first("two_periods_inf2.json")
    counters = told["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["neuroncores_in_use"]
    counters["1"]["neuroncore_utilization"] = used
    assert devices(told)[0].readings[0]["util"] == 0.8


def test_memory_with_a_kind_that_is_no_number_is_not_known_by_core():
    told = first("two_periods_inf2.json")
    memory = told["neuron_runtime_data"][0]["report"]["memory_used"]["neuron_runtime_used_bytes"]
    memory["usage_breakdown"]["neuroncore_memory_usage"]["0"]["tensors"] = "?"
    assert report(told).runtimes[0].core_memory_b is None
    assert devices(told)[0].readings[0]["mem_used_b"] is None


def test_errors_of_a_device_without_a_number_are_nobodys():
    told = first("two_periods_inf2.json")
    del told["system_data"]["neuron_hw_counters"]["neuron_devices"][0]["neuron_device_index"]
    assert [device.readings[0]["ecc_corrected"] for device in devices(told)] == [None, 2]


@pytest.mark.parametrize(
    "part", ["neuron_runtime_data", "system_data", "neuron_hardware_info", "instance_info"]
)
@pytest.mark.parametrize("value", [None, {}, [], "?", [None, 3]])
def test_a_part_of_another_shape_tells_nothing(part, value):
    for device in devices(first("two_periods_inf2.json", **{part: value})):
        assert device.kind == "neuron"


# --- a recording of a real instance ---


def test_the_recorded_runtime_is_read_as_one_instance(recordings):
    path = recordings / "neuron-monitor" / "inf_runtime_pid20843.json"
    (device,) = read(path.read_text()).devices
    assert (device.device_class, device.facts["index"]) == ("neuron", None)
    assert device.readings[0]["util"] == pytest.approx(0.02926414908153532 / 4)
    assert (device.readings[0]["mem_used_b"], device.readings[0]["foreign_pids"]) == (63105088, [20843])
