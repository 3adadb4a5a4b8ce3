import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.nvidia.smi_csv import recognises
from workers.readings.reader import UnreadableError


def table(header, *rows):
    return "\n".join([header, *rows]) + "\n"


def values(text, name):
    return [[tick[name] for tick in device.readings] for device in read(text).devices]


def test_units_of_the_header_hold_for_numbers_without_one():
    text = table("uuid, power.draw [W], memory.used [MiB], utilization.gpu [%]", "GPU-a, 12.5, 3, 40")
    (device,) = read(text).devices
    tick = device.readings[0]
    assert (tick["power_w"], tick["mem_used_b"], tick["util"]) == (12.5, 3 * 2**20, 0.4)


def test_columns_are_read_by_name_and_others_are_ignored():
    text = table("brand_new.field [W], clocks.sm [MHz], index", "7 W, 1000 MHz, 1", "8 W, 900 MHz, 0")
    devices = read(text).devices
    assert [(device.facts["index"], device.readings[0]["sm_clock_hz"]) for device in devices] == [
        (1, 1e9),
        (0, 9e8),
    ]


@pytest.mark.parametrize(
    "header", ["clocks_throttle_reasons.active, uuid", "clocks_event_reasons.active, uuid"]
)
def test_the_mask_of_reasons_is_read_under_both_of_its_names(header):
    text = table(header, "0x00000000000000E4, GPU-a")
    assert values(text, "throttle_mask") == [[0xE4]]
    assert values(text, "throttle_reasons") == [[["power_cap", "sw_thermal", "hw_thermal", "hw_brake"]]]


def test_some_of_the_reasons_are_no_mask():
    text = table(
        "uuid, clocks_event_reasons.gpu_idle, clocks_event_reasons.sw_power_cap", "GPU-a, Not Active, Active"
    )
    assert values(text, "throttle_mask") == [[None]]


def test_the_limit_that_was_set_stands_in_where_the_enforced_one_was_not_asked_for():
    assert values(table("uuid, power.limit [W]", "GPU-a, 300.00 W"), "power_limit_w") == [[300.0]]
    both = table("uuid, power.limit [W], enforced.power.limit [W]", "GPU-a, 300.00 W, 250.00 W")
    assert values(both, "power_limit_w") == [[250.0]]


def test_rows_of_one_gpu_need_no_name_where_their_times_tell_them_apart():
    text = table(
        "timestamp, power.draw [W]", "2024/01/01 00:00:00.000, 10.00 W", "2024/01/01 00:00:01.000, 11.00 W"
    )
    assert values(text, "power_w") == [[10.0, 11.0]]


def test_rows_need_no_name_where_the_host_has_one_gpu():
    assert values(table("count, power.draw [W]", "1, 10.00 W", "1, 11.00 W"), "power_w") == [[10.0, 11.0]]


@pytest.mark.parametrize(
    "text",
    [
        table("pstate, power.draw [W]", "P0, 10.00 W", "P0, 11.00 W"),
        table(
            "timestamp, power.draw [W]",
            "2024/01/01 00:00:00.000, 10.00 W",
            "2024/01/01 00:00:00.004, 11.00 W",
        ),
    ],
)
def test_rows_that_nothing_tells_apart_are_refused_with_the_place(text):
    with pytest.raises(UnreadableError, match=r"line 3: .* expected one of the fields pci.bus_id, uuid"):
        read(text)


def test_a_row_with_other_values_than_the_header_is_refused_with_the_place():
    with pytest.raises(UnreadableError, match="line 2: 3 values below a header of 2 fields"):
        read(table("uuid, power.draw [W]", "GPU-a, 1.00 W, 2"))


def test_warnings_and_a_header_that_comes_again_are_no_rows():
    text = table("WARNING: infoROM is corrupted", "uuid, fan.speed [%]", "GPU-a, 1 %")
    again = table("uuid, fan.speed [%]", "GPU-a, 2 %", "Unable to determine the device handle")
    assert values(text + again, "fan") == [[0.01, 0.02]]


def test_a_header_without_rows_tells_no_gpu():
    assert read(table("uuid, fan.speed [%]")).devices == []


def test_a_value_at_the_cut_end_is_read_only_where_it_shows_to_be_whole():
    text = "uuid, power.draw [W], memory.used [MiB]\nGPU-a, 10.00 W, 123 MiB"
    assert values(text, "mem_used_b") == [[123 * 2**20]]
    assert values(text[:-4], "mem_used_b") == [[None]]
    assert values(text[:-4], "power_w") == [[10.0]]


@pytest.mark.parametrize(
    "text",
    [
        "0, 45 %, 300.00 W\n1, 3 %, 50.00 W\n",
        "name\nTesla T4\n",
        "timestamp\ndriver_version\npci.bus_id\npci.domain\n",
        "gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-a, 5, 3 MiB\n",
        "gpu_name, gpu_bus_id, retired_pages.address, retired_pages.cause\nTesla T4, 0, 0, Double Bit ECC\n",
        "index, module_id, utilization.aip, memory.used [MiB]\n0, 1, 3 %, 5 MiB\n",
        "name,value,unit\nmemory,5,MiB\n",
    ],
)
def test_other_texts_are_not_recognised(text):
    assert not recognises(text)


@pytest.mark.parametrize(
    "path", [path for path in fixtures("nvidia-smi") if path.suffix == ".csv"], ids=lambda path: path.name
)
def test_a_csv_that_is_cut_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


def test_rows_of_what_does_not_change_are_of_a_gpu_each():
    text = table("name, memory.total [MiB], driver_version", *["NVIDIA L4, 23034 MiB, 550.1"] * 3)
    devices = read(text).devices
    assert [(device.device_class, device.facts["index"]) for device in devices] == [("nvidia-l4", None)] * 3


def test_rows_of_different_products_are_of_a_gpu_each():
    text = table("name, power.draw [W]", "NVIDIA L4, 30.14 W", "Tesla T4, 12.34 W")
    assert values(text, "power_w") == [[30.14], [12.34]]


def test_rows_of_one_product_that_tell_of_a_moment_are_of_nobody_known():
    with pytest.raises(UnreadableError, match="line 3"):
        read(table("name, power.draw [W]", "NVIDIA L4, 30.14 W", "NVIDIA L4, 31.00 W"))


def test_a_table_ends_where_another_querys_begins():
    text = (
        table("index, name", "0, NVIDIA L4")
        + table("pid, process_name", "77, python")
        + table("index, name", "1, Tesla T4")
    )
    assert [device.facts["model"] for device in read(text).devices] == ["NVIDIA L4", "Tesla T4"]


def test_a_time_that_no_clock_shows_is_not_told():
    assert values(table("timestamp, index", "2024/02/31 00:00:00.000, 0"), "time") == [[None]]


def test_a_table_of_another_vendors_tool_in_the_same_form_is_not_recognised():
    assert not recognises(table("index, utilization.npu [%], memory.used [MiB]", "0, 0 %, 765 MiB"))


def test_rows_whose_uuids_were_masked_alike_are_of_the_gpus_of_their_numbers():
    masked = "GPU-00000000-0000-0000-0000-000000000000"
    text = table(
        "index, uuid, power.draw [W]", f"0, {masked}, 10 W", f"1, {masked}, 20 W", f"0, {masked}, 11 W"
    )
    assert values(text, "power_w") == [[10.0, 11.0], [20.0]]
