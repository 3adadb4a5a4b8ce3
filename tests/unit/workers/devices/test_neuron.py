import json
import os

import pytest

from tests.factories.waiting import wait_for
from tests.unit.workers.devices.vendor_tools import SOON_S, put_tool, start_tools_anew_at_once, write
from tests.unit.workers.readings.cutting import FIXTURES
from workers.devices import shared
from workers.devices.base import Host
from workers.devices.neuron import device as neuron
from workers.devices.neuron.device import NeuronDevice, ranges
from workers.host import processes
from workers.readings.record import FACTS, READINGS

LISTED = [
    {
        "neuron_device": index,
        "bdf": f"00:1{end}.0",
        "nc_count": 2,
        "memory_size": 2**35,
        "neuroncore_ids": [2 * index, 2 * index + 1],
        "numa_node": "0",
        "instance_type": "inf2.24xlarge",
        "neuron_processes": [],
    }
    for index, end in enumerate("ef")
]
REPORTS = FIXTURES / "neuron-monitor" / "two_periods_inf2.json"
FIRST, SECOND = REPORTS.read_text().splitlines()
FOREVER = "exec sleep 30"
"""As good as for ever, and no burden should it be left behind."""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without devices and tools; its `/dev` and `/sys` are below the folder."""
    for name in ("dev", "sys", "pci", "bin", "opt"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(neuron, "DEV", tmp_path / "dev")
    monkeypatch.setattr(neuron, "SYSFS", tmp_path / "sys")
    monkeypatch.setattr(neuron, "PCI", tmp_path / "pci")
    monkeypatch.setattr(neuron, "DRIVER", tmp_path / "version")
    monkeypatch.setattr(neuron, "PRODUCT", tmp_path / "product_name")
    monkeypatch.setattr(neuron, "TOOLS", tmp_path / "opt")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    start_tools_anew_at_once(monkeypatch)
    return tmp_path


@pytest.fixture
def host(machine):
    return Host(machine / "state", machine / "locks")


@pytest.fixture
def detected(host):
    """What finds the devices; those that were found are closed at the end."""
    found = []

    def detect():
        found.extend(NeuronDevice.detect(host))
        return found

    yield detect
    for device in found:
        device.close()


def add_two_inf2(machine):
    """Put two devices of two cores into `/dev`, and the tool that lists them on PATH."""
    write(machine / "dev", {"neuron0": "", "neuron1": ""})
    put_tool(machine / "bin", "neuron-ls", f"cat <<'end'\n{json.dumps(LISTED)}\nend")


def put_monitor(machine, script):
    """Put the monitor on PATH; it keeps a copy of its configuration."""
    copy = machine / "asked.json"
    return put_tool(machine / "bin", "neuron-monitor", f'[ "$1" = -c ] && cp "$2" {copy}\n{script}')


def say(line):
    return f"cat <<'end'\n{line}\nend\n"


def told(device, name="util"):
    return lambda: device.telemetry()[name]


# --- which devices there are ---


def test_a_machine_without_devices_has_none_and_lacks_none(host):
    assert NeuronDevice.detect(host) == []
    assert NeuronDevice.absent() is None


def test_devices_are_those_of_the_driver_in_its_order(machine, detected):
    write(machine / "dev", {"neuron_helper": "", "neuron10": "", "neuron2": ""})
    write(machine / "sys", {"neuron2/core_count": "2", "neuron10/core_count": "2\n"})
    assert [device.facts()["index"] for device in detected()] == [2, 10]
    assert [device.cores for device in detected()[:2]] == [(4, 5), (20, 21)]


def test_cores_are_those_that_the_tool_tells(machine, detected):
    add_two_inf2(machine)
    write(machine / "sys", {"neuron0/core_count": "4"})
    assert [device.cores for device in detected()] == [(0, 1), (2, 3)]


def test_the_tool_is_found_where_its_package_puts_it(machine, detected):
    write(machine / "dev", {"neuron0": ""})
    put_tool(machine / "opt", "neuron-ls", f"cat <<'end'\n{json.dumps(LISTED)}\nend")
    assert detected()[0].facts()["pci_bus_id"] == "0000:00:1e.0"


def test_a_tool_that_knows_its_newer_words_only_is_asked_with_them(machine, detected):
    write(machine / "dev", {"neuron0": ""})
    document = json.dumps({"neuron_devices": LISTED})
    put_tool(machine / "bin", "neuron-ls", f'[ "$1" = --output-format ] || exit 2\n{say(document)}')
    assert detected()[0].cores == (0, 1)


@pytest.mark.parametrize(
    "script", ["exit 1", "echo '[{'", "head -c 500 /dev/urandom", say('{"neuron_device": "x"}')]
)
def test_without_a_list_the_driver_tells_the_cores(machine, detected, script):
    write(machine / "dev", {"neuron0": ""})
    write(machine / "sys", {"neuron0/core_count": "2"})
    put_tool(machine / "bin", "neuron-ls", script)
    assert detected()[0].cores == (0, 1)


def test_a_tool_that_hangs_does_not_keep_the_agent_from_its_devices(machine, detected, monkeypatch):
    monkeypatch.setattr(neuron, "LIST_TIMEOUT_S", 0.1)
    write(machine / "dev", {"neuron0": ""})
    write(machine / "sys", {"neuron0/core_count": "2"})
    put_tool(machine / "bin", "neuron-ls", FOREVER)
    assert detected()[0].cores == (0, 1)


@pytest.mark.parametrize("files", [{}, {"neuron0/core_count": "8"}])
def test_a_device_whose_cores_programs_may_count_otherwise_is_lacking(machine, host, files):
    write(machine / "dev", {"neuron0": ""})
    write(machine / "sys", files)
    assert NeuronDevice.detect(host) == []
    lack = NeuronDevice.absent()
    assert "neuron0" in lack.what
    assert "aws-neuronx-tools" in lack.how


def test_devices_on_the_bus_without_a_driver_are_lacking(machine):
    write(machine / "pci/0000:00:1f.0", {"vendor": "0x1d0f", "device": "0x7264"})
    write(machine / "pci/0000:00:05.0", {"vendor": "0x1d0f", "device": "0xec20"})
    lack = NeuronDevice.absent()
    assert lack.what == "Neuron devices (PCI 0000:00:1f.0)"
    assert "aws-neuronx-dkms" in lack.how


# --- what is known of a device ---


def test_facts_are_those_of_the_driver_and_its_tool(machine, detected):
    add_two_inf2(machine)
    write(
        machine / "sys/neuron1",
        {
            "info/serial_number": "1234567890abcdef",
            "info/architecture/device_name": "Inferentia2",
            "info/architecture/instance_type": "Inf2",
            "neuron_core0/info/architecture/arch_type": "NCv2",
        },
    )
    write(
        machine / "pci/0000:00:1f.0",
        {"max_link_speed": "16.0 GT/s PCIe", "max_link_width": "8", "numa_node": "3"},
    )
    write(machine, {"version": "2.20.1\n", "product_name": "inf2.24xlarge\n"})
    device = detected()[1]
    facts = device.facts()
    assert set(facts) == {*FACTS, "unavailable"}
    assert (device.hardware_id, device.device_class, device.model) == (
        "neuron:1234567890abcdef",
        "inf2",
        "Inferentia2",
    )
    assert (facts["serial"], facts["architecture"], facts["driver"]) == ("1234567890abcdef", "NCv2", "2.20.1")
    assert (facts["cores"], facts["memory_b"], facts["pci_bus_id"]) == (2, 2**35, "0000:00:1f.0")
    assert (facts["pcie_gen_max"], facts["pcie_width_max"], facts["numa_node"]) == (4, 8, 0)
    assert facts["instance_type"] == "inf2.24xlarge"


def test_a_device_without_a_serial_number_is_that_of_this_machine(machine, host):
    add_two_inf2(machine)
    ids = [[device.hardware_id for device in NeuronDevice.detect(host)] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_a_machine_tells_what_it_is_where_the_driver_does_not(machine, detected):
    write(machine / "dev", {"neuron0": ""})
    write(machine / "sys", {"neuron0/core_count": "2"})
    write(machine, {"product_name": "trn1.2xlarge\n"})
    device = detected()[0]
    assert (device.device_class, device.facts()["instance_type"]) == ("trn1", "trn1.2xlarge")
    assert device.facts()["memory_b"] is None


def test_a_device_cannot_be_waited_for_timed_or_flushed_from_outside(machine, detected):
    add_two_inf2(machine)
    device = detected()[0]
    assert (device.sync(), device.device_timer(), device.flush_cache()) == (None, None, False)


# --- what a program is shown ---


@pytest.mark.parametrize(
    ("numbers", "written"),
    [([], ""), ([3], "3"), ([2, 0, 1], "0-2"), ([0, 1, 4, 5], "0-1,4-5"), ([7, 7, 9], "7,9")],
)
def test_cores_are_written_as_ranges(numbers, written):
    assert ranges(numbers) == written


def test_a_program_is_shown_the_cores_of_its_devices(machine, detected):
    add_two_inf2(machine)
    first, second = detected()
    assert NeuronDevice.visible_env([second]) == {"NEURON_RT_VISIBLE_CORES": "2-3"}
    assert NeuronDevice.visible_env([second, first]) == {"NEURON_RT_VISIBLE_CORES": "0-3"}
    assert NeuronDevice.addresses([first, second]) == ["xla:0", "xla:2"]


# --- what devices do, as the monitor tells ---


def test_readings_are_those_of_each_device(machine, detected):
    add_two_inf2(machine)
    put_monitor(machine, say(FIRST) + FOREVER)
    first, second = detected()
    assert wait_for(told(first), SOON_S) == pytest.approx(0.6)
    reading = second.telemetry()
    assert set(reading) == {*READINGS, "unavailable"}
    assert (reading["util"], reading["ecc_corrected"], reading["ecc_uncorrected"]) == (0.1, 2, 0)
    assert reading["mem_used_b"] == 200 * 2**20
    assert "util" not in {word for lack in first.lacks() for word in lack.what.split(", ")}


def test_the_newest_report_counts(machine, detected):
    add_two_inf2(machine)
    put_monitor(machine, say(FIRST) + say(SECOND) + FOREVER)
    device = detected()[0]
    wait_for(lambda: device.telemetry()["util"] == pytest.approx(0.7), SOON_S)


def test_the_monitor_is_asked_for_a_report_a_second(machine, detected):
    add_two_inf2(machine)
    put_monitor(machine, say(FIRST) + FOREVER)
    wait_for(told(detected()[0]), SOON_S)
    asked = json.loads((machine / "asked.json").read_text())
    assert asked["period"] == "1s"
    assert {metric["type"] for metric in asked["neuron_runtimes"][0]["metrics"]} == {
        "neuroncore_counters",
        "memory_used",
    }


def test_an_agent_that_cannot_keep_a_file_takes_the_reports_as_they_come(machine, detected):
    (machine / "state").write_text("no folder")
    write(machine / "dev", {"neuron0": ""})
    write(machine / "sys", {"neuron0/info/serial_number": "77", "neuron0/core_count": "2"})
    put_monitor(machine, say(FIRST) + FOREVER)
    assert wait_for(told(detected()[0]), SOON_S) == pytest.approx(0.6)
    assert not (machine / "asked.json").exists()


def test_the_record_waits_for_the_first_report(machine, detected):
    add_two_inf2(machine)
    put_monitor(machine, say(FIRST) + FOREVER)
    assert detected()[1].settled_record().readings[0]["util"] == 0.1


def test_a_machine_without_the_monitor_lacks_its_readings(machine, detected):
    add_two_inf2(machine)
    device = detected()[0]
    assert device.settled_record().readings[0]["util"] is None
    lack = device.lacks()[0]
    assert "neuron-monitor is not on PATH" in lack.why
    assert "aws-neuronx-tools" in lack.how


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("head -c 2000 /dev/urandom | tr -d '\\n'; echo", "no whole report"),
        ("echo 'this is no report'", "no whole report"),
        ("exit 1", "ended with status"),
    ],
)
def test_a_monitor_that_tells_nothing_costs_its_readings_only(machine, detected, script, why):
    add_two_inf2(machine)
    put_monitor(machine, f"{script}\n{FOREVER if why.startswith('no') else ''}")
    device = detected()[0]
    device.telemetry()
    wait_for(lambda: any(why in lack.why for lack in device.lacks()), SOON_S)
    assert device.telemetry()["util"] is None


def test_a_monitor_that_never_says_a_word_costs_its_readings_only(machine, detected, monkeypatch):
    monkeypatch.setattr(neuron, "TOLD_S", 0.1)
    add_two_inf2(machine)
    put_monitor(machine, FOREVER)
    record = detected()[0].settled_record()
    assert record.readings[0]["util"] is None
    assert any("nothing was read" in lack.why for lack in detected()[0].lacks())


def test_a_monitor_that_falls_silent_lets_its_report_grow_old(machine, detected, monkeypatch):
    monkeypatch.setattr(neuron, "PERIOD_S", 0.1)
    add_two_inf2(machine)
    put_monitor(machine, say(FIRST) + FOREVER)
    device = detected()[0]
    wait_for(told(device), SOON_S)
    wait_for(lambda: device.telemetry()["util"] is None, SOON_S)


def test_a_monitor_that_dies_and_comes_back_is_read_again(machine, detected):
    add_two_inf2(machine)
    once = machine / "once"
    put_monitor(machine, f"[ -e {once} ] || {{ : >{once}; {say(FIRST)}exit 1; }}\n{say(SECOND)}{FOREVER}")
    device = detected()[0]
    wait_for(lambda: device.telemetry()["util"] == pytest.approx(0.7), SOON_S)


def test_the_monitor_ends_with_the_last_device(machine, detected):
    add_two_inf2(machine)
    pid = machine / "pid"
    put_monitor(machine, f"echo $$ >{pid}.new; mv {pid}.new {pid}\n{say(FIRST)}{FOREVER}")
    first, second = detected()
    wait_for(told(first), SOON_S)
    first.close()
    first.close()
    os.kill(int(pid.read_text()), 0)
    second.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# --- what devices do, as the driver tells ---


def test_the_drivers_counters_are_read_now(machine, detected):
    add_two_inf2(machine)
    for core, used in ((0, "1000"), (1, "24\n")):
        write(machine / f"sys/neuron0/neuron_core{core}/stats/memory_usage/device_mem", {"total": used})
    write(machine / "sys/neuron0/stats/hardware", {"mem_ecc_uncorrected": "2", "sram_ecc_uncorrected": "3"})
    write(machine / "pci/0000:00:1e.0", {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"})
    reading = detected()[0].telemetry()
    assert (reading["mem_used_b"], reading["ecc_uncorrected"], reading["ecc_corrected"]) == (1024, 5, None)
    assert (reading["pcie_gen"], reading["pcie_width"]) == (3, 4)


def test_counters_and_names_that_the_driver_moved_are_found_by_their_names(machine, detected):
    add_two_inf2(machine)
    write(machine / "sys/neuron0", {"serial_number": "00c0ffee00c0ffee"})
    for core, used in ((0, "1000"), (1, "24")):
        write(machine / f"sys/neuron0/neuron_core{core}/memory/device_mem", {"total": used})
    write(machine / "sys/neuron0/errors", {"mem_ecc_uncorrected": "2"})
    write(machine / "sys/neuron0/errors/sram_ecc_uncorrected", {"total": "3", "present": "1"})
    device = detected()[0]
    reading = device.telemetry()
    assert (reading["mem_used_b"], reading["ecc_uncorrected"]) == (1024, 5)
    assert device.facts()["serial"] == "00c0ffee00c0ffee"


def test_memory_is_missing_where_one_core_does_not_tell(machine, detected):
    add_two_inf2(machine)
    write(machine / "sys/neuron0/neuron_core0/stats/memory_usage/device_mem", {"total": "1000"})
    write(machine / "sys/neuron0/neuron_core1/stats", {"other": "1"})
    assert detected()[0].telemetry()["mem_used_b"] is None


# --- who uses a device ---


@pytest.fixture
def holding(machine, monkeypatch):
    """Who has which file open, as the kernel would tell: name of the device file -> processes."""
    held = {}
    monkeypatch.setattr(processes, "holders", lambda paths: {path: held.get(path.name, []) for path in paths})
    write(
        machine / "proc", {f"{pid}/comm": name for pid, name in ((42, "python3\n"), (43, "neuron-monitor\n"))}
    )
    monkeypatch.setattr(processes, "PROC", machine / "proc")
    return held


def test_foreign_processes_are_told_of_the_device_that_they_hold(machine, detected, holding):
    add_two_inf2(machine)
    holding |= {"neuron0": [42, 43, os.getpid()], "neuron1": [44]}
    first, second = detected()
    assert (first.processes(), second.processes()) == ([42], [44])
    assert wait_for(told(first, "foreign_pids"), SOON_S) == [42]


def test_processes_that_only_the_monitor_sees_are_foreign(machine, detected, holding, monkeypatch):
    monkeypatch.setattr(shared, "sees_others", lambda: False)
    add_two_inf2(machine)
    put_monitor(machine, say(SECOND) + FOREVER)
    first, second = detected()
    assert wait_for(told(first, "foreign_pids"), SOON_S) == [60]
    assert second.telemetry()["foreign_pids"] == [60, 61]


def test_nobody_is_only_known_to_hold_a_device_where_all_may_be_seen(machine, detected, holding, monkeypatch):
    monkeypatch.setattr(shared, "sees_others", lambda: False)
    add_two_inf2(machine)
    device = detected()[0]
    device.settled_record()
    assert device.telemetry()["foreign_pids"] is None
    monkeypatch.setattr(shared, "sees_others", lambda: True)
    wait_for(lambda: device.telemetry()["foreign_pids"] == [], SOON_S)
