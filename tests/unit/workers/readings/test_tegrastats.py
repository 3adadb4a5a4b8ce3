import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.jetson.tegrastats import power_w, read_line, recognises, temperature_c

START = "RAM 1000/2000MB (lfb 5x4MB) CPU [1%@100,off] "


def reading(fields):
    return read_line(f"{START}{fields}\n")


@pytest.mark.parametrize("path", fixtures("tegrastats"), ids=lambda path: path.name)
def test_a_log_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize(
    ("field", "load", "clock_hz"),
    [
        ("GR3D_FREQ 22%", 0.22, None),
        ("GR3D_FREQ 22%@1109", 0.22, 1.109e9),
        ("GR3D_FREQ 0%@[1300,1298]", 0.0, 1.3e9),
        ("GR3D_FREQ @[314,off,628]", None, 6.28e8),
        ("GR3D_FREQ 7%@[0,0]", 0.07, None),
        ("GR3D_FREQ 5%@114 GR3D2_FREQ 5%@204", 0.05, 2.04e8),
        ("GR3D 37%@537", 0.37, 5.37e8),
        ("GR3D_FREQ N/A", None, None),
        ("GR3D_FREQ off", None, None),
        ("NVENC 79%@166", None, None),
    ],
)
def test_the_gpus_field_is_read_in_all_its_forms(field, load, clock_hz):
    told = reading(f"{field} APE 174")
    assert (told["util"], told["sm_clock_hz"]) == (load, clock_hz)


@pytest.mark.parametrize(
    ("field", "load", "clock_hz"),
    [
        ("EMC_FREQ 0%", None, None),
        ("EMC_FREQ 4%", 0.04, None),
        ("EMC_FREQ 0%@2133", 0.0, 2.133e9),
        ("EMC_FREQ @4266", None, 4.266e9),
        ("EMC 17%@408", 0.17, 4.08e8),
    ],
)
def test_no_load_of_the_memory_without_a_clock_is_unknown(field, load, clock_hz):
    told = reading(f"{field} GR3D_FREQ 0%")
    assert (told["mem_util"], told["mem_clock_hz"]) == (load, clock_hz)


@pytest.mark.parametrize(
    ("sensors", "told"),
    [
        ({"gpu": 40.5, "tj": 45.0, "cpu": 50.0}, 40.5),
        ({"gpu": -256.0, "tj": 45.0}, 45.0),
        ({"gpu": -256.0, "tj": -256.0}, None),
        ({"cpu": 50.0, "thermal": 48.0, "pmic": 100.0}, None),
    ],
)
def test_the_temperature_is_the_gpus_else_the_junctions(sensors, told):
    assert temperature_c(sensors) == told


@pytest.mark.parametrize(
    ("before", "time"),
    [
        ("12-31-2025 23:59:58 ", "2025-12-31T23:59:58"),
        ("2025-12-31 23:59:58 ", "2025-12-31T23:59:58"),
        ("[2025-12-31 23:59:58] : ", "2025-12-31T23:59:58"),
        ("2025-12-31T23:59:58.250Z host tegrastats[7]: ", "2025-12-31T23:59:58.250Z"),
        ("2025-12-31T23:59:58Z 01-01-2026 00:59:58 ", "2026-01-01T00:59:58"),
        ("Dec 31 23:59:58 host tegrastats[7]: ", None),
        ("12-31-2025 23:96:58 ", None),
        ("", None),
    ],
)
def test_a_line_is_known_behind_a_loggers_time(before, time):
    line = f"{before}{START}GR3D_FREQ 7%\n"
    assert recognises(line)
    (device,) = read(line).devices
    assert [(reading["time"], reading["util"]) for reading in device.readings] == [(time, 0.07)]


def test_a_line_within_other_words_is_none():
    assert not recognises(f"// {START}GR3D_FREQ 7%\n")


def test_rails_may_come_without_an_average():
    assert reading("VDD_IN 5040mW VDD_SOC 1000mW")["power_w"] == 5.04


def test_thors_rails_add_up_only_where_no_input_can_follow():
    rails = "VDD_GPU 2000mW/1mW VDD_CPU_SOC_MSS 5000mW/1mW VIN_SYS_5V0 4000mW/1mW"
    assert reading(rails)["power_w"] == 11.0
    assert read_line(f"{START}{rails}")["power_w"] is None
    assert reading(f"{rails} VIN 25000mW/1mW")["power_w"] == 25.0


def test_of_a_pair_of_temperatures_the_first_is_of_the_moment():
    assert reading("cpu@58.25C/61.75C gpu@56.9C/66.6C VDD_IN 1mW/1mW")["temp_c"] == 56.9


@pytest.mark.parametrize(
    ("rails", "told"),
    [
        ({"VDD_IN": 5.5, "VDD_SOC": 1.2}, 5.5),
        ({"POM_5V_IN": 4.1, "POM_5V_GPU": 0.9}, 4.1),
        ({"VIN": 27.0, "VDD_GPU": -0.4, "VIN_SYS_5V0": 6.0}, 27.0),
        ({"VDD_GPU_SOC": 2.0, "VDD_CPU_CV": 1.0, "VIN_SYS_5V0": 4.0, "VDDQ_VDD2_1V8AO": 0.5}, 7.0),
        ({"GPU": 1.0, "CPU": 2.0, "SOC": 3.0, "CV": 0.5, "VDDRQ": 0.25, "SYS5V": 1.25}, 8.0),
        ({"GPU": 1.0, "CPU": 2.0, "SOC": 3.0, "CV": 0.5, "VDDRQ": 0.25}, None),
        ({"VDD_SOMETHING": 5.0, "VDD_ELSE": 6.0}, None),
        ({}, None),
    ],
)
def test_power_is_of_a_set_of_rails_that_is_known_to_be_whole(rails, told):
    assert power_w(rails) == told


def test_the_average_since_the_start_is_not_the_power_of_the_moment():
    assert reading("VDD_IN 5000/9000 VDD_SOC 1/1")["power_w"] == 5.0


def test_memory_is_counted_in_mebibytes():
    (device,) = read(f"{START}GR3D_FREQ 0%\n").devices
    assert (device.facts["memory_b"], device.readings[0]["mem_used_b"]) == (2000 * 2**20, 1000 * 2**20)


def test_one_line_without_an_end_is_a_reading():
    (device,) = read(f"{START}EMC_FREQ 1%@204 GR3D_FREQ 5%@114 GPU@40C VDD_IN 5542mW/5542mW").devices
    told = device.readings[0]
    assert (told["util"], told["temp_c"], told["power_w"]) == (0.05, 40.0, 5.542)


def test_a_last_line_that_is_shorter_than_the_others_is_left_out():
    lines = [f"{START}GR3D_FREQ {load}%@100 GPU@40C VDD_IN 5mW/5mW VDD_SOC 2mW/2mW" for load in (1, 2, 3)]
    (device,) = read("\n".join([*lines[:2], lines[2][:-12]])).devices
    assert [told["util"] for told in device.readings] == [0.01, 0.02]
    (device,) = read("\n".join(lines)).devices
    assert [told["util"] for told in device.readings] == [0.01, 0.02, 0.03]


@pytest.mark.parametrize(
    "text", ["", "RAM 5/6", "RAM is at 1000/2000MB", "MemTotal: 5 kB\n", "CPU [1%@100] RAM 1000/2000MB\n"]
)
def test_other_texts_are_not_recognised(text):
    assert not recognises(text)


@pytest.fixture
def sample(recordings):
    return (recordings / "tegrastats" / "tegra_burn.log").read_text()


def test_a_real_log_of_a_xavier_nx_is_read(sample):
    found = read(sample)
    (device,) = found.devices
    assert (found.tool, len(device.readings)) == ("tegrastats", 103)
    assert device.facts["memory_b"] == 6834 * 2**20
    first = {
        name: value
        for name, value in device.readings[0].items()
        if value is not None and name != "unavailable"
    }
    assert first == {
        "time": "2025-10-01T20:05:55",
        "util": 0.22,
        "temp_c": 38.0,
        "power_w": 5.542,
        "mem_used_b": 2274 * 2**20,
    }
    assert (device.readings[-1]["time"], device.readings[-1]["util"]) == ("2025-10-01T20:07:40", 0.99)
