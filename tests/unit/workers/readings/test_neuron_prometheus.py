import pytest

from tests.unit.workers.readings.cutting import FIXTURES, assert_every_cut_tells_nothing_else
from workers.readings import read
from workers.readings.reader import UnreadableError

PATH = FIXTURES / "neuron-monitor" / "two_scrapes_inf2.prom"
HARDWARE = 'neuron_hardware_info{neuron_device_count="2",neuroncore_per_device_count="2"} 1\n'


def used(core, value, tag="7", name="neuroncore_utilization_ratio"):
    return f'{name}{{neuroncore="{core}",runtime_tag="{tag}"}} {value}\n'


def ecc(device, kind, value):
    return f'hardware_ecc_events_total{{event_type="{kind}",neuron_device_index="{device}"}} {value}\n'


def readings(text):
    return [device.readings[-1] for device in read(text).devices]


def test_a_text_that_ends_anywhere_tells_nothing_else():
    assert_every_cut_tells_nothing_else(PATH)


def test_memory_is_not_known_where_more_of_its_kinds_may_follow():
    kinds = "".join(used(0, 5, name=f"neuroncore_memory_usage_{kind}") for kind in ("constants", "tensors"))
    assert [told["mem_used_b"] for told in readings(used(0, 0.5) + kinds)] == [None]
    assert [told["mem_used_b"] for told in readings(kinds + used(0, 0.5))] == [10]


def test_blanks_before_lines_do_no_harm():
    assert read("".join(f"    {line}" for line in PATH.read_text().splitlines(keepends=True))) == read(
        PATH.read_text()
    )


def test_ends_of_lines_do_not_matter():
    assert read(PATH.read_text().replace("\n", "\r\n")) == read(PATH.read_text())


def test_a_broken_line_is_refused_with_its_place():
    with pytest.raises(UnreadableError, match="neuron-monitor: line 2"):
        read(HARDWARE + 'neuroncore_utilization_ratio{neuroncore="0"\n' + used(1, 0.5))


def test_lines_of_other_exporters_do_no_harm():
    text = "go_gc_duration_seconds 0.5\nhello\n" + HARDWARE + used(0, 0.5) + used(1, 0.25)
    assert readings(text)[0]["util"] == 0.375


@pytest.mark.parametrize("value", ["NaN", "-1", "1.5"])
def test_what_is_no_share_is_left_out(value):
    assert readings(HARDWARE + used(0, value) + used(1, 0.25))[0]["util"] == 0.25


def test_cores_of_several_runtimes_are_all_told():
    text = HARDWARE + used(0, 0.5, "a") + used(1, 0.25, "b") + used(2, 1, "b") + used(3, 0, "b")
    assert [reading["util"] for reading in readings(text)] == [0.375, 0.5]


def test_a_tag_is_no_process():
    text = HARDWARE + used(0, 0.5, "1234") + used(1, 0.5, "1234")
    assert [reading["foreign_pids"] for reading in readings(text)] == [None, None]


def test_a_metric_at_the_end_that_lacks_a_core_is_left_out():
    assert readings(HARDWARE + used(0, 0.5))[0]["util"] is None
    assert readings(used(0, 0.5) + HARDWARE)[0]["util"] == 0.5


def test_a_metric_at_the_end_that_lacks_a_counter_is_left_out():
    whole = ecc(0, "mem_ecc_corrected", 1) + ecc(0, "sram_ecc_corrected", 2) + ecc(1, "mem_ecc_corrected", 4)
    text = HARDWARE + used(0, 1) + used(1, 0) + whole
    assert [reading["ecc_corrected"] for reading in readings(text)] == [None, None]
    assert [reading["ecc_corrected"] for reading in readings(text + ecc(1, "sram_ecc_corrected", 8))] == [
        3,
        12,
    ]


def test_all_kinds_of_memory_of_a_core_are_added_except_their_total():
    kinds = ("constants", "tensors", "total")
    lines = [
        used(core, 10 * (core + 1), name=f"neuroncore_memory_usage_{kind}")
        for kind in kinds
        for core in (0, 1, 2, 3)
    ]
    text = "".join(lines) + HARDWARE
    assert [reading["mem_used_b"] for reading in readings(text)] == [60, 140]


# --- a recording of a real instance ---


def test_the_recorded_scrape_is_read(recordings):
    path = recordings / "neuron-monitor" / "prometheus_inf1_trimmed.prom"
    (device,) = read(path.read_text()).devices
    assert (device.device_class, device.facts["index"]) == ("inf1", 0)
    assert (device.facts["cores"], device.facts["memory_b"]) == (4, 8589934592)
    assert device.facts["instance_type"] == "inf1.xlarge"
    assert (device.readings[0]["ecc_corrected"], device.readings[0]["ecc_uncorrected"]) == (0, 0)
    assert device.readings[0]["util"] is None
