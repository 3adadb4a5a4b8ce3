import json

import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.reader import UnreadableError


def card(**sentences):
    """What rocm-smi says of a card with these sentences, its JSON's values being text."""
    text = json.dumps({"card0": {"GPU use (%)": "5", **sentences}, "system": {"Driver version": "6.7.0"}})
    (device,) = read(text).devices
    return device


def reading(**sentences):
    (told,) = card(**sentences).readings
    return told


@pytest.mark.parametrize("path", fixtures("rocm-smi"), ids=lambda path: path.name)
def test_an_output_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"card0": {"name": "mine"}}',
        '{"card": {"GPU use (%)": "5"}}',
        "device,score\ncard0,5\n",
        "GPU[0]\t\t: ready\n",
        "==== ROCm System Management Interface ====\n",
    ],
)
def test_other_texts_are_not_recognised(text):
    assert read(text) is None


def test_json_that_is_broken_is_refused_with_its_place():
    with pytest.raises(UnreadableError, match="line 2"):
        read('{"card0": {\n"GPU use (%)" "5", "Unique ID": "0x1"}}')


def test_json_that_ends_before_a_value_is_refused():
    with pytest.raises(UnreadableError, match="before anything of a card is complete"):
        read('{"card0": {"GPU use (%)": "5')


def test_how_full_the_memory_is_is_not_how_busy_it_is():
    assert reading(**{"GPU Memory Allocated (VRAM%)": "61"})["mem_util"] is None
    assert reading(**{"GPU Memory Read/Write Activity (%)": "7"})["mem_util"] == 0.07
    assert reading(**{"GPU memory use (%)": "8"})["mem_util"] == 0.08


def test_counters_of_activity_are_no_shares():
    told = reading(**{"GFX Activity": "99", "Memory Activity": "98"})
    assert (told["util"], told["mem_util"]) == (0.05, None)


@pytest.mark.parametrize(
    ("sentences", "watts"),
    [
        ({"Average Graphics Package Power (W)": "38.0"}, 38.0),
        ({"Current Socket Graphics Package Power (W)": "141.0"}, 141.0),
        ({"Average Graphics Package Power (W)": "N/A (Secondary die)"}, None),
        ({"Max Graphics Package Power (W)": "290.0"}, None),
    ],
)
def test_power_is_what_is_drawn(sentences, watts):
    assert reading(**sentences)["power_w"] == watts


@pytest.mark.parametrize(
    ("sentences", "joules"),
    [
        ({"Energy counter": "65536"}, 1.0),
        ({"Energy counter": "65536", "Accumulated Energy (uJ)": "2500000.0"}, 2.5),
        ({"Accumulated Energy (uJ)": "2500000.0"}, 2.5),
        ({"Energy counter": "N/A"}, None),
    ],
)
def test_energy_is_joule_whichever_unit_it_is_told_in(sentences, joules):
    assert reading(**sentences)["energy_j_total"] == joules


@pytest.mark.parametrize(
    ("sentences", "celsius"),
    [
        ({"Temperature (Sensor edge) (C)": "40.0", "Temperature (Sensor junction) (C)": "52.0"}, 52.0),
        ({"Temperature (Sensor edge) (C)": "40.0", "Temperature (Sensor junction) (C)": "N/A"}, 40.0),
        ({"Temperature (Sensor memory) (C)": "60.0"}, None),
    ],
)
def test_the_temperature_is_the_junctions_where_it_is_told(sentences, celsius):
    assert reading(**sentences)["temp_c"] == celsius


@pytest.mark.parametrize(
    ("sentences", "clock_hz"),
    [
        ({"sclk clock speed:": "(1725Mhz)", "sclk clock level:": "8"}, 1.725e9),
        ({"sclk clock level": "8 (1725Mhz)"}, 1.725e9),
        ({"sclk clock speed": "(0Mhz)"}, None),
        ({"fclk clock speed:": "(1801Mhz)"}, None),
    ],
)
def test_the_clock_is_read_in_the_wording_of_each_version(sentences, clock_hz):
    assert reading(**sentences)["sm_clock_hz"] == clock_hz


@pytest.mark.parametrize("nothing", ["N/A", "0", "0x0", ""])
def test_a_card_without_a_number_of_its_own_has_no_uuid(nothing):
    assert card(**{"Unique ID": nothing}).facts["uuid"] is None


def test_the_subsystems_id_is_not_the_devices():
    assert card(**{"Card model": "0x74a1"}).device_class == "amd-unknown"
    assert card(**{"GPU ID": "0x74a1"}).device_class == "amd-mi300x"


def test_every_card_has_the_driver_of_the_system():
    assert card().facts["driver"] == "6.7.0"


@pytest.mark.parametrize("name", ["0x1002", "0X74A1"])
def test_an_id_in_the_place_of_a_name_is_no_model(name):
    device = card(**{"Card series": name, "GPU ID": "0x73df"})
    assert (device.facts["model"], device.device_class) == (None, "amd-unknown")
    assert card(**{"Card series": name, "GPU ID": "0x74a1"}).device_class == "amd-mi300x"


METRICS = """\
GPU[0]\t\t: temperature_hotspot (C): 51
GPU[0]\t\t: temperature_mem (C): 62
GPU[0]\t\t: average_gfx_activity (%): 30
GPU[0]\t\t: average_socket_power (W): 65535
GPU[0]\t\t: current_socket_power (W): 140
GPU[0]\t\t: current_gfxclk (MHz): 2100
GPU[0]\t\t: current_uclk (MHz): 65535
"""


def test_the_drivers_table_of_metrics_is_read():
    (told,) = read(METRICS).devices[0].readings
    assert (told["temp_c"], told["mem_temp_c"], told["util"], told["power_w"]) == (51.0, 62.0, 0.3, 140.0)
    assert (told["sm_clock_hz"], told["mem_clock_hz"]) == (2.1e9, None)


def test_the_drivers_table_of_metrics_stands_in_for_what_is_not_said():
    (told,) = read(METRICS + "GPU[0]\t\t: GPU use (%): 45\n").devices[0].readings
    assert (told["util"], told["power_w"]) == (0.45, 140.0)


def test_a_clock_without_bounds_is_missing():
    assert reading(**{"sclk clock speed:": f"({'9' * 400}Mhz)"})["sm_clock_hz"] is None


def test_a_line_that_is_no_csv_tells_nothing():
    assert read('device,GPU use (%)\ncard0,"5\r\r6"x\r,7\n').devices == []


def test_overdrive_is_no_clock():
    text = (
        "======ROCm System Management Interface======\n"
        "GPU  Temp   SCLK    MCLK    Fan    Perf  PwrCap  SCLK OD  MCLK OD  GPU%  \n"
        "1    31.0c  852Mhz  167Mhz  28.0%  auto  N/A     0%       0%       7%    \n"
        "======End of ROCm SMI Log ======\n"
    )
    (device,) = read(text).devices
    (told,) = device.readings
    assert (device.facts["index"], told["util"], told["power_limit_w"]) == (1, 0.07, None)
    assert (told["sm_clock_hz"], told["mem_clock_hz"]) == (852e6, 167e6)


def test_a_row_that_is_not_below_its_header_is_refused():
    text = (
        "====== ROCm System Management Interface ======\n"
        "GPU  Temp   AvgPwr  SCLK    MCLK    Fan   Perf  PwrCap  VRAM%  GPU%  \n"
        "0    45.0c  38.0Wwww300Mhz  1000Mhz 0.0%  auto  225.0W    0%   0%    \n"
    )
    with pytest.raises(UnreadableError, match="line 3"):
        read(text)


@pytest.fixture
def sample(recordings):
    return lambda name: read((recordings / "rocm-smi" / name).read_text()).devices


def picked(values, *names):
    return {name: values[name] for name in names}


def test_real_mi100s_are_read(sample):
    devices = sample("mi100_rocm571.json")
    assert [device.device_class for device in devices] == ["amd-mi100"] * 6
    assert picked(devices[0].facts, "pci_bus_id", "memory_b", "driver", "firmware") == {
        "pci_bus_id": "0000:1e:00.0",
        "memory_b": 34342961152,
        "driver": "6.2.4",
        "firmware": "113-D3430400-037",
    }
    names = ("power_w", "temp_c", "mem_temp_c", "sm_clock_hz", "mem_clock_hz", "mem_used_b")
    assert picked(devices[0].readings[0], *names) == {
        "power_w": 39.0,
        "temp_c": 34.0,
        "mem_temp_c": 30.0,
        "sm_clock_hz": 3e8,
        "mem_clock_hz": 1.2e9,
        "mem_used_b": 6782976,
    }
    names = ("pcie_gen", "pcie_width", "power_limit_w", "mode")
    assert picked(devices[0].readings[0], *names) == {
        "pcie_gen": 3,
        "pcie_width": 16,
        "power_limit_w": 290.0,
        "mode": "automatic",
    }


def test_a_real_rx_6700_xt_is_read(sample):
    (device,) = sample("rx6700xt_rocm612.json")
    assert device.device_class == "amd-rx-6700-xt"
    assert picked(device.facts, "architecture", "memory_b", "driver") == {
        "architecture": "gfx1031",
        "memory_b": 12868124672,
        "driver": "6.3.6",
    }
    names = ("sm_clock_hz", "mem_clock_hz", "power_w", "power_limit_w", "pcie_gen", "mem_used_b")
    assert picked(device.readings[0], *names) == {
        "sm_clock_hz": None,
        "mem_clock_hz": 9.6e7,
        "power_w": 6.0,
        "power_limit_w": 211.0,
        "pcie_gen": 4,
        "mem_used_b": 1572745216,
    }


def test_a_real_mi50_is_read(sample):
    (device,) = sample("vega-20-WKS-GL-XE.json")
    assert device.device_class == "amd-mi50-32gb"
    assert picked(device.facts, "uuid", "serial", "driver", "clock_policy") == {
        "uuid": "0x2f048617326b1ea",
        "serial": "692024000810",
        "driver": "5.9.17",
        "clock_policy": "high",
    }
    assert picked(device.readings[0], "sm_clock_hz", "fan", "power_w") == {
        "sm_clock_hz": 1.725e9,
        "fan": 0.0,
        "power_w": 26.0,
    }
