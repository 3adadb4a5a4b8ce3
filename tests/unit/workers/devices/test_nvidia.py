"""NVIDIA GPUs through a double of NVML; what a driver really answers is not tested here."""

import ctypes.util
import json
import sys

import pytest

from tests.factories.nvml import (
    GIB,
    OF_NEW_DRIVERS,
    FakeNvml,
    Hang,
    Refuse,
    data_centre_gpu,
    divided_gpu,
    old_gaming_gpu,
    processes,
    violation,
)
from workers.devices.base import Host
from workers.devices.nvidia import device as nvidia
from workers.devices.nvidia import facts as nvidia_facts
from workers.devices.nvidia import gpu as nvidia_gpu
from workers.devices.nvidia import lacks as nvidia_lacks
from workers.devices.nvidia.device import NvidiaDevice
from workers.devices.nvidia.gpu import Rate
from workers.devices.nvidia.nvml import Nvml, UnreadyError
from workers.devices.tools import ToolError
from workers.errors import InUseError
from workers.readings.record import FACTS, READINGS


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine without any sign of a GPU, whose processes are all seen and are none of ours."""
    for module, name in ((nvidia, "PROC"), (nvidia, "DEV"), (nvidia, "PCI"), (nvidia, "TEGRA")):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    monkeypatch.setattr(nvidia_facts, "PCI", tmp_path / "pci")
    monkeypatch.setattr(nvidia_gpu, "foreign", lambda pids: sorted(set(pids)))
    for module in (nvidia_gpu, nvidia_lacks):
        monkeypatch.setattr(module, "sees_all_processes", lambda: True)
    monkeypatch.setattr(nvidia, "ask", no_such_tool)
    monkeypatch.setattr(nvidia, "TICK_S", 5.0)
    return tmp_path


def no_such_tool(argv, timeout_s):
    raise ToolError(f"{argv[0]} is not on PATH")


@pytest.fixture
def driver(monkeypatch):
    """A function that puts a driver with these GPUs on the machine."""

    def install(*gpus, **settings):
        module = FakeNvml(*gpus, **settings)
        monkeypatch.setitem(sys.modules, "pynvml", module)
        return module

    return install


@pytest.fixture
def found(driver, tmp_path):
    """A function that returns the devices found on a machine with these GPUs."""
    opened = []

    def find(*gpus, **settings):
        driver(*gpus, **settings)
        devices = NvidiaDevice.detect(Host(tmp_path, tmp_path))
        opened.extend(devices)
        return devices

    yield find
    for device in opened:
        device.close()


@pytest.fixture
def hang(monkeypatch):
    """A call that hangs until the test is over, for an agent that soon loses its patience."""
    monkeypatch.setattr(nvidia, "PATIENCE_S", 0.05)
    monkeypatch.setattr(nvidia, "HANGS_S", 0.0)
    call = Hang(64)
    yield call
    call.go.set()


@pytest.fixture
def hurry(monkeypatch):
    """A function after which a tick has hardly any time."""
    return lambda: monkeypatch.setattr(nvidia, "TICK_S", 0.01)


def pci_device(folder, place, vendor, kind, node=None):
    device = folder / "pci" / place
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    if node is not None:
        (device / "numa_node").write_text(f"{node}\n")


# --- which devices there are ---


def test_each_gpu_is_a_device(found):
    devices = found(data_centre_gpu(), data_centre_gpu(GetUUID="GPU-2", GetName="Tesla T4"))
    assert [(d.hardware_id, d.device_class, d.model, d.lock_id) for d in devices] == [
        (
            "GPU-11111111-2222-3333-4444-555555555555",
            "nvidia-h100-sxm5-80gb",
            "NVIDIA H100 80GB HBM3",
            "GPU-11111111-2222-3333-4444-555555555555",
        ),
        ("GPU-2", "nvidia-t4", "Tesla T4", "GPU-2"),
    ]


def test_each_instance_of_a_divided_gpu_is_a_device_that_locks_the_gpu(found):
    devices = found(divided_gpu("1g.10gb", "3g.40gb"), data_centre_gpu(GetUUID="GPU-2"))
    assert [(d.hardware_id, d.lock_id) for d in devices] == [
        ("MIG-00000000-0000-0000-0000-000000000000", "GPU-11111111-2222-3333-4444-555555555555"),
        ("MIG-00000000-0000-0000-0000-000000000001", "GPU-11111111-2222-3333-4444-555555555555"),
        ("GPU-2", "GPU-2"),
    ]
    assert [d.device_class for d in devices] == [
        "nvidia-h100-sxm5-80gb-mig-1g.10gb",
        "nvidia-h100-sxm5-80gb-mig-3g.40gb",
        "nvidia-h100-sxm5-80gb",
    ]


def test_instances_of_one_gpu_are_not_measured_on_at_the_same_time(found):
    one, other = found(divided_gpu("1g.10gb", "1g.10gb"))
    one.lock()
    with pytest.raises(InUseError, match="MIG-00000000-0000-0000-0000-000000000001"):
        other.lock()
    one.unlock()


def test_an_instance_whose_name_is_not_told_is_named_after_its_gpu(found):
    gpu = divided_gpu("1g.10gb")
    gpu.instances[0].values["GetName"] = None
    (device,) = found(gpu)
    assert (device.model, device.device_class) == ("NVIDIA H100 80GB HBM3 MIG", "nvidia-h100-sxm5-80gb-mig")
    assert device.facts()["partitions"] is None


def test_a_gpu_without_a_uuid_is_no_device_as_cuda_could_not_be_shown_it(found):
    assert found(data_centre_gpu(GetUUID=None)) == []


def test_a_gpu_that_the_driver_has_lost_hides_no_other(found):
    devices = found(Refuse("GpuIsLost"), data_centre_gpu(GetUUID="GPU-2"))
    assert [device.hardware_id for device in devices] == ["GPU-2"]


def test_the_gpu_of_a_jetson_is_no_device_of_this_kind(found):
    assert found(data_centre_gpu(GetName="Orin (nvgpu)")) == []


@pytest.mark.parametrize("error", ["LibraryNotFound", "DriverNotLoaded", "LibRmVersionMismatch", "Unknown"])
def test_without_a_working_driver_there_is_no_device(found, error):
    assert found(data_centre_gpu(), start=Refuse(error)) == []


def test_without_the_python_package_there_is_no_device(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert NvidiaDevice.detect(Host(tmp_path, tmp_path)) == []


def test_a_driver_that_hangs_at_the_start_costs_a_while_and_has_no_device(found, hang, monkeypatch):
    monkeypatch.setattr(nvidia, "START_S", 0.02)
    assert found(data_centre_gpu(), start=hang) == []


# --- why a GPU was not found ---


def test_nothing_is_missing_on_a_machine_without_a_gpu(driver, machine):
    driver(start=Refuse("LibraryNotFound"))
    pci_device(machine, "0000:00:02.0", "0x8086", "0x030000")
    pci_device(machine, "0000:05:00.0", "0x10de", "0x068000")
    assert NvidiaDevice.absent() is None


def test_a_gpu_on_the_bus_without_a_driver_is_told_with_what_to_install(driver, machine):
    driver(start=Refuse("LibraryNotFound"))
    pci_device(machine, "0000:3b:00.0", "0x10de", "0x030200")
    what, why, how = NvidiaDevice.absent()
    assert what == "NVIDIA GPU (PCI device 0000:3b:00.0)"
    assert why == "the driver's library libnvidia-ml.so.1 is not found"
    assert "install the NVIDIA driver" in how


def test_a_gpu_whose_tool_answers_needs_the_python_package_only(monkeypatch, machine):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvidia, "ask", lambda argv, timeout_s: "GPU 0: NVIDIA L40S (UUID: GPU-1)\n")
    (machine / "dev").mkdir()
    (machine / "dev" / "nvidia0").touch()
    what, why, how = NvidiaDevice.absent()
    assert what == f"NVIDIA GPU ({machine}/dev/nvidia0)"
    assert why == "the Python package nvidia-ml-py is not installed, and nvidia-smi answers"
    assert how == "pip install 'ratchet-perf[nvidia]'"


def test_an_error_of_the_start_without_words_of_ours_is_told_by_its_name(driver, machine):
    driver(start=Refuse("InsufficientPower"))
    (machine / "proc").mkdir()
    assert NvidiaDevice.absent().why == "NVML answers InsufficientPower to nvmlInit"


def test_a_start_that_hangs_is_told(driver, machine, hang, monkeypatch):
    monkeypatch.setattr(nvidia, "START_S", 0.02)
    driver(start=hang)
    (machine / "proc").mkdir()
    assert NvidiaDevice.absent().why == "NVML did not answer within 0.02 s"


@pytest.mark.parametrize(
    ("gpus", "why"),
    [
        ([], "NVML lists no GPU"),
        ([Refuse("GpuIsLost")], "NVML answers GpuIsLost to GPU 0"),
        ([divided_gpu()], "GPU 0 is divided by MIG and has no instance that this agent may use"),
        ([data_centre_gpu(GetUUID=None)], "GPU 0 does not tell its uuid"),
        ([data_centre_gpu(), Refuse("NoPermission")], "NVML answers NoPermission to GPU 1"),
    ],
)
def test_each_gpu_that_cannot_be_measured_on_is_told(driver, machine, gpus, why):
    module = driver(*gpus)
    (machine / "proc").mkdir()
    assert NvidiaDevice.absent().why == why
    assert (module.users, module.event_sets) == (0, 0)


def test_nothing_is_missing_where_every_gpu_was_found(driver, machine):
    module = driver(data_centre_gpu())
    (machine / "proc").mkdir()
    assert NvidiaDevice.absent() is None
    assert (module.users, module.event_sets) == (0, 0)


def test_a_jetson_is_left_to_its_own_kind(driver, machine):
    driver(start=Refuse("LibraryNotFound"))
    (machine / "proc").mkdir()
    (machine / "tegra").touch()
    assert NvidiaDevice.absent() is None


def test_the_real_binding_without_a_driver_says_that_the_library_is_missing():
    if ctypes.util.find_library("nvidia-ml"):
        pytest.skip("this machine has an NVIDIA driver")
    with pytest.raises(UnreadyError) as raised:
        Nvml.open()
    assert raised.value.lack.why == "the driver's library libnvidia-ml.so.1 is not found"


# --- facts ---


def test_facts_of_a_gpu_are_in_base_units(found, machine):
    pci_device(machine, "0000:1b:00.0", "0x10de", "0x030200", node=1)
    (device,) = found(data_centre_gpu())
    facts = device.facts()
    assert facts["unavailable"] == ["cores", "clock_policy", "power_mode", "instance_type"]
    assert {name: facts[name] for name in FACTS if facts[name] is not None} == {
        "index": 0,
        "uuid": "GPU-11111111-2222-3333-4444-555555555555",
        "serial": "1320000000001",
        "pci_bus_id": "00000000:1b:00.0",
        "model": "NVIDIA H100 80GB HBM3",
        "architecture": "Hopper",
        "memory_b": 85_520_809_984,
        "driver": "570.86.10",
        "firmware": "96.00.5E.00.01",
        "runtime": "12.8",
        "sm_clock_max_hz": 1.98e9,
        "mem_clock_max_hz": 2.619e9,
        "app_sm_clock_hz": 1.98e9,
        "app_mem_clock_hz": 2.619e9,
        "power_limit_default_w": 700.0,
        "power_limit_max_w": 700.0,
        "persistence": True,
        "ecc_mode": True,
        "ecc_mode_pending": False,
        "remap_pending": True,
        "partition_mode": "disabled",
        "partitions": [],
        "compute_mode": "Exclusive_Process",
        "pcie_gen_max": 5,
        "pcie_width_max": 16,
        "numa_node": 1,
    }


def test_facts_of_an_instance_are_its_own_where_it_has_them_and_else_those_of_its_gpu(found):
    _, device = found(divided_gpu("1g.10gb", "3g.40gb"))
    facts = device.facts()
    assert (facts["index"], facts["uuid"]) == ("0:1", "MIG-00000000-0000-0000-0000-000000000001")
    assert facts["model"] == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert (facts["memory_b"], facts["cores"]) == (10 * GIB, 16)
    assert (facts["partition_mode"], facts["partitions"]) == ("enabled", ["3g.40gb"])
    assert (facts["serial"], facts["architecture"]) == ("1320000000001", "Hopper")


def test_application_clocks_that_somebody_set_are_a_policy(found):
    (device,) = found(data_centre_gpu(GetApplicationsClock={0: 1215, 2: 2619}))
    assert (device.facts()["clock_policy"], device.facts()["app_sm_clock_hz"]) == ("application", 1.215e9)
    assert device.telemetry()["mode"] == "mig disabled, application 1215 MHz"


def test_clocks_as_delivered_are_no_policy_as_they_may_be_locked(found):
    (device,) = found(data_centre_gpu())
    assert device.facts()["clock_policy"] is None


def test_an_old_gpu_tells_what_it_has(found):
    (device,) = found(old_gaming_gpu(), driver="430.64", cuda=10010, driver_lacks=OF_NEW_DRIVERS)
    facts = device.facts()
    assert (facts["driver"], facts["runtime"], facts["remap_pending"]) == ("430.64", "10.1", False)
    assert (facts["ecc_mode"], facts["partition_mode"], facts["serial"]) == (None, None, None)


@pytest.mark.parametrize(("node", "told"), [(0, 0), (3, 3), (-1, None), (None, None)])
def test_the_numa_node_is_the_kernels(machine, node, told):
    pci_device(machine, "10000:e1:00.0", "0x10de", "0x030200", node=node)
    assert nvidia_facts.numa_node("00010000:e1:00.0") == told


@pytest.mark.parametrize("place", [None, "", "N/A"])
def test_a_gpu_without_a_place_on_the_bus_has_no_numa_node(place):
    assert nvidia_facts.numa_node(place) is None


# --- readings ---


def test_readings_of_a_gpu_are_in_base_units(found):
    (device,) = found(data_centre_gpu())
    tick = device.telemetry()
    assert {name: tick[name] for name in READINGS if tick[name] is not None} == {
        "t_ns": tick["t_ns"],
        "util": 0.97,
        "mem_util": 0.41,
        "sm_clock_hz": 1.755e9,
        "mem_clock_hz": 2.619e9,
        "power_w": 612.5,
        "energy_j_total": 123_456_789.012,
        "temp_c": 64.0,
        "mem_temp_c": 71.0,
        "mem_used_b": 4 * GIB,
        "throttle_mask": 0x24,
        "throttle_reasons": ["power_cap", "sw_thermal"],
        "throttle_ns": {"power_cap": 5_000_000_000, "thermal": 7_000, "sync_boost": 0},
        "ecc_corrected": 12,
        "ecc_uncorrected": 1,
        "remapped_rows": 3,
        "xid_count": 0,
        "pcie_gen": 4,
        "pcie_width": 8,
        "pcie_replays": 3,
        "foreign_pids": [],
        "power_limit_w": 650.0,
        "mode": "mig disabled",
    }
    json.dumps(tick, allow_nan=False)


def test_readings_of_an_instance_leave_out_what_belongs_to_all_instances(found):
    (device,) = found(divided_gpu("1g.10gb"))
    tick = device.telemetry()
    assert tick["mem_used_b"] == GIB
    assert (tick["temp_c"], tick["sm_clock_hz"], tick["mode"]) == (64.0, 1.755e9, "mig enabled")
    of_all = ("util", "mem_util", "power_w", "energy_j_total", "nvlink_tx_b_s", "nvlink_rx_b_s")
    assert [tick[name] for name in of_all] == [None] * 6
    assert set(of_all) <= set(tick["unavailable"])


def test_an_old_driver_is_asked_by_its_old_names(found):
    (device,) = found(old_gaming_gpu(), driver_lacks=OF_NEW_DRIVERS)
    tick = device.telemetry()
    assert (tick["temp_c"], tick["fan"], tick["power_w"], tick["power_limit_w"]) == (50.0, 0.3, 40.5, 180.0)
    assert (tick["throttle_mask"], tick["throttle_reasons"]) == (1, ["idle"])
    assert tick["foreign_pids"] == []
    assert tick["remapped_rows"] == 3


def test_what_is_not_supported_is_unavailable_and_never_zero(found):
    (device,) = found(old_gaming_gpu())
    tick = device.telemetry()
    unsupported = (
        "energy_j_total mem_temp_c throttle_ns ecc_corrected ecc_uncorrected xid_count pcie_gen".split()
    )
    assert [tick[name] for name in unsupported] == [None] * len(unsupported)
    assert set(unsupported) <= set(tick["unavailable"])
    assert (tick["util"], tick["mem_util"]) == (0.0, 0.0)


def test_a_link_of_generation_zero_is_none(found):
    (device,) = found(data_centre_gpu(GetCurrPcieLinkGeneration=0, GetCurrPcieLinkWidth=0))
    assert (device.telemetry()["pcie_gen"], device.telemetry()["pcie_width"]) == (None, None)


def test_remapped_rows_are_unknown_where_only_half_of_the_retired_pages_are(found):
    gpu = old_gaming_gpu()
    gpu.fields[(30, 0)] = Refuse("Unknown")
    (device,) = found(gpu)
    assert device.telemetry()["remapped_rows"] is None


def test_errors_of_the_driver_are_counted_from_the_start(found):
    gpu = data_centre_gpu()
    (device,) = found(gpu)
    seen = []
    for new in (0, 2, 0, 1):
        gpu.xids = new
        seen.append(device.telemetry()["xid_count"])
    assert seen == [0, 2, 2, 3]


def test_the_rate_of_a_counter_is_since_the_last_look():
    rate = Rate()
    looks = [(1000, 10.0), (1500, 10.5), (1500, 11.0), (200, 11.5), (None, 12.0), (300, 12.5), (400, 13.5)]
    told = [rate.since_last(*look) for look in looks]
    assert told == [None, 1_024_000.0, 0.0, None, None, None, 102_400.0]


def test_the_rate_within_no_time_is_unknown():
    rate = Rate()
    rate.since_last(1, 5.0)
    assert rate.since_last(2, 5.0) is None


def test_traffic_between_gpus_is_told_from_the_second_look_on(found, monkeypatch):
    gpu = data_centre_gpu()
    (device,) = found(gpu)
    moments = iter([1_000_000_000, 1_500_000_000])
    monkeypatch.setattr(nvidia_gpu.time, "monotonic_ns", lambda: next(moments))
    first = device.telemetry()
    gpu.fields[(138, 0xFFFFFFFF)] += 2048
    second = device.telemetry()
    assert (first["nvlink_tx_b_s"], second["nvlink_tx_b_s"], second["nvlink_rx_b_s"]) == (
        None,
        4_194_304.0,
        0.0,
    )


# --- processes ---


def test_processes_of_every_sort_are_on_the_device(found):
    (device,) = found(
        data_centre_gpu(
            GetComputeRunningProcesses_v3=processes(30, 10),
            GetGraphicsRunningProcesses_v3=processes(10),
            GetMPSComputeRunningProcesses_v3=processes(20),
        )
    )
    assert device.telemetry()["foreign_pids"] == device.processes() == [10, 20, 30]


def test_processes_that_cannot_be_listed_are_unknown(found):
    (device,) = found(data_centre_gpu(GetComputeRunningProcesses_v3=Refuse("NoPermission")))
    assert device.telemetry()["foreign_pids"] is None
    assert device.processes() == []


def test_an_instance_has_the_processes_of_its_own(found):
    gpu = divided_gpu("1g.10gb", "1g.10gb", GetComputeRunningProcesses_v3=processes(10, 20))
    gpu.instances[1].values["GetComputeRunningProcesses_v3"] = processes(20)
    first, second = found(gpu)
    assert (first.processes(), second.processes()) == ([], [20])


@pytest.mark.parametrize(
    ("listed", "told"),
    [([], []), ([77], [77]), ([4000001], None), ([77, 4000001], [77])],
)
def test_a_container_knows_nothing_of_processes_that_it_cannot_see(found, monkeypatch, listed, told):
    monkeypatch.setattr(nvidia_gpu, "sees_all_processes", lambda: False)
    monkeypatch.setattr(nvidia_gpu, "status", lambda pid: object() if pid == 77 else None)
    (device,) = found(data_centre_gpu(GetComputeRunningProcesses_v3=processes(*listed)))
    assert device.telemetry()["foreign_pids"] == told


def test_the_namespace_of_the_machine_is_known_by_its_number(monkeypatch, tmp_path):
    monkeypatch.undo()
    for name, outside in (("pid:[4026531836]", True), ("pid:[4026532201]", False)):
        link = tmp_path / name
        link.symlink_to(name)
        monkeypatch.setattr(nvidia_gpu, "PID_NAMESPACE", link)
        assert nvidia_gpu.sees_all_processes() is outside


# --- a driver that hangs, or is slow ---


def test_a_driver_that_hangs_costs_readings_and_is_told(found, hang, hurry):
    gpu = data_centre_gpu()
    (device,) = found(gpu)
    assert device.telemetry()["temp_c"] == 64.0
    gpu.values["GetTemperatureV"] = hang
    hurry()
    tick = device.telemetry()
    assert set(tick["unavailable"]) == set(READINGS) - {"t_ns"}
    assert device.facts()["memory_b"] is None
    assert device.facts()["uuid"] == device.hardware_id
    assert device.processes() == []
    ((what, why, _),) = device.lacks()
    assert what == "every reading"
    assert why.startswith("NVML has not answered since 20")


def test_readings_come_again_when_the_driver_does(found, hang, hurry, monkeypatch):
    (device,) = found(data_centre_gpu(GetTemperatureV=hang))
    hurry()
    assert device.telemetry()["temp_c"] is None
    monkeypatch.setattr(nvidia, "TICK_S", 5.0)
    hang.go.set()
    assert device.telemetry()["temp_c"] == 64.0


def test_a_slow_driver_is_read_ahead_and_told(found, hang, hurry, monkeypatch):
    (device,) = found(data_centre_gpu(GetTemperatureV=hang))
    hurry()
    first = device.telemetry()
    hang.go.set()
    device._late.result(10)
    second = device.telemetry()
    assert (first["temp_c"], second["temp_c"]) == (None, 64.0)
    assert second["t_ns"] < first["t_ns"]
    assert device._late is not None
    monkeypatch.setattr(nvidia, "PATIENCE_S", 5.0)
    monkeypatch.setattr(nvidia, "HANGS_S", 5.0)
    assert [lack.what for lack in device.lacks()] == ["readings of the moment"]


def test_readings_that_came_late_and_are_old_by_now_are_not_told(found, hang, hurry, monkeypatch):
    gpu = data_centre_gpu(GetTemperatureV=hang)
    (device,) = found(gpu)
    hurry()
    device.telemetry()
    hang.go.set()
    device._late.result(10)
    gpu.values["GetTemperatureV"] = 70
    monkeypatch.setattr(nvidia, "TICK_S", 5.0)
    monkeypatch.setattr(nvidia, "OLDEST_S", 0.0)
    assert device.telemetry()["temp_c"] == 70.0


def test_the_fingerprint_has_the_power_limit_though_a_tick_is_late(found, monkeypatch):
    (device,) = found(data_centre_gpu())
    usual = device.report().machine_hash
    monkeypatch.setattr(nvidia, "TICK_S", 0.0)
    late = device.report()
    assert late.fingerprint["machine"]["power_limit_w"] == 650.0
    assert late.machine_hash == usual


# --- what is missing ---


def test_nothing_is_missing_where_all_that_is_supported_is_read(found):
    (device,) = found(data_centre_gpu())
    assert device.lacks() == []


def test_what_a_gpu_does_not_have_is_not_missing(found):
    (device,) = found(old_gaming_gpu())
    assert device.lacks() == []


def test_what_this_user_may_not_read_is_told_together(found):
    refused = {
        "GetTotalEnergyConsumption": Refuse("NoPermission"),
        "GetPcieReplayCounter": Refuse("NoPermission"),
    }
    (device,) = found(data_centre_gpu(**refused))
    ((what, why, how),) = device.lacks()
    assert set(what.split(", ")) == {"energy_j_total", "pcie_replays"}
    assert why == "the driver tells this user nothing of it"
    assert "as root" in how


def test_what_the_driver_is_too_old_for_is_told_with_its_version(found):
    (device,) = found(
        data_centre_gpu(),
        driver="418.40",
        driver_lacks=["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPcieReplayCounter"],
    )
    assert {lack.what: lack.why for lack in device.lacks()} == {
        "energy_j_total": "the driver 418.40 does not have nvmlDeviceGetTotalEnergyConsumption",
        "pcie_replays": "the driver 418.40 does not have nvmlDeviceGetPcieReplayCounter",
    }


def test_a_field_that_the_driver_does_not_know_is_one_that_it_is_too_old_for(found):
    gpu = data_centre_gpu()
    gpu.fields = {**gpu.fields, (82, 0): Refuse("InvalidArgument")}
    (device,) = found(gpu, driver="390.48")
    assert [(lack.what, lack.why) for lack in device.lacks()] == [
        ("mem_temp_c", "the driver 390.48 does not have field 82")
    ]


def test_what_the_python_package_is_too_old_for_is_told(found):
    (device,) = found(data_centre_gpu(), binding_lacks=["nvmlDeviceGetTotalEnergyConsumption"])
    ((what, why, how),) = device.lacks()
    assert what == "energy_j_total"
    assert why == "the installed nvidia-ml-py has no nvmlDeviceGetTotalEnergyConsumption"
    assert how == "pip install 'ratchet-perf[nvidia]' --upgrade"


def test_any_other_error_is_told_by_its_name(found):
    (device,) = found(data_centre_gpu(GetEnforcedPowerLimit=Refuse("Timeout"), GetFanSpeed=Refuse("Unknown")))
    assert {lack.what: lack.why for lack in device.lacks()} == {
        "fan": "NVML answers Unknown to nvmlDeviceGetFanSpeed",
        "power_limit_w": "NVML answers Timeout to nvmlDeviceGetEnforcedPowerLimit",
    }


def test_what_can_be_read_again_is_no_longer_missing(found):
    gpu = data_centre_gpu(GetTotalEnergyConsumption=Refuse("Unknown"))
    (device,) = found(gpu)
    assert [lack.what for lack in device.lacks()] == ["energy_j_total"]
    gpu.values["GetTotalEnergyConsumption"] = 5000
    assert device.telemetry()["energy_j_total"] == 5.0
    assert device.lacks() == []


@pytest.mark.parametrize("error", ["GpuIsLost", "ResetRequired"])
def test_a_gpu_that_the_driver_loses_is_told_once(found, error):
    gpu = data_centre_gpu()
    (device,) = found(gpu)
    gpu.values = dict.fromkeys([*gpu.values, "GetFieldValues"], Refuse(error))
    tick = device.telemetry()
    assert [name for name in READINGS if tick[name] is not None] == ["t_ns", "xid_count"]
    assert tick["xid_count"] == 0
    assert [(lack.what, lack.why) for lack in device.lacks()] == [
        ("every reading", f"NVML answers {error}: the driver has lost the GPU")
    ]


def test_an_instance_lacks_what_belongs_to_the_whole_gpu(found):
    (device,) = found(divided_gpu("1g.10gb"))
    ((what, why, _),) = device.lacks()
    assert "power_w" in what
    assert "MIG instance" in why


def test_a_container_is_told_how_to_see_all_processes(found, monkeypatch):
    monkeypatch.setattr(nvidia_lacks, "sees_all_processes", lambda: False)
    (device,) = found(data_centre_gpu())
    ((what, _, how),) = device.lacks()
    assert what == "foreign_pids"
    assert "--pid=host" in how


# --- the rest of the interface ---


def test_cuda_is_shown_the_devices_by_name_and_counts_them_from_zero(found):
    devices = found(divided_gpu("1g.10gb"), data_centre_gpu(GetUUID="GPU-2"))
    assert NvidiaDevice.visible_env(devices) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "MIG-00000000-0000-0000-0000-000000000000,GPU-2",
    }
    assert NvidiaDevice.addresses(devices) == ["cuda:0", "cuda:1"]


def test_a_device_introduces_itself(found):
    (device,) = found(data_centre_gpu())
    report = device.report()
    machine = report.fingerprint["machine"]
    assert (report.kind, report.device_class) == ("nvidia", "nvidia-h100-sxm5-80gb")
    assert (machine["driver"], machine["firmware"], machine["power_limit_w"]) == (
        "570.86.10",
        "96.00.5E.00.01",
        650.0,
    )
    assert report.fingerprint["identity"]["pci_bus_id"] == "00000000:1b:00.0"
    assert report.fingerprint["soft"]["persistence"] is True


def test_an_instance_tells_its_gpu_and_its_number_there(found):
    gpu = divided_gpu("1g.10gb", "3g.40gb")
    gpu.instances[0].values["GetGpuInstanceId"] = 11
    told, untold = (device.report().fingerprint for device in found(gpu))
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    assert (told["identity"]["gpu_uuid"], told["identity"]["gpu_instance"]) == (uuid, 11)
    assert (untold["identity"]["gpu_uuid"], untold["identity"]["gpu_instance"]) == (uuid, None)
    assert "gpu_instance" in untold["unavailable"]


def test_a_whole_gpu_is_no_instance_of_another(found):
    (device,) = found(data_centre_gpu())
    assert not device.report().fingerprint["identity"].keys() & {"gpu_uuid", "gpu_instance"}


def test_from_outside_of_the_measured_process_there_is_nothing_to_wait_for_or_to_flush(found):
    (device,) = found(data_centre_gpu())
    device.sync()
    assert device.device_timer() is None
    assert device.flush_cache() is False


def test_a_device_that_is_closed_leaves_nothing_open(driver, tmp_path):
    module = driver(data_centre_gpu(), divided_gpu("1g.10gb"))
    devices = NvidiaDevice.detect(Host(tmp_path, tmp_path))
    assert (module.users, module.event_sets) == (2, 2)
    for device in devices:
        device.close()
    assert (module.users, module.event_sets) == (0, 0)


def test_a_reason_that_is_not_told_is_left_out_of_the_times(found):
    (device,) = found(data_centre_gpu(GetViolationStatus={10: violation(1), 11: violation(2)}))
    assert device.telemetry()["throttle_ns"] == {"below_application_clocks": 1, "below_base_clocks": 2}
