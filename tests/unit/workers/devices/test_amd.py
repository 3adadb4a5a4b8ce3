"""AMD GPUs through files as the driver writes them; what a driver really writes is not tested here."""

import json
import os
import shutil
import threading

import pytest

from tests.factories.amdgpu import (
    GIB,
    MI300X,
    MI300X_NODE,
    RX7900XTX,
    RX7900XTX_NODE,
    Machine,
    table,
    table_1_6,
    tool,
)
from workers.devices.amd import device as amd
from workers.devices.amd import sysfs as amd_sysfs
from workers.devices.amd import tools as amd_tools
from workers.devices.amd.device import AmdDevice
from workers.devices.amd.kfd import Node, chosen
from workers.devices.base import Host
from workers.errors import InUseError
from workers.readings.record import FACTS, READINGS

UUID = "GPU-a1b2c3d4e5f60718"
METRIC = {
    "gpu": 0,
    "power": {"throttle_status": "THROTTLED"},
    "energy": {"total_energy_consumption": {"value": 7, "unit": "J"}},
}


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A machine without GPUs, and an agent that nothing hides from."""
    monkeypatch.setattr(AmdDevice, "root", tmp_path / "root")
    monkeypatch.delenv(amd.VISIBLE, raising=False)
    monkeypatch.setattr(amd, "TICK_S", 5.0)
    monkeypatch.setattr(amd_tools, "load_library", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Machine(tmp_path / "root")


@pytest.fixture
def found(tmp_path):
    """A function that returns the devices of the machine."""
    opened = []

    def find():
        devices = AmdDevice.detect(Host(tmp_path, tmp_path))
        opened.extend(devices)
        return devices

    yield find
    for device in opened:
        device.close()


@pytest.fixture
def accelerator(machine, found):
    """A function that returns an MI300X whose files differ in some."""

    def make(**files):
        machine.add({**MI300X, **files}, MI300X_NODE)
        (device,) = found()
        return device

    return make


@pytest.fixture
def card(machine, found):
    """A function that returns an RX 7900 XTX whose files differ in some."""

    def make(**files):
        machine.add({**RX7900XTX, **files}, RX7900XTX_NODE)
        (device,) = found()
        return device

    return make


def told(values, *names):
    return {name: values[name] for name in names}


# --- which devices there are ---


def test_a_machine_without_gpus_has_none_and_lacks_none(found):
    assert found() == []
    assert AmdDevice.absent() is None


def test_each_gpu_is_a_device_in_the_runtimes_order(machine, found):
    machine.add(RX7900XTX, RX7900XTX_NODE, "0000:42:00.0")
    machine.add(MI300X, MI300X_NODE, "0001:0c:00.0")
    card, accelerator = found()
    assert (card.device_class, card.facts()["index"], card.lock_id) == (
        "amd-rx-7900-xtx",
        0,
        "amd:0000:42:00.0",
    )
    assert (accelerator.device_class, accelerator.facts()["index"]) == ("amd-mi300x", 1)
    assert (accelerator.hardware_id, accelerator.lock_id) == (UUID, "amd:0001:0c:00.0")


def test_a_gpu_without_a_number_of_its_own_is_named_after_host_and_place(card):
    device = card()
    assert device.hardware_id.startswith("amd:")
    assert device.hardware_id.endswith(":0000:0c:00.0")
    assert device.facts()["uuid"] is None


def test_a_gpu_is_named_by_the_chips_number_where_only_the_bus_tells_it(card):
    assert card(unique_id="0123456789abcdef").hardware_id == "GPU-0123456789abcdef"


@pytest.mark.parametrize("driver", [None, "vfio-pci"])
def test_a_gpu_that_another_driver_has_is_no_device_and_is_lacking(machine, found, driver):
    machine.pci(MI300X, "0000:0c:00.0", driver=driver)
    assert found() == []
    lack = AmdDevice.absent()
    assert lack.what == "AMD GPU (PCI 0000:0c:00.0)"
    assert (driver or "no driver") in lack.why
    assert lack.how


def test_a_gpu_without_kfd_is_lacking(machine, found):
    machine.add(MI300X, MI300X_NODE)
    (machine.root / "dev/kfd").unlink()
    assert found() == []
    assert AmdDevice.absent().why == "there is no /dev/kfd"
    assert "--device=/dev/kfd" in AmdDevice.absent().how


def test_a_gpu_that_kfd_does_not_list_is_lacking(machine):
    machine.pci(MI300X, "0000:0c:00.0")
    assert "does not list it" in AmdDevice.absent().why


def test_a_gpu_that_the_user_may_not_open_is_no_device_and_says_which_group_may(machine, found, monkeypatch):
    machine.add(MI300X, MI300X_NODE)
    monkeypatch.setattr(amd.os, "access", lambda path, mode: "renderD" not in str(path))
    assert found() == []
    assert "groups render and video" in AmdDevice.absent().how


def test_other_makers_displays_and_other_devices_of_amd_are_no_sign_of_a_gpu(machine):
    machine.pci({"vendor": "0x10de", "class": "0x030000"}, "0000:01:00.0", driver="nouveau")
    machine.pci({"vendor": "0x1002", "class": "0x040300"}, "0000:02:00.1", driver="snd_hda_intel")
    assert AmdDevice.absent() is None


def test_the_agents_own_variable_leaves_the_other_gpus_to_others(machine, found, monkeypatch):
    machine.add(RX7900XTX, RX7900XTX_NODE, "0000:42:00.0")
    machine.add(MI300X, MI300X_NODE)
    monkeypatch.setenv(amd.VISIBLE, UUID)
    assert [device.hardware_id for device in found()] == [UUID]
    monkeypatch.setenv(amd.VISIBLE, "5")
    assert found() == []
    assert amd.VISIBLE in AmdDevice.absent().why


@pytest.mark.parametrize(
    ("variable", "left"),
    [
        (None, [0, 1]),
        ("", []),
        ("1,0", [1, 0]),
        ("gpu-0a", [1]),
        ("GPU-", []),
        ("0,7,1", [0]),
        ("0,0,1", [0]),
    ],
)
def test_the_runtimes_variable_counts_until_its_first_fault(variable, left):
    nodes = [
        Node(n, 101 + n, None, None, {"unique_id": number})
        for n, number in enumerate((0, 0x0A00000000000000))
    ]
    assert [node.number for node in chosen(nodes, variable)] == left


# --- divided GPUs ---


@pytest.fixture
def parts(machine, found):
    machine.add(
        {**MI300X, "current_compute_partition": "CPX", "current_memory_partition": "NPS4"},
        MI300X_NODE,
        parts=3,
    )
    return found()


def test_each_part_of_a_gpu_is_a_device_of_another_class(parts):
    assert [device.hardware_id for device in parts] == [f"{UUID}/0", f"{UUID}/1", f"{UUID}/2"]
    assert {device.device_class for device in parts} == {"amd-mi300x-cpx-nps4"}
    assert told(parts[1].facts(), "index", "partition_mode", "memory_b") == {
        "index": 1,
        "partition_mode": "CPX/NPS4",
        "memory_b": 24 * GIB,
    }


def test_parts_of_one_gpu_are_not_measured_on_at_the_same_time(parts):
    parts[0].lock()
    with pytest.raises(InUseError, match=f"{UUID}/1"):
        parts[1].lock()
    parts[0].unlock()


def test_what_is_told_of_the_whole_gpu_is_not_told_of_its_parts(parts):
    reading = parts[0].telemetry()
    assert all(reading[name] is None for name in amd_sysfs.OF_THE_WHOLE_GPU)
    assert reading["temp_c"] == 71.0
    assert any("part of one" in lack.why for lack in parts[0].lacks())


def test_parts_with_the_same_name_are_shown_by_their_numbers(parts):
    assert AmdDevice.visible_env([parts[2], parts[0]])["ROCR_VISIBLE_DEVICES"] == "2,0"


# --- facts ---


def test_an_accelerator_tells_what_stays(accelerator):
    facts = accelerator().facts()
    assert {name: value for name, value in facts.items() if value is not None and name != "unavailable"} == {
        "index": 0,
        "uuid": UUID,
        "serial": "692351000777",
        "pci_bus_id": "0000:0c:00.0",
        "model": "AMD Instinct MI300X OAM",
        "architecture": "gfx942",
        "cores": 304,
        "memory_b": 192 * GIB,
        "driver": "6.10.5",
        "firmware": "113-M3000100-102",
        "runtime": "6.3.0",
        "sm_clock_max_hz": 2.1e9,
        "mem_clock_max_hz": 1.3e9,
        "clock_policy": "automatic",
        "power_limit_default_w": 750.0,
        "power_limit_max_w": 750.0,
        "ecc_mode": True,
        "remap_pending": True,
        "partition_mode": "SPX/NPS1",
        "pcie_gen_max": 5,
        "pcie_width_max": 16,
        "numa_node": 1,
    }


def test_what_a_card_does_not_tell_is_unavailable(card):
    facts = card().facts()
    assert set(facts) == {*FACTS, "unavailable"}
    unknown = {"uuid", "serial", "firmware", "ecc_mode", "remap_pending", "partition_mode", "numa_node"}
    assert unknown <= set(facts["unavailable"])
    assert facts["clock_policy"] == "manual, COMPUTE"


def test_the_name_of_a_card_comes_from_libdrms_list_else_from_its_ids(machine, card):
    machine.write(
        "usr/share/libdrm/amdgpu.ids",
        "# names\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX Nitro\n744C,\tCC,\tother",
    )
    assert card().model == "AMD Radeon RX 7900 XTX Nitro"


def test_a_chip_that_nobody_knows_has_kfds_name(card):
    device = card(device="0x9999")
    assert (device.model, device.device_class) == ("chip", "amd-chip")


def test_a_card_without_a_module_version_has_the_kernels(machine, accelerator):
    (machine.root / "sys/module/amdgpu/version").unlink()
    machine.write("proc/sys/kernel/osrelease", "6.8.0-45-generic")
    assert accelerator().facts()["driver"] == "6.8.0-45-generic"


def test_the_link_to_the_host_is_above_the_cards_own_switch(machine, found):
    root_port = {
        "vendor": "0x1022",
        "device": "0x1483",
        "max_link_speed": "16.0 GT/s PCIe",
        "max_link_width": "8",
    }
    upper = {"vendor": "0x1002", "device": "0x1478", "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8",
             "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}  # fmt: skip
    lower = {**upper, "device": "0x1479", "current_link_width": "16"}
    machine.pci(root_port, "0000:00:01.0", driver="pcieport")
    machine.pci(upper, "0000:01:00.0", driver="pcieport", below="pci0000:00/0000:00:01.0")
    machine.pci(lower, "0000:02:00.0", driver="pcieport", below="pci0000:00/0000:00:01.0/0000:01:00.0")
    machine.pci(RX7900XTX, "0000:03:00.0", below="pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0")
    machine.node(RX7900XTX_NODE, "0000:03:00.0")
    (device,) = found()
    assert told(device.telemetry(), "pcie_gen", "pcie_width") == {"pcie_gen": 4, "pcie_width": 8}
    assert told(device.facts(), "pcie_gen_max", "pcie_width_max") == {"pcie_gen_max": 4, "pcie_width_max": 8}


def test_the_fingerprint_has_the_limit_that_holds(accelerator):
    fingerprint = accelerator().fingerprint()
    assert fingerprint["machine"]["power_limit_w"] == 700.0
    assert (fingerprint["machine"]["partition_mode"], fingerprint["identity"]["uuid"]) == ("SPX/NPS1", UUID)


# --- readings ---


def test_an_accelerator_tells_what_moves(accelerator):
    reading = accelerator().telemetry()
    known = {name: value for name, value in reading.items() if value is not None and name != "unavailable"}
    assert known.pop("t_ns") > 0
    assert known == {
        "util": 0.87,
        "mem_util": 0.41,
        "sm_clock_hz": 1.89e9,
        "mem_clock_hz": 1.3e9,
        "power_w": 612.0,
        "power_limit_w": 700.0,
        "temp_c": 71.0,
        "mem_temp_c": 58.0,
        "mem_used_b": 3 * GIB,
        "ecc_corrected": 16,
        "ecc_uncorrected": 1,
        "remapped_rows": 1,
        "pcie_gen": 5,
        "pcie_width": 16,
        "pcie_replays": 5,
        "mode": "SPX/NPS1, automatic",
    }
    assert set(reading) == {*READINGS, "unavailable"}


def test_a_card_tells_what_it_has_and_a_sleeping_clock_is_none(card):
    reading = card().telemetry()
    names = (
        "power_w",
        "power_limit_w",
        "temp_c",
        "mem_temp_c",
        "sm_clock_hz",
        "mem_used_b",
        "ecc_corrected",
        "mode",
    )
    assert told(reading, *names) == {
        "power_w": 38.0,
        "power_limit_w": None,
        "temp_c": 41.0,
        "mem_temp_c": None,
        "sm_clock_hz": None,
        "mem_used_b": 0,
        "ecc_corrected": None,
        "mode": "manual, COMPUTE",
    }
    assert reading["fan"] == pytest.approx(1 / 3)


def test_a_gpu_that_is_gone_tells_nothing(machine, accelerator):
    device = accelerator()
    shutil.rmtree(machine.root / "sys/devices")
    reading = device.telemetry()
    assert told(reading, "util", "power_w", "mem_used_b", "pcie_gen", "mode") == dict.fromkeys(
        ("util", "power_w", "mem_used_b", "pcie_gen", "mode")
    )


def test_bad_pages_that_may_not_be_read_are_unknown(accelerator, monkeypatch):
    monkeypatch.setattr(amd_sysfs.os, "access", lambda path, mode: path.name != "gpu_vram_bad_pages")
    device = accelerator()
    assert (device.telemetry()["remapped_rows"], device.facts()["remap_pending"]) == (None, None)


def test_processes_with_memory_or_a_queue_are_on_the_device_unless_they_are_ours(machine, accelerator):
    machine.process(os.getpid(), 101)
    machine.process(1, 101)
    machine.process(2, 101, 0)
    machine.process(3, 101, 0, queue=True)
    machine.process(4, 102)
    device = accelerator()
    assert device.telemetry()["foreign_pids"] == [1, 3]
    assert device.processes() == [1, 3]


def test_processes_are_unknown_in_a_container_that_numbers_them_otherwise(machine, accelerator):
    machine.process(1, 101)
    machine.sees_processes(4026532000)
    device = accelerator()
    assert device.telemetry()["foreign_pids"] is None
    assert device.processes() == []
    assert "--pid=host" in next(lack.how for lack in device.lacks() if lack.what == "foreign_pids")


def test_a_driver_that_hangs_costs_readings_and_gives_them_with_the_next_call(accelerator, monkeypatch):
    device, go = accelerator(), threading.Event()
    read = device._gpu.tick
    monkeypatch.setattr(device._gpu, "tick", lambda: go.wait(60) and read())
    monkeypatch.setattr(amd, "TICK_S", 0.01)
    assert device.telemetry()["power_w"] is None
    monkeypatch.setattr(amd, "PATIENCE_S", 0.01)
    assert device.facts()["serial"] is None
    assert device.lacks()[0].what == "every reading"
    go.set()
    monkeypatch.setattr(amd, "TICK_S", 5.0)
    assert device.telemetry()["power_w"] == 612.0


# --- the firmware's table ---


def test_an_accelerators_table_tells_energy_and_the_clock_of_most_dies(accelerator):
    reading = accelerator(gpu_metrics=table_1_6(total=1000, clocks=(2100, 2090, 0), energy=2**17)).telemetry()
    assert told(reading, "energy_j_total", "sm_clock_hz") == {"energy_j_total": 2.0, "sm_clock_hz": 2.095e9}


def test_time_under_a_violation_is_its_share_of_the_firmwares_cycles(machine, accelerator):
    device = accelerator(gpu_metrics=table_1_6(total=1000, ppt=100))
    first = device.telemetry()
    machine.write("sys/bus/pci/devices/0000:0c:00.0/gpu_metrics", table_1_6(total=3000, ppt=600))
    second = device.telemetry()
    assert first["throttle_reasons"] is None
    assert first["throttle_ns"]["ppt"] == 0
    assert second["throttle_reasons"] == ["ppt"]
    assert second["throttle_ns"]["ppt"] == round((second["t_ns"] - first["t_ns"]) / 4)
    assert second["throttle_ns"]["hbm_thermal"] == 0


# --- AMD's library and tools ---


@pytest.fixture
def new(accelerator):
    """A function that returns a GPU whose table is of a version that is not known, and whose tools were asked."""

    def make(**files):
        device = accelerator(gpu_metrics=table(400, 1, 9), **files)
        amd.await_answer(device._tools.answers, 20.0)
        return device

    return make


def test_tools_are_asked_only_where_the_firmware_tells_something_unknown(accelerator):
    assert accelerator(gpu_metrics=table_1_6(total=1))._tools is None


def test_amd_smi_tells_why_a_gpu_is_throttled(tmp_path, new):
    listed = json.dumps([{"gpu": 0, "bdf": "0000:0C:00.0", "uuid": "a1ff74a1-0000-1000-80b2-c3d4e5f60718"}])
    tool(
        tmp_path / "bin",
        "amd-smi",
        f"case $1 in list) echo '{listed}';; *) echo '{json.dumps([METRIC])}';; esac",
    )
    device = new()
    reading = device.telemetry()
    assert (reading["throttle_reasons"], reading["power_w"]) == (["throttled"], 612.0)
    assert reading["energy_j_total"] is None
    assert "throttle_reasons" not in reading["unavailable"]
    assert device.lacks() == []


def test_energy_of_a_while_ago_is_taken_where_power_is_not_told(tmp_path, new):
    answer = {"card0": {"PCI Bus": "0000:0C:00.0", "Energy counter": "131072"}}
    tool(tmp_path / "bin", "amd-smi", "echo broken >&2; exit 1")
    tool(tmp_path / "bin", "rocm-smi", f"echo '{json.dumps(answer)}'")
    device = new(**{"hwmon/hwmon3/name": "other"})
    assert told(device.telemetry(), "power_w", "energy_j_total") == {"power_w": None, "energy_j_total": 2.0}


def test_tools_that_hang_or_are_missing_cost_the_reading_and_are_told(tmp_path, new, monkeypatch):
    monkeypatch.setattr(amd_tools, "TOOL_TIMEOUT_S", 0.2)
    tool(tmp_path / "bin", "amd-smi", "exec /bin/sleep 60")
    device = new()
    reading = device.telemetry()
    assert (reading["throttle_reasons"], reading["power_w"]) == (None, 612.0)
    (lack,) = device.lacks()
    assert "version 1.9" in lack.why
    assert "amd-smi list --json did not answer within 0.2 s; rocm-smi is not on PATH" in lack.why


def test_a_gpu_without_a_table_says_so(accelerator):
    (lack,) = accelerator().lacks()
    assert "no gpu_metrics" in lack.why


def test_a_gpu_that_tells_all_lacks_nothing(accelerator):
    assert accelerator(gpu_metrics=table_1_6(total=1)).lacks() == []


# --- what measured code sees ---


def test_measured_code_is_shown_gpus_once_by_name_and_counts_them_from_0(machine, found):
    machine.add(RX7900XTX, RX7900XTX_NODE, "0000:42:00.0")
    machine.add(MI300X, MI300X_NODE)
    card, accelerator = found()
    assert AmdDevice.visible_env([accelerator, card]) == {
        "ROCR_VISIBLE_DEVICES": f"{UUID},0",
        "HIP_VISIBLE_DEVICES": "0,1",
    }
    assert AmdDevice.addresses([accelerator, card]) == ["cuda:0", "cuda:1"]


def test_a_gpu_has_no_clock_or_cache_for_others(accelerator):
    device = accelerator()
    device.sync()
    assert device.device_timer() is None
    assert device.flush_cache() is False
