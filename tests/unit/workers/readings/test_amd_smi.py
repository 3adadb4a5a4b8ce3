import json

import pytest

from tests.unit.workers.readings.cutting import (
    assert_every_cut_tells_nothing_else,
    assert_tells_no_other,
    fixtures,
)
from workers.readings import read
from workers.readings.amd.smi_forms import READERS, from_json
from workers.readings.reader import UnreadableError

ENDS_UNSEEN = ("metric-6.4.txt", "process-6.4.txt")
"""Lists of any length: nothing shows that a text which ends after one of its lines has lost the others."""


def listed(*gpus):
    """What amd-smi 6 prints for a command with `--json`."""
    return json.dumps([{"gpu": index, **values} for index, values in enumerate(gpus)])


def only(text):
    (device,) = read(text).devices
    return device


def reading(**sections):
    (found,) = only(listed(sections)).readings
    return found


def fact(name, **sections):
    return only(listed(sections)).facts[name]


def measured(value, unit):
    return {"value": value, "unit": unit}


# --- what was cut, or is broken ---


@pytest.mark.parametrize("path", fixtures("amd-smi"), ids=lambda path: path.name)
def test_an_output_that_ends_anywhere_tells_nothing_else(path):
    if path.name not in ENDS_UNSEEN:
        assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize("name", ENDS_UNSEEN)
def test_a_text_that_ends_within_a_line_tells_nothing_else(name):
    path = next(path for path in fixtures("amd-smi") if path.name == name)
    text = path.read_text()
    whole = read(text).devices
    for end in (end for end in range(len(text)) if text[end - 1] != "\n"):
        found = read(text[:end])
        for device, of_whole in zip(found.devices if found else (), whole, strict=False):
            for told, of_then in zip(device.readings, of_whole.readings, strict=False):
                assert_tells_no_other(told, of_then, text[:end])


def test_a_number_at_the_end_of_a_cut_text_is_not_read():
    text = '[{"gpu": 0, "usage": {"gfx_activity": {"value": 9, "unit": "%"}}, "power": {"socket_power": {"value": 6'
    (told,) = only(text).readings
    assert (told["util"], told["power_w"]) == (0.09, None)


def test_json_that_goes_on_after_a_fault_is_refused_with_its_place():
    text = '[\n{"gpu": 0, "usage": {"gfx_activity": {"value": 9,, "unit": "%"}}}\n]'
    with pytest.raises(UnreadableError, match="line 2, column 49"):
        read(text)


def test_json_that_ends_before_the_first_value_is_refused():
    with pytest.raises(UnreadableError, match="before anything of a GPU is complete"):
        read('{"gpu_data": [{"gpu": 1')


# --- what is an output of amd-smi ---


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"gpu": 0}',
        '[{"gpu": 0, "name": "mine", "score": 5}]',
        '[{"gpu": "NVIDIA H100", "utilization": 5}]',
        "GPU: 0\n",
        "GPU 0: NVIDIA H100 (UUID: GPU-1)\n",
        "gpu,score\n0,5\n",
        "step,gpu,loss\n1,0,2.5\n",
    ],
)
def test_other_texts_are_not_recognised(text):
    assert not any(reader.recognises(text) for reader in READERS)


@pytest.mark.parametrize("wrap", [lambda gpus: gpus, lambda gpus: {"gpu_data": gpus}])
def test_a_machine_without_gpus_has_no_devices(wrap):
    text = json.dumps(wrap([{"cpu": 0, "power_metrics": {"socket power": "101 W"}}]))
    found = read(text)
    assert found is None or found.devices == []


def test_warnings_before_and_line_ends_of_windows_do_no_harm():
    text = "WARNING: [amdgpu] is busy\nGPU[0]: not ready\n" + json.dumps(
        [{"gpu": 0, "usage": {"gfx_activity": measured(7, "%")}}], indent=4
    )
    (told,) = only(text.replace("\n", "\r\n")).readings
    assert told["util"] == 0.07


def test_a_value_that_is_no_json_ends_what_is_told_there():
    text = json.dumps([{"gpu": 0, "usage": {"gfx_activity": 7}, "fan": {"usage": 5}}], indent=1)
    with pytest.raises(UnreadableError, match="this is no JSON"):
        read(text.replace("7", "07"))
    assert read(text.replace('"usage": 5', '"us\tage\\q": 05')).devices[0].readings[0]["util"] == 0.07


def test_brackets_without_end_are_refused():
    with pytest.raises(UnreadableError, match="line 2, column 1: nested too deeply"):
        from_json('[{"gpu": 0, "usage": {"gfx_activity": 7}}]\n' + '[{"gpu": ' * 50_000)


@pytest.mark.parametrize(
    "document",
    [
        {"gpu_data": [5, {"gpu": "zero", "usage": {"gfx_activity": 1}}, {"gpu": True, "clock": {}}]},
        {"gpu_info_list": [7, {"gpu_id": [], "power_usage": 10**400}], "version_info": [], "processes": [1]},
        [{"pid": {}, "gpus": ["x", {"gpu_index": {}}]}, {"pid": 5, "gpus": None}],
    ],
)
def test_what_has_another_shape_than_amd_smis_tells_nothing(document):
    assert from_json(json.dumps(document)) == []


def test_a_number_without_bounds_is_missing():
    told = reading(power={"socket_power": 10**400}, usage={"gfx_activity": measured(5, "%")})
    assert (told["power_w"], told["util"]) == (None, 0.05)


# --- what other editions print ---


def test_the_title_of_a_block_may_have_its_colon_behind_the_number():
    text = "GPU 1:\n    POWER: \n        AVERAGE_SOCKET_POWER: 224 W\n    ASIC:\n        NUM_OF_COMPUTE_UNITS: 304\n"
    device = only(text)
    assert (device.facts["index"], device.facts["cores"], device.readings[0]["power_w"]) == (1, 304, 224.0)


def test_one_gpu_may_stand_without_a_list_around_it():
    device = only(json.dumps({"gpu": 3, "temperature": {"hotspot_temperature": 43, "vram_temperature": 35}}))
    assert device.facts["index"] == 3
    assert (device.readings[0]["temp_c"], device.readings[0]["mem_temp_c"]) == (43.0, 35.0)


MONITOR = "GPU  POWER  GPU_TEMP  GFX_UTIL     THROTTLE\n  0  126 W     40 °C       1 %  UNTHROTTLED\n"
VERSION = "AMDSMI Tool: 24.6.1+abc | AMDSMI Library version: 24.6.1.0 | ROCm version: 6.2.9 | amdgpu version: 6.8.5\n"


def test_the_line_of_the_version_belongs_to_the_table_below_it():
    found = read(VERSION + MONITOR)
    (device,) = found.devices
    assert found.form == "monitor"
    assert (device.facts["runtime"], device.facts["driver"]) == ("6.2.9", "6.8.5")
    assert device.readings[0]["power_w"] == 126.0


def test_the_line_of_the_version_is_known_to_one_reader():
    assert [reader.form for reader in READERS if reader.recognises(VERSION)] == ["text"]
    assert [reader.form for reader in READERS if reader.recognises(VERSION + MONITOR)] == ["monitor"]


def test_whether_the_device_is_throttled_has_two_titles():
    assert only(MONITOR).readings[0]["throttle_reasons"] == []
    assert only(MONITOR.replace("UNTHROTTLED", "  THROTTLED")).readings[0]["throttle_reasons"] == [
        "throttled"
    ]


def test_the_kernels_version_string_is_none_of_the_driver():
    assert only(VERSION.replace("6.8.5", "Linuxversion6.8.5(gcc)") + MONITOR).facts["driver"] is None


def test_a_row_whose_number_is_none_is_left_out():
    assert read(MONITOR.replace("  0  126", "  x  126")).devices == []


def test_partitions_told_as_a_table_and_as_text_are_known_to_one_reader():
    text = (
        "CURRENT_PARTITION:\nGPU_ID  MEMORY  ACCELERATOR_TYPE  PARTITION_ID\n0       NPS4    CPX               0\n"
        "GPU: 0\n    MEMORY_PARTITION:\n        CURRENT: NPS4\n"
    )
    assert [reader.form for reader in READERS if reader.recognises(text)] == ["partition"]
    assert only(text).facts["partition_mode"] == "CPX/NPS4"


def test_what_was_taken_out_of_a_recording_is_not_told():
    assert fact("uuid", uuid="<redacted>", bus={"bdf": "0000:01:00.0"}) is None
    assert fact("serial", asic={"asic_serial": "<Redacted>"}) is None


# --- what values mean ---


@pytest.mark.parametrize(
    "nothing", ["N/A", "", None, 65535, 4294967295, measured("N/A", ""), measured(65535, "W")]
)
def test_what_a_device_does_not_tell_is_unavailable(nothing):
    told = reading(power={"socket_power": nothing}, usage={"gfx_activity": measured(5, "%")})
    assert told["power_w"] is None
    assert "power_w" in told["unavailable"]


@pytest.mark.parametrize(
    ("power", "watts"),
    [
        ({"socket_power": measured(612, "W")}, 612.0),
        ({"current_socket_power": 140, "average_socket_power": "N/A"}, 140.0),
        ({"current_socket_power": "N/A", "average_socket_power": 96}, 96.0),
        ({"socket_power": "96 W"}, 96.0),
    ],
)
def test_power_is_that_of_the_socket_under_the_name_of_each_version(power, watts):
    assert reading(power=power)["power_w"] == watts


@pytest.mark.parametrize(
    ("temperature", "celsius"),
    [
        ({"edge": measured(40, "C"), "hotspot": measured(51, "C")}, 51.0),
        ({"edge": measured(40, "C"), "hotspot": "N/A"}, 40.0),
        ({"edge": 40, "junction": 52}, 52.0),
        ({"mem": measured(60, "C")}, None),
    ],
)
def test_the_temperature_is_the_hottest_spots_where_it_is_told(temperature, celsius):
    told = reading(temperature=temperature, usage={"gfx_activity": measured(5, "%")})
    assert told["temp_c"] == celsius


def test_clocks_of_dies_that_sleep_do_not_move_the_median():
    clocks = {
        f"gfx_{die}": {"clk": measured(clock, "MHz")} for die, clock in enumerate((0, 2100, 2090, 2110))
    }
    assert reading(clock=clocks)["sm_clock_hz"] == 2.1e9


def test_a_clock_of_zero_is_none():
    told = reading(clock={"gfx_0": {"clk": measured(0, "MHz")}}, usage={"gfx_activity": measured(0, "%")})
    assert (told["sm_clock_hz"], told["util"]) == (None, 0.0)


@pytest.mark.parametrize(
    ("size", "bytes_"),
    [
        (measured(16, "MB"), 16 * 2**20),
        (measured(16, "GB"), 16 * 2**30),
        ("196592 MB", 196592 * 2**20),
        (16368, 16368 * 2**20),
        (0, None),
    ],
)
def test_memory_is_counted_in_powers_of_1024_whatever_the_unit_is_called(size, bytes_):
    assert fact("memory_b", vram={"size": size, "type": "HBM3"}) == bytes_


def test_used_memory_may_be_none_at_all():
    told = reading(mem_usage={"total_vram": measured(16368, "MB"), "used_vram": measured(0, "MB")})
    assert told["mem_used_b"] == 0


def test_energy_is_in_joule_and_a_share_never_above_all():
    told = reading(
        energy={"total_energy_consumption": measured(1234.5, "J")},
        usage={"gfx_activity": measured(6500, "%")},
    )
    assert (told["energy_j_total"], told["util"]) == (1234.5, None)


@pytest.mark.parametrize(
    ("throttle", "reasons"),
    [
        (
            {
                "ppt_violation_status": "ACTIVE",
                "prochot_violation_status": "NOT ACTIVE",
                "ppt_violation_activity": 7,
            },
            ["ppt"],
        ),
        ({"ppt_violation_status": "NOT ACTIVE", "ppt_violation_activity": measured(0, "%")}, []),
        (
            {"ppt_violation_status": True, "vr_thermal_violation_status": True, "ppt_violation_activity": 7},
            ["ppt", "vr_thermal"],
        ),
        ({"ppt_violation_status": "N/A", "ppt_violation_activity": "N/A"}, None),
    ],
)
def test_violations_that_are_active_are_reasons(throttle, reasons):
    told = reading(throttle=throttle, usage={"gfx_activity": measured(5, "%")})
    assert told["throttle_reasons"] == reasons


def test_what_a_violation_has_gathered_is_no_time():
    told = reading(throttle={"accumulation_counter": 808, "ppt_accumulated": 404, "ppt_violation_status": "ACTIVE"},
                   usage={"gfx_activity": measured(5, "%")})  # fmt: skip
    assert told["throttle_ns"] is None


def test_a_throttle_status_without_a_reason_says_so():
    assert reading(power={"throttle_status": "THROTTLED"})["throttle_reasons"] == ["throttled"]
    assert reading(power={"throttle_status": "UNTHROTTLED"})["throttle_reasons"] == []


@pytest.mark.parametrize(
    ("limit", "now", "most"),
    [
        ({"max_power": measured(750, "W"), "socket_power": measured(600, "W")}, 600.0, 750.0),
        (
            {"ppt0": {"max_power_limit": measured(750, "W"), "socket_power_limit": measured(600, "W")}},
            600.0,
            750.0,
        ),
        ({"max_power": 0, "socket_power": 0}, None, None),
    ],
)
def test_the_limit_that_holds_is_not_the_highest(limit, now, most):
    device = only(listed({"limit": limit, "usage": {"gfx_activity": measured(5, "%")}}))
    assert (device.readings[0]["power_limit_w"], device.facts["power_limit_max_w"]) == (now, most)


def test_processes_that_are_not_there_are_none_and_not_unknown():
    nobody = reading(process_list=[{"process_info": "No running processes detected"}])
    assert nobody["foreign_pids"] == []
    assert fact("serial", board={"product_serial": "N/A"}, asic={"market_name": "x"}) is None


def test_several_documents_of_one_gpu_are_moments_in_their_order():
    documents = [
        [{"gpu": 0, "timestamp": 1750000000 + n, "usage": {"gfx_activity": measured(n, "%")}}] for n in (1, 2)
    ]
    device = only("\n".join(json.dumps(document) for document in documents))
    assert [(told["time"], told["util"]) for told in device.readings] == [
        ("2025-06-15T15:06:41+00:00", 0.01),
        ("2025-06-15T15:06:42+00:00", 0.02),
    ]


# --- real recordings ---


@pytest.fixture
def sample(recordings):
    return lambda name: read((recordings / "amd-smi" / name).read_text())


def told(values):
    return {name: value for name, value in values.items() if value is not None and name != "unavailable"}


def test_a_real_default_view_is_read(sample):
    found = sample("amd-smi_default_table_r9700.txt")
    assert (found.tool, found.form, len(found.devices)) == ("amd-smi", "table", 2)
    first, second = found.devices
    assert first.device_class == second.device_class == "amd-radeon-ai-pro-r9700"
    assert told(first.facts) == {
        "index": 0,
        "pci_bus_id": "0000:03:00.0",
        "model": "Radeon AI PRO R9700",
        "memory_b": 32624 * 2**20,
        "driver": "6.16.6",
        "firmware": "00158742",
        "runtime": "7.2.0",
    }
    assert told(first.readings[0]) == {
        "util": 1.0,
        "mem_util": 0.01,
        "power_w": 103.0,
        "power_limit_w": 300.0,
        "temp_c": 79.0,
        "fan": pytest.approx(0.3882),
        "mem_used_b": 29777 * 2**20,
        "ecc_uncorrected": 0,
    }
    assert (second.facts["pci_bus_id"], second.facts["firmware"]) == ("0000:43:00.0", None)
    assert (second.readings[0]["power_w"], second.readings[0]["temp_c"]) == (92.0, 80.0)


def test_a_real_metric_that_was_cut_tells_what_is_whole(sample):
    found = sample("amd-smi_metric_r9700_cut.json.txt")
    (device,) = found.devices
    assert (found.form, device.facts["index"]) == ("json", 0)
    assert told(device.readings[0]) == {"util": 1.0, "mem_util": 0.0}


def test_a_real_metric_as_text_is_read(sample):
    (device,) = sample("amd-smi_metric_text.txt").devices
    assert device.facts["sm_clock_max_hz"] == 2.102e9
    assert told(device.readings[0]) == {
        "util": 1.0,
        "mem_util": 0.0,
        "power_w": 234.0,
        "throttle_reasons": [],
        "sm_clock_hz": 2.102e9,
    }


def test_a_real_static_is_read(sample):
    (device,) = sample("amd-smi_static_text.txt").devices
    assert device.device_class == "amd-mi300x"
    assert told(device.facts) == {
        "index": 0,
        "serial": "0xAF54E92B0A5D57C8",
        "pci_bus_id": "0000:05:00.0",
        "model": "MI300X-O",
        "pcie_gen_max": 5,
        "pcie_width_max": 16,
    }


def test_real_processes_are_those_of_each_gpu(sample):
    assert sample("amd-smi_process_r9700.json").devices[0].readings[0]["foreign_pids"] == [213952, 213953]
    by_gpu = {
        device.facts["index"]: device.readings[0]["foreign_pids"]
        for device in sample("amd-smi_process_csv.txt").devices
    }
    assert len(by_gpu) == 8
    assert (by_gpu[0], by_gpu[2]) == ([207590], [207589])
