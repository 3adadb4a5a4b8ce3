import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.reader import UnreadableError

LIST = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
<key>elapsed_ns</key><integer>{elapsed}</integer>
{body}
</dict>
</plist>
"""
SAMPLE = "*** Sampled system activity ({date}) (1000.00ms elapsed) ***\n\n**** GPU usage ****\n\n{body}\n"


def told(body, elapsed=1_000_000_000):
    (device,) = read(LIST.format(body=body, elapsed=elapsed)).devices
    return device.readings[0]


def said(body, date="Sun Feb 28 00:17:04 2021 -0800"):
    (device,) = read(SAMPLE.format(body=body, date=date)).devices
    return device.readings[0]


@pytest.mark.parametrize("path", fixtures("powermetrics"), ids=lambda path: path.name)
def test_a_recording_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize(("number", "hz"), [("338", 3.38e8), ("1350000000", 1.35e9), ("0", None)])
def test_the_clock_of_a_list_is_in_megahertz_unless_it_is_too_high_for_that(number, hz):
    assert told(f"<key>gpu</key><dict><key>freq_hz</key><real>{number}</real></dict>")["sm_clock_hz"] == hz


def test_the_processors_own_figure_of_the_gpus_power_comes_first():
    processor = "<key>processor</key><dict><key>gpu_power</key><real>269.5</real></dict>"
    gpu = "<key>gpu</key><dict><key>gpu_energy</key><integer>999</integer></dict>"
    assert told(processor + gpu)["power_w"] == 0.2695


@pytest.mark.parametrize("part", ["gpu", "processor"])
def test_energy_over_the_time_of_the_sample_is_power(part):
    energy = f"<key>{part}</key><dict><key>gpu_energy</key><integer>300</integer></dict>"
    assert told(energy, elapsed=500_000_000)["power_w"] == pytest.approx(0.6)


@pytest.mark.parametrize("without", ["<dict>\n", "</dict>\n", "<key>", "1000000000"])
def test_a_list_that_lacks_a_part_is_unreadable(without):
    whole = LIST.format(elapsed=1_000_000_000, body="<key>timestamp</key><date>soon</date>")
    with pytest.raises(UnreadableError):
        read(whole.replace(without, "", 1) + "<!-- <plist <key>elapsed_ns</key> -->")


def test_a_sample_is_known_without_its_date():
    (device,) = read("*** Sampled system activity ***\n\nGPU Power: 29 mW\n").devices
    assert (device.readings[0]["power_w"], device.readings[0]["time"]) == (0.029, None)


def test_samples_in_one_list_are_each_a_reading():
    gpu = "<key>gpu</key><dict><key>idle_ratio</key><real>0.5</real></dict>"
    one = f"<dict><key>elapsed_ns</key><integer>1</integer>{gpu}</dict>"
    (device,) = read(f'<plist version="1.0"><array>{one}{one}</array></plist>').devices
    assert [reading["util"] for reading in device.readings] == [0.5, 0.5]


def test_a_broken_sample_among_whole_ones_is_left_out():
    whole = LIST.format(body="<key>gpu</key><dict><key>idle_ratio</key><real>0.25</real></dict>", elapsed=1)
    (device,) = read("\0".join([whole, whole.replace("</dict>\n</plist>", "</plist>"), whole])).devices
    assert [reading["util"] for reading in device.readings] == [0.75, 0.75]


def test_a_list_without_a_whole_sample_is_unreadable():
    with pytest.raises(UnreadableError, match="within its first property list"):
        read(LIST.format(body="", elapsed=1)[:-20])


def test_power_of_the_package_is_not_the_gpus():
    assert said("Package Power: 4400 mW\nCombined Power (CPU + GPU + ANE): 356 mW\n")["power_w"] is None


def test_an_intel_macs_temperature_of_the_gpu_is_told():
    reading = said(
        "GPU 0 name IntelIG\n\n**** SMC sensors ****\n\nCPU die temperature: 55.12 C\nGPU die temperature: 51.50 C\n"
    )
    assert (reading["temp_c"], reading["util"], reading["sm_clock_hz"]) == (51.5, None, None)


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("Current pressure level: Nominal\n", []),
        ("Current pressure level: Heavy\n", ["thermal_pressure_heavy"]),
        ("Current pressure level: Heav", None),
        ("", None),
    ],
)
def test_pressure_of_heat_is_a_reason(line, reasons):
    text = SAMPLE.format(body=line, date="x")[:-1]
    (device,) = read(text).devices
    assert device.readings[0]["throttle_reasons"] == reasons


def test_a_date_in_another_form_is_left_out():
    assert said("GPU Power: 5 mW", date="28.02.2021 00:17")["time"] is None


@pytest.fixture
def samples(recordings):
    return recordings / "powermetrics"


def test_a_real_property_list_is_read(samples):
    (device,) = read((samples / "gpu_power.xml").read_text()).devices
    assert (device.device_class, device.facts["sm_clock_max_hz"]) == ("apple-mac16-8", 1.578e9)
    (reading,) = device.readings
    assert reading["util"] == pytest.approx(1 - 0.995324)
    assert reading["sm_clock_hz"] == 3.38e8
    assert reading["power_w"] == pytest.approx(0.009 / 5.005449083)
    assert reading["time"] == "2025-07-06T04:15:28+00:00"


def test_a_real_text_is_read(samples):
    (device,) = read((samples / "apple_m1_GB5-Compute-Metal_head.txt").read_text()).devices
    assert (device.device_class, len(device.readings)) == ("apple-macmini9-1", 9)
    first = device.readings[0]
    assert (first["util"], first["sm_clock_hz"], first["power_w"]) == (0.0054, 7.09e8, 0.001)
    assert first["time"] == "2021-02-28T00:17:04-08:00"
