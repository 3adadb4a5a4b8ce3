import json
import os
import sys

import pytest

from tests.factories.waiting import wait_for
from tests.unit.workers.devices.vendor_tools import SOON_S, put_tool, start_tools_anew_at_once, write
from tests.unit.workers.readings.cutting import FIXTURES
from workers.devices import shared
from workers.devices.base import Host
from workers.devices.tools import ToolError
from workers.devices.tpu import device as tpu
from workers.devices.tpu.device import TpuDevice, find, read_probe
from workers.host import processes
from workers.readings.record import FACTS, READINGS

V6E = {"vendor": "0x1ae0", "device": "0x006f"}
V4 = {"vendor": "0x1ae0", "device": "0x005e"}
V3 = {"vendor": "0x1ae0", "device": "0x0027", "subsystem_device": "0x004f"}
TABLES = (FIXTURES / "tpu-info" / "bars_lost_v6e.txt").as_posix()
USED_B = (20 * 2**30, 21 * 2**30)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without chips, tools and Google's environment; its `/dev` and `/sys` are below the folder."""
    for name in tpu.SIGNS:
        monkeypatch.delenv(name, raising=False)
    for name in ("dev", "pci", "bin"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tpu, "DEV", tmp_path / "dev")
    monkeypatch.setattr(tpu, "PCI", tmp_path / "pci")
    monkeypatch.setitem(sys.modules, "libtpu", None)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


@pytest.fixture
def host(machine):
    return Host(machine / "state", machine / "locks")


@pytest.fixture
def detected(host):
    """What finds the chips; those that were found are closed at the end."""
    found = []

    def detect():
        found.extend(TpuDevice.detect(host))
        return found

    yield detect
    for device in found:
        device.close()


def add_chip(machine, bus, files, accel=None, group=None):
    """Put a chip on the bus, with a device file of either kind."""
    write(machine / "pci" / bus, files)
    if accel is not None:
        (machine / "pci" / bus / "accel" / f"accel{accel}").mkdir(parents=True)
        write(machine / "dev", {f"accel{accel}": ""})
    if group is not None:
        (machine / "pci" / bus / "iommu_group").symlink_to(f"../../kernel/iommu_groups/{group}")
        write(machine / "dev", {f"vfio/{group}": "", "vfio/vfio": ""})


def add_two_v6e(machine):
    add_chip(machine, "0000:00:04.0", V6E, group=0)
    add_chip(machine, "0000:00:05.0", V6E, group=1)


# --- which chips there are ---


def test_a_machine_without_chips_has_none_and_lacks_none(host):
    assert TpuDevice.detect(host) == []
    assert TpuDevice.absent() is None


def test_chips_with_files_of_their_own_are_found_on_the_bus(machine, detected):
    add_chip(machine, "0000:00:05.0", V4, accel=0)
    add_chip(machine, "0000:00:04.0", V4, accel=1)
    assert [device.device_class for device in detected()] == ["tpu-v4", "tpu-v4"]
    assert [device.facts()["pci_bus_id"] for device in detected()[:2]] == ["0000:00:05.0", "0000:00:04.0"]


def test_chips_behind_vfio_are_counted_by_their_groups(machine, detected):
    for slot, group in ((4, 10), (5, 2)):
        add_chip(machine, f"0000:00:0{slot}.0", V6E, group=group)
    assert [device.facts()["pci_bus_id"] for device in detected()] == ["0000:00:05.0", "0000:00:04.0"]
    assert [device.facts()["index"] for device in detected()[:2]] == [0, 1]


@pytest.mark.parametrize(("subsystem", "name"), [("0x004e", "tpu-v2"), ("0x004f", "tpu-v3")])
def test_old_chips_are_told_apart_by_their_subsystem(machine, detected, subsystem, name):
    add_chip(machine, "0000:00:04.0", {**V3, "subsystem_device": subsystem}, accel=0)
    assert [device.device_class for device in detected()] == [name]


@pytest.mark.parametrize("other", [{"device": "0x0042"}, {"vendor": "0x10de"}, {"device": "0x0027"}])
def test_other_devices_on_the_bus_are_no_chips(machine, host, other):
    add_chip(machine, "0000:00:04.0", {**V6E, **other}, group=0)
    assert TpuDevice.detect(host) == []
    assert TpuDevice.absent() is None


def test_two_functions_in_one_slot_are_one_chip(machine, detected):
    for function in (0, 1):
        add_chip(machine, f"0000:00:04.{function}", {**V6E, "device": "0x0076"}, group=function)
    (device,) = detected()
    assert (device.device_class, device.model, device.devices) == ("tpu-v7x", "TPU7x", 2)


def test_a_container_that_hides_the_bus_tells_the_chips_in_its_environment(machine, detected, monkeypatch):
    write(machine / "dev", {"accel0": "", "accel1": "", "accelerometer": ""})
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5litepod-4")
    assert [device.device_class for device in detected()] == ["tpu-v5e", "tpu-v5e"]
    assert detected()[0].facts()["pci_bus_id"] is None


def test_groups_of_other_devices_are_no_chips(machine, host):
    write(machine / "dev", {"vfio/3": ""})
    assert find() == []


def test_chips_without_files_are_lacking(machine):
    write(machine / "pci/0000:00:04.0", V6E)
    lack = TpuDevice.absent()
    assert "0000:00:04.0" in lack.what
    assert "--privileged" in lack.how


def test_an_environment_of_a_tpu_vm_without_chips_is_lacking(machine, monkeypatch):
    monkeypatch.setenv("TPU_NAME", "node-1")
    assert "TPU_NAME" in TpuDevice.absent().why


def test_chips_that_are_here_do_not_lack(machine):
    add_two_v6e(machine)
    assert TpuDevice.absent() is None


# --- what is known of a chip ---


def test_facts_are_those_of_the_bus_and_the_environment(machine, detected, monkeypatch):
    add_chip(
        machine,
        "0000:00:04.0",
        {
            **V6E,
            "numa_node": "1",
            "max_link_speed": "16.0 GT/s PCIe",
            "max_link_width": "16",
            "driver/module/version": "1.2.3",
        },
        group=0,
    )
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v6e-8")
    facts = detected()[0].facts()
    assert set(facts) == {*FACTS, "unavailable"}
    assert (facts["model"], facts["architecture"], facts["cores"]) == ("TPU v6e", "v6e", 1)
    assert (facts["pcie_gen_max"], facts["pcie_width_max"], facts["numa_node"]) == (4, 16, 1)
    assert (facts["driver"], facts["instance_type"]) == ("1.2.3", "v6e-8")


def test_a_chip_is_the_same_one_after_a_restart(machine, host):
    add_two_v6e(machine)
    ids = [[device.hardware_id for device in TpuDevice.detect(host)] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_a_chip_cannot_be_waited_for_timed_or_flushed_from_outside(machine, detected):
    add_two_v6e(machine)
    device = detected()[0]
    assert (device.sync(), device.device_timer(), device.flush_cache()) == (None, None, False)


# --- what a program is shown ---


def shown(machine, detected, number, chosen):
    for slot in range(number):
        add_chip(machine, f"0000:00:{slot:02x}.0", V6E, group=slot)
    devices = detected()
    return TpuDevice.visible_env([devices[place] for place in chosen])


def test_one_chip_of_several_is_shown_as_a_host_of_one(machine, detected):
    assert shown(machine, detected, 4, [2]) == {
        "TPU_VISIBLE_CHIPS": "2",
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
        "TPU_PROCESS_BOUNDS": "1,1,1",
    }


def test_two_chips_of_several_lie_side_by_side(machine, detected):
    told = shown(machine, detected, 4, [0, 1])
    assert (told["TPU_VISIBLE_CHIPS"], told["TPU_CHIPS_PER_PROCESS_BOUNDS"]) == ("0,1", "1,2,1")


def test_all_chips_are_shown_as_they_are(machine, detected):
    assert shown(machine, detected, 2, [0, 1]) == {"TPU_VISIBLE_CHIPS": "0,1"}


def test_three_chips_have_no_known_shape(machine, detected):
    assert shown(machine, detected, 4, [0, 1, 3]) == {"TPU_VISIBLE_CHIPS": "0,1,3"}


def test_no_chip_is_shown_as_none(machine):
    assert TpuDevice.visible_env([]) == {"TPU_VISIBLE_CHIPS": ""}


def test_a_chip_is_addressed_by_its_first_device(machine, detected):
    for slot in (4, 5):
        add_chip(machine, f"0000:00:0{slot}.0", V3, accel=slot)
    assert TpuDevice.addresses(detected()) == ["xla:0", "xla:2"]


# --- what chips do, as tpu-info tells ---


def told(device, name="util"):
    return lambda: device.telemetry()[name]


def test_readings_are_those_of_each_chip(machine, detected):
    add_two_v6e(machine)
    put_tool(machine / "bin", "tpu-info", f"cat '{TABLES}'")
    first, second = detected()
    assert wait_for(told(first), SOON_S) == 0.55
    reading = second.telemetry()
    assert set(reading) == {*READINGS, "unavailable"}
    assert (reading["util"], reading["mem_used_b"], first.telemetry()["mem_used_b"]) == (0.45, *USED_B[::-1])
    assert "util" not in {word for lack in first.lacks() for word in lack.what.split(", ")}


def test_the_record_waits_for_the_tools_first_answer(machine, detected):
    add_two_v6e(machine)
    put_tool(machine / "bin", "tpu-info", f"cat '{TABLES}'")
    assert detected()[1].settled_record().readings[0]["util"] == 0.45


def test_a_machine_without_any_tool_lacks_its_readings_and_does_not_wait(machine, detected, monkeypatch):
    add_two_v6e(machine)
    monkeypatch.setattr(tpu, "TOLD_S", 1e9)
    monkeypatch.setenv("PATH", str(machine / "bin"))
    device = detected()[0]
    assert device.settled_record().readings[0]["util"] is None
    lack = device.lacks()[0]
    assert "tpu-info" in lack.why
    assert "pip install" in lack.how


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("head -c 2000 /dev/urandom", "no table"),
        ('echo \'{"some": "json"}\'', "no table"),
        ("echo broken >&2; exit 3", "status 3: broken"),
        ("exec sleep 30", "did not answer within 0.2 s"),
    ],
)
def test_a_tool_that_tells_nothing_costs_its_readings_only(machine, detected, monkeypatch, script, why):
    monkeypatch.setattr(tpu, "ANSWER_S", 0.2)
    add_two_v6e(machine)
    put_tool(machine / "bin", "tpu-info", script)
    device = detected()[0]
    device.telemetry()
    wait_for(lambda: any(why in lack.why for lack in device.lacks()), SOON_S)
    assert (device.telemetry()["util"], device.telemetry()["mem_used_b"]) == (None, None)


def test_a_tool_that_hangs_after_an_answer_lets_it_grow_old(machine, detected, monkeypatch):
    monkeypatch.setattr(tpu, "ASK_S", 0.1)
    monkeypatch.setattr(tpu, "ANSWER_S", 1.0)
    add_two_v6e(machine)
    put_tool(
        machine / "bin",
        "tpu-info",
        f"[ -e '{machine}/once' ] && exec sleep 30; : >'{machine}/once'; cat '{TABLES}'",
    )
    device = detected()[0]
    wait_for(told(device), SOON_S)
    wait_for(lambda: device.telemetry()["util"] is None, SOON_S)


def test_a_tool_that_fails_and_comes_back_is_read_again(machine, detected, monkeypatch):
    monkeypatch.setattr(tpu, "ASK_S", 0.1)
    add_two_v6e(machine)
    put_tool(machine / "bin", "tpu-info", "exit 1")
    device = detected()[0]
    device.telemetry()
    wait_for(lambda: any("status 1" in lack.why for lack in device.lacks()), SOON_S)
    put_tool(machine / "bin", "new", f"cat '{TABLES}'").replace(machine / "bin/tpu-info")
    assert wait_for(told(device), SOON_S) == 0.55


# --- what chips do, as libtpu tells ---


@pytest.fixture
def libtpu(machine, monkeypatch):
    """A libtpu whose monitoring answers as a file says; without the file it ends its process."""
    answers = machine / "answers.json"
    write(
        machine / "packages",
        {
            "libtpu-9.8.7.dist-info/METADATA": "Metadata-Version: 2.1\nName: libtpu\nVersion: 9.8.7\n",
            "libtpu/__init__.py": "",
            "libtpu/sdk.py": f"""
import json, os, time
class Metric:
    def __init__(self, values): self.values = values
    def data(self): return self.values
class tpumonitoring:
    @staticmethod
    def get_metric(name):
        if not os.path.exists({str(answers)!r}):
            os._exit(3)
        told = json.load(open({str(answers)!r}))
        if told.get("silent"):
            time.sleep(30)
        return Metric(told[name])
""",
        },
    )
    monkeypatch.setenv("PYTHONPATH", str(machine / "packages"))
    monkeypatch.delitem(sys.modules, "libtpu")
    monkeypatch.syspath_prepend(machine / "packages")
    start_tools_anew_at_once(monkeypatch)
    add_two_v6e(machine)
    return answers


BUSY = {
    "duty_cycle_pct": ["55.5", "10"],
    "hbm_capacity_usage": ["1000", "2000"],
    "hbm_capacity_total": ["33000000000", "33000000000"],
    "tensorcore_util": ["12.5", "0.0"],
}


def answer(file, **values):
    file.with_suffix(".new").write_text(json.dumps({**BUSY, **values}))
    file.with_suffix(".new").replace(file)


def test_libtpus_monitoring_is_read_in_a_process_of_its_own(libtpu, detected):
    answer(libtpu)
    first, second = detected()
    assert wait_for(told(first), SOON_S) == 0.555
    readings = [device.telemetry() for device in (first, second)]
    assert [reading["tensor_active"] for reading in readings] == [0.125, 0.0]
    assert [reading["mem_used_b"] for reading in readings] == [1000, 2000]


def test_the_runtimes_version_is_libtpus(libtpu, detected):
    assert detected()[0].facts()["runtime"] == "9.8.7"


def test_a_libtpu_that_says_no_more_lets_its_answer_grow_old(libtpu, detected, monkeypatch):
    monkeypatch.setattr(tpu, "PROBE_S", 0.1)
    answer(libtpu)
    device = detected()[0]
    wait_for(told(device), SOON_S)
    answer(libtpu, silent=True)
    wait_for(lambda: device.telemetry()["util"] is None, SOON_S)


def test_chips_that_no_program_uses_have_no_readings(libtpu, detected):
    answer(libtpu, **{name: [] for name in BUSY})
    device = detected()[0]
    assert device.settled_record().readings[0]["util"] is None
    assert [lack for lack in device.lacks() if "util" in lack.what] == []


def test_a_libtpu_that_ends_its_process_is_started_again(libtpu, detected):
    device = detected()[0]
    device.telemetry()
    wait_for(lambda: any("ended with status" in lack.why for lack in device.lacks()), SOON_S)
    answer(libtpu)
    assert wait_for(told(device), SOON_S) == 0.555


def test_what_libtpu_does_not_tell_is_missing():
    assert read_probe(json.dumps(dict.fromkeys(BUSY))).rows() == 0
    assert read_probe(json.dumps({**BUSY, "hbm_capacity_usage": ["1"]})).memory.rows == ()


def test_zeros_of_devices_without_memory_are_no_readings():
    moment = read_probe(
        json.dumps({**BUSY, "hbm_capacity_total": ["0", "0"], "hbm_capacity_usage": ["0", "0"]})
    )
    assert [row.used_b for row in moment.memory.rows] == [None, None]
    assert (moment.duty.rows, moment.tensor.rows) == ([], [])


@pytest.mark.parametrize("line", ["Traceback (most recent call last):\n", "[1]\n", "3\n"])
def test_a_line_that_is_not_the_probes_is_refused(line):
    with pytest.raises(ToolError, match="libtpu's monitoring printed"):
        read_probe(line)


# --- who uses a chip ---


@pytest.fixture
def holding(machine, monkeypatch):
    """Who has which file open, as the kernel would tell: path below `dev` -> processes."""
    held = {}
    monkeypatch.setattr(
        processes,
        "holders",
        lambda paths: {path: held.get(path.relative_to(tpu.DEV).as_posix(), []) for path in paths},
    )
    monkeypatch.setattr(
        processes, "foreign", lambda pids: sorted(pid for pid in set(pids) if pid != os.getpid())
    )
    return held


def test_foreign_processes_are_told_of_the_chip_that_they_hold(machine, detected, holding):
    add_two_v6e(machine)
    holding |= {"vfio/0": [42, os.getpid()], "vfio/1": [43]}
    first, second = detected()
    assert (first.processes(), second.processes()) == ([42], [43])
    assert wait_for(told(first, "foreign_pids"), SOON_S) == [42]


def test_nobody_is_only_known_to_hold_a_chip_where_all_may_be_seen(machine, detected, holding, monkeypatch):
    add_two_v6e(machine)
    device = detected()[0]
    monkeypatch.setattr(shared, "sees_others", lambda: True)
    wait_for(lambda: device.telemetry()["foreign_pids"] == [], SOON_S)
    monkeypatch.setattr(shared, "sees_others", lambda: False)
    assert device.telemetry()["foreign_pids"] is None


def test_an_agent_that_may_not_see_others_says_so(machine, detected, monkeypatch):
    add_two_v6e(machine)
    monkeypatch.setattr(tpu, "sees_others", lambda: False)
    assert "CAP_SYS_PTRACE" in detected()[0].lacks()[-1].how


def test_rows_fewer_than_the_chips_are_those_of_the_chips_in_use(machine, detected, holding, monkeypatch):
    add_chip(machine, "0000:00:03.0", V6E, group=5)
    add_two_v6e(machine)
    holding |= {"vfio/1": [os.getpid()], "vfio/5": [os.getpid()]}
    put_tool(machine / "bin", "tpu-info", f"cat '{TABLES}'")
    devices = detected()
    assert wait_for(told(devices[1]), SOON_S) == 0.55
    assert [device.telemetry()["util"] for device in devices] == [None, 0.55, 0.45]
