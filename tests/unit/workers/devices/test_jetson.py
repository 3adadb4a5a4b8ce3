import sys
import time
from types import SimpleNamespace

import pytest

from workers.devices.base import Host
from workers.devices.jetson import device as jetson
from workers.devices.jetson.board import (
    clock_policy,
    find_board,
    gpu_clocks,
    gpu_load,
    highest_clock_hz,
    l4t_version,
    locked_clock_hz,
    power_mode,
)
from workers.devices.jetson.device import JetsonDevice
from workers.devices.jetson.sensors import Sensors, needed, rails
from workers.devices.jetson.stats import JtopSource, read_jtop

DEVFREQ = "sys/class/devfreq/17000000.ga10b"
HWMON = "sys/class/hwmon"
BOARD = {
    "proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
    "proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0",
    "proc/device-tree/serial-number": "1420\0",
    "proc/meminfo": "MemTotal:       64349092 kB\nMemAvailable:   60000000 kB\n",
    "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 3, BOARD: generic, EABI: aarch64, DATE: X\n",
    "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MODE_30W >\n",
    "var/lib/nvpmodel/status": "pmode:0002",
    f"{DEVFREQ}/cur_freq": "930750000",
    f"{DEVFREQ}/min_freq": "306000000",
    f"{DEVFREQ}/max_freq": "930750000",
    f"{DEVFREQ}/available_frequencies": "306000000 612000000 930750000 1300500000",
    f"{DEVFREQ}/governor": "nvhost_podgov",
    f"{DEVFREQ}/device/load": "735",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal",
    "sys/class/thermal/thermal_zone0/temp": "55000",
    "sys/class/thermal/thermal_zone1/type": "gpu-thermal",
    "sys/class/thermal/thermal_zone1/temp": "51250",
    "sys/class/thermal/thermal_zone2/type": "tj-thermal",
    "sys/class/thermal/thermal_zone2/temp": "55500",
    "sys/class/thermal/cooling_device0/type": "pwm-fan",
    "sys/class/thermal/cooling_device0/cur_state": "3",
    "sys/class/thermal/cooling_device1/type": "gpu-throttle-alert",
    "sys/class/thermal/cooling_device1/cur_state": "0",
    f"{HWMON}/hwmon0/name": "pwmfan",
    f"{HWMON}/hwmon0/pwm1": "51",
    f"{HWMON}/hwmon1/name": "ina3221",
    f"{HWMON}/hwmon1/in1_label": "VDD_GPU_SOC",
    f"{HWMON}/hwmon1/in1_input": "19000",
    f"{HWMON}/hwmon1/curr1_input": "500",
    f"{HWMON}/hwmon1/in2_label": "VDD_CPU_CV",
    f"{HWMON}/hwmon1/in2_input": "19000",
    f"{HWMON}/hwmon1/curr2_input": "100",
    f"{HWMON}/hwmon1/in3_label": "VIN_SYS_5V0",
    f"{HWMON}/hwmon1/in3_input": "5000",
    f"{HWMON}/hwmon1/curr3_input": "800",
    f"{HWMON}/hwmon1/in7_label": "sum of shunt voltages",
    f"{HWMON}/hwmon2/name": "ina3221",
    f"{HWMON}/hwmon2/in1_label": "NC",
    f"{HWMON}/hwmon2/in2_label": "VDDQ_VDD2_1V8AO",
    f"{HWMON}/hwmon2/in2_input": "5000",
    f"{HWMON}/hwmon2/curr2_input": "60",
    f"{HWMON}/hwmon3/name": "soctherm_oc",
    f"{HWMON}/hwmon3/oc1_event_cnt": "0",
    f"{HWMON}/hwmon3/oc3_event_cnt": "7",
    "sys/kernel/debug/bpmp/debug/clk/emc/rate": "3199000000",
    "dev/nvhost-gpu": "",
}
"""An AGX Orin of 64 GB with JetPack 6, as root sees it."""


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write files of a board below a folder that stands for `/`."""
    monkeypatch.setattr(JetsonDevice, "root", tmp_path / "root")

    def write(files, without=()):
        for name, content in files.items():
            path = tmp_path / "root" / name
            if not name.startswith(tuple(without) or ("?",)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
        return tmp_path / "root"

    return write


@pytest.fixture
def detect(tmp_path):
    """Return the board's devices, and close them at the end."""
    found = []

    def find():
        found.extend(JetsonDevice.detect(Host(tmp_path / "state", tmp_path)))
        return found[-1] if found else None

    yield find
    for device in found:
        device.close()


def board(put, model=None, compatible=None, memory_kb=None):
    texts = {"proc/device-tree/model": model, "proc/device-tree/compatible": compatible}
    texts["proc/meminfo"] = f"MemTotal: {memory_kb} kB\n" if memory_kb else None
    return find_board(put({name: text for name, text in texts.items() if text is not None}))


# --- which board it is ---


@pytest.mark.parametrize(
    ("model", "compatible", "memory_kb", "device_class"),
    [
        ("NVIDIA Jetson AGX Orin Developer Kit", "tegra234", 64349092, "jetson-orin-agx-64gb"),
        ("NVIDIA Jetson Orin NX Engineering Reference", "tegra234", 16028000, "jetson-orin-nx-16gb"),
        ("NVIDIA Jetson Orin Nano Developer Kit Super", "tegra234", 7803332, "jetson-orin-nano-8gb"),
        ("NVIDIA Jetson Xavier NX Developer Kit", "tegra194", 7016000, "jetson-xavier-nx-8gb"),
        ("Jetson-AGX", "p2822-0000+p2888-0001 tegra194", 32694000, "jetson-xavier-agx-32gb"),
        ("NVIDIA Jetson Nano Developer Kit", "p3449-0000+p3448-0000 tegra210", 4051048, "jetson-nano-4gb"),
        ("jetson_tx1", "jetson-cv tegra210", 4089000, "jetson-tx1-4gb"),
        ("quill", "quill p2597-0000+p3310-1000 tegra186", 8040000, "jetson-tx2-8gb"),
        ("lightning", "p3509-0000+p3636-0001 tegra186", 3965000, "jetson-tx2-nx-4gb"),
        ("NVIDIA Jetson AGX Thor Developer Kit", "p3834-0008 tegra264", 128790092, "jetson-thor-agx-128gb"),
        ("Some Maker's Carrier", "p3767-0000 tegra234", 16028000, "jetson-orin-nx-16gb"),
        ("NVIDIA Jetson Orin Nano", "tegra234", None, "jetson-orin-nano"),
    ],
)
def test_a_boards_class_is_generation_series_and_size(put, model, compatible, memory_kb, device_class):
    names = "\0".join(f"nvidia,{name}" for name in compatible.split())
    assert board(put, model, names, memory_kb).device_class == device_class


def test_another_arm_board_is_no_jetson(put):
    assert board(put, "Raspberry Pi 5", "raspberrypi,5-model-b\0brcm,bcm2712", 8000000) is None


def test_a_machine_without_a_device_tree_is_no_jetson(put):
    assert find_board(put({"proc/meminfo": "MemTotal: 5 kB\n"})) is None


def test_a_container_without_a_device_tree_tells_the_board_by_its_soc(put):
    files = {
        "sys/devices/soc0/family": "Tegra\n",
        "sys/devices/soc0/machine": "NVIDIA Jetson Xavier NX Developer Kit\n",
        "proc/meminfo": "MemTotal: 7016000 kB\n",
    }
    found = find_board(put(files))
    assert (found.device_class, found.chip) == ("jetson-xavier-nx-8gb", None)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref, EABI: aarch64\n", "32.7.1"),
        ("# R36 (release), REVISION: 4.3, GCID: 3\n# KERNEL_VARIANT: oot\n", "36.4.3"),
        ("R28 (release), REVISION: 2.1", "28.2.1"),
        ("something else", None),
    ],
)
def test_the_release_of_jetson_linux_is_two_numbers_in_one_line(put, text, release):
    assert l4t_version(put({"etc/nv_tegra_release": text})) == release


# --- where the GPU is ---


@pytest.mark.parametrize(
    "name", ["57000000.gpu", "17000000.gp10b", "17000000.gv11b", "17000000.gpu", "gpu-gpc-0"]
)
def test_the_gpus_clocks_are_found_under_each_generations_name(put, name):
    names = (f"sys/class/devfreq/{other}/cur_freq" for other in ("15340000.vic", name, "gpu-nvd-0"))
    root = put(dict.fromkeys(names, "1"))
    assert gpu_clocks(root) == root / "sys/class/devfreq" / name


@pytest.mark.parametrize(
    "place", [f"{DEVFREQ}/device/load", "sys/devices/gpu.0/load", "sys/devices/platform/gpu.0/load"]
)
def test_the_gpus_load_is_found_where_each_kernel_has_it(put, place):
    root = put({place: "5", f"{DEVFREQ}/cur_freq": "1"})
    assert gpu_load(root) == root / place


def test_a_board_without_files_of_the_gpu_has_none(tmp_path):
    assert (gpu_clocks(tmp_path), gpu_load(tmp_path)) == (None, None)
    assert (highest_clock_hz(None), locked_clock_hz(None), clock_policy(None)) == (None, None, None)


def test_clocks_are_locked_where_the_lowest_is_the_highest(put):
    clocks = gpu_clocks(put(BOARD))
    assert (clock_policy(clocks), locked_clock_hz(clocks)) == ("nvhost_podgov", None)
    put({f"{DEVFREQ}/min_freq": "930750000"})
    assert (clock_policy(clocks), locked_clock_hz(clocks)) == ("locked", 930750000.0)


@pytest.mark.parametrize(
    ("status", "mode"),
    [("pmode:0000", "MAXN"), ("pmode:0002", "MODE_30W"), ("pmode:0007", "mode 7"), ("", None)],
)
def test_the_power_mode_is_what_the_tool_keeps_on_disk(put, status, mode):
    root = put({**BOARD, "var/lib/nvpmodel/status": status})
    assert power_mode(root) == mode


# --- sensors ---


def told(root):
    return {name: value for name, value in Sensors(root).readings().items() if value is not None}


def test_a_boards_files_tell_its_readings(put):
    assert told(put(BOARD)) == {
        "util": 0.735,
        "sm_clock_hz": 930750000.0,
        "power_w": pytest.approx(9.5 + 1.9 + 4.0),
        "temp_c": 51.25,
        "mem_clock_hz": 3199000000.0,
        "fan": 0.2,
        "over_current": 7,
        "throttle_reasons": [],
    }


def test_a_board_that_tells_nothing_has_no_readings(tmp_path):
    assert told(tmp_path) == {}


def test_a_gpu_that_is_switched_off_leaves_the_junctions_temperature(put):
    root = put({**BOARD, "sys/class/thermal/thermal_zone1/temp": "-256000"})
    assert told(root)["temp_c"] == 55.5


def test_an_alert_of_heat_is_a_reason_for_throttling(put):
    root = put({**BOARD, "sys/class/thermal/cooling_device1/cur_state": "1"})
    assert told(root)["throttle_reasons"] == ["sw_thermal"]


def test_older_kernels_name_sensors_and_the_fan_otherwise(put):
    files = {
        "sys/class/thermal/thermal_zone1/type": "GPU-therm",
        "sys/class/thermal/thermal_zone1/temp": "33500",
        "sys/devices/pwm-fan/target_pwm": "255",
        "sys/kernel/debug/clk/emc/clk_rate": "1600000000",
    }
    assert told(put(files)) == {"temp_c": 33.5, "fan": 1.0, "mem_clock_hz": 1600000000.0}


def test_the_rails_of_older_kernels_are_in_milliwatts(put):
    folder = "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0"
    names = {
        f"{folder}/rail_name_{n}": name for n, name in enumerate(("POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"))
    }
    root = put({**names, f"{folder}/in_power0_input": "4120", f"{folder}/in_power1_input": "900"})
    assert told(root) == {"power_w": 4.12}


def test_the_input_of_a_thors_carrier_is_its_power(put):
    folder = f"{HWMON}/hwmon5"
    root = put(
        {f"{folder}/name": "ina238", f"{folder}/in1_label": "VIN", f"{folder}/power1_input": "27100000"}
    )
    assert told(root) == {"power_w": 27.1}


def test_only_the_rails_of_the_total_are_read(put):
    assert set(rails(put(BOARD))) == {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO"}
    assert set(needed(rails(put(BOARD)))) == {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"}


def test_a_rail_that_cannot_be_read_makes_the_total_unknown(put):
    root = put(BOARD)
    (root / HWMON / "hwmon1" / "curr2_input").unlink()
    assert "power_w" not in told(root)


# --- the device ---


def test_a_board_is_one_device_for_cuda(put, detect):
    put(BOARD)
    device = detect()
    assert (device.kind, device.device_class, device.address) == ("jetson", "jetson-orin-agx-64gb", "cuda")
    assert device.hardware_id.startswith("jetson:")
    assert JetsonDevice.visible_env([device]) == {"CUDA_VISIBLE_DEVICES": "0"}
    assert JetsonDevice.addresses([device]) == ["cuda"]
    assert (device.sync(), device.device_timer(), device.flush_cache()) == (None, None, False)


def test_facts_are_the_boards(put, detect):
    put(BOARD)
    facts = {name: value for name, value in detect().facts().items() if value is not None}
    del facts["unavailable"], facts["uuid"]
    assert facts == {
        "index": 0,
        "serial": "1420",
        "model": "NVIDIA Jetson AGX Orin Developer Kit",
        "architecture": "tegra234",
        "memory_b": 64349092 * 1024,
        "runtime": "36.4.3",
        "sm_clock_max_hz": 1300500000.0,
        "clock_policy": "nvhost_podgov",
        "power_mode": "MODE_30W",
    }


def test_telemetry_is_complete_with_mode_and_the_hosts_memory(put, detect):
    put(BOARD)
    reading = detect().telemetry()
    assert reading["mode"] == "power mode MODE_30W, gpu clock nvhost_podgov"
    assert reading["util"] == 0.735
    assert reading["mem_used_b"] > 0
    assert reading["energy_j_total"] is None
    assert "energy_j_total" in reading["unavailable"]


def test_the_machine_part_of_the_fingerprint_names_the_mode_and_stays_the_same(put, detect):
    put(BOARD)
    device = detect()
    first, again = device.fingerprint(), device.fingerprint()
    assert first["machine"] == again["machine"]
    assert (first["machine"]["power_mode"], first["machine"]["runtime"]) == ("MODE_30W", "36.4.3")


def test_a_board_without_nvidias_driver_is_no_device_and_says_why(put, detect):
    put(BOARD, without=["etc/nv_tegra", "dev/"])
    assert detect() is None
    lack = JetsonDevice.absent()
    assert "neither /etc/nv_tegra_release" in lack.why
    assert "--runtime nvidia" in lack.how


def test_nothing_is_absent_from_a_board_with_its_driver_or_from_another_machine(put):
    put({})
    assert JetsonDevice.absent() is None
    put(BOARD)
    assert JetsonDevice.absent() is None


def test_what_is_missing_is_said_with_what_would_help(put, detect, monkeypatch):
    monkeypatch.setattr(jetson, "sees_others", lambda: False)
    put(BOARD, without=["sys/kernel/debug", f"{HWMON}/hwmon3"])
    assert [lack.what for lack in detect().lacks()] == ["mem_clock_hz", "over_current", "foreign_pids"]


def test_a_board_that_tells_all_lacks_nothing(put, detect, monkeypatch):
    monkeypatch.setattr(jetson, "sees_others", lambda: True)
    put(BOARD)
    assert detect().lacks() == []


def test_programs_that_draw_the_screen_are_not_on_the_gpu(put, detect, monkeypatch):
    root = put(BOARD)
    holders = {root / "dev/nvhost-gpu": [300, 301]}
    names = {300: "Xorg", 301: "train"}
    monkeypatch.setattr("workers.host.processes.holders", lambda files: holders)
    monkeypatch.setattr("workers.devices.shared.read_text", lambda path: names[int(path.parent.name)])
    assert detect().processes() == [301]


# --- what a tool tells ---


def tool(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder of vendor's tools, first on PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin"


def soon(look):
    """Return the first answer that is not None, or None after a few seconds."""
    deadline = time.monotonic() + 5
    while (answer := look()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return answer


def test_what_the_files_do_not_tell_comes_from_tegrastats(put, detect, tools):
    line = "RAM 1/2MB (lfb 1x1MB) CPU [1%@1] EMC_FREQ 5%@204 GR3D_FREQ 44%@[1574] gpu@50C VIN 9000mW/1mW"
    tool(tools, "tegrastats", f"while echo '{line}'; do sleep 0.05; done")
    put(BOARD, without=[f"{DEVFREQ}/device", HWMON, "sys/kernel"])
    device = detect()
    assert soon(lambda: device.telemetry()["util"]) == 0.44
    reading = device.telemetry()
    assert (reading["power_w"], reading["mem_clock_hz"]) == (9.0, 2.04e8)
    assert (reading["sm_clock_hz"], reading["temp_c"]) == (930750000.0, 51.25)


def test_a_board_that_tells_all_starts_no_tool(put, detect, tools):
    tool(tools, "tegrastats", "exit 1")
    put(BOARD)
    assert detect()._tool is None


def test_a_mode_whose_files_may_not_be_read_is_asked_of_the_tool(put, detect, tools):
    tool(tools, "nvpmodel", "echo 'NV Power Mode: MAXN'; echo 0")
    put(BOARD, without=["var/"])
    device = detect()
    assert device.facts()["power_mode"] == "MAXN"
    assert device.telemetry()["mode"] == "power mode MAXN, gpu clock nvhost_podgov"


def test_a_mode_that_nobody_tells_is_unknown(put, detect, tools):
    tool(tools, "nvpmodel", "echo 'NVPM ERROR: Error opening /var/lib/nvpmodel/status: 13'; exit 1")
    put(BOARD, without=["var/"])
    device = detect()
    assert device.facts()["power_mode"] is None
    assert device.telemetry()["mode"] == "gpu clock nvhost_podgov"


class Jtop:
    """A client of jetson-stats."""

    def __init__(self):
        self.gpu = {"ga10b": {"status": {"load": 37.5}, "freq": {"cur": 612000, "max": 1300500}}}
        self.power = {"rail": {}, "tot": {"power": 14230, "avg": 13000}}
        self.temperature = {"GPU": {"temp": -256.0, "online": False}, "tj": {"temp": 48.5, "online": True}}
        self.is_open = False

    def start(self):
        self.is_open = True

    def close(self):
        self.is_open = False


def test_the_service_of_jetson_stats_is_read_in_base_units():
    assert read_jtop(Jtop()) == {"util": 0.375, "sm_clock_hz": 6.12e8, "power_w": 14.23, "temp_c": 48.5}


def test_a_service_that_tells_nothing_gives_nothing():
    silent = SimpleNamespace(gpu={}, power=(), temperature={})
    assert read_jtop(silent) == {"util": None, "sm_clock_hz": None, "power_w": None, "temp_c": None}


def test_the_service_is_used_where_its_client_is_installed_and_left_at_the_end(monkeypatch):
    client = Jtop()
    monkeypatch.setitem(sys.modules, "jtop", SimpleNamespace(jtop=lambda: client))
    source = JtopSource.open(5.0)
    assert client.is_open
    assert soon(source.latest)["util"] == 0.375
    source.close()
    assert not client.is_open


def test_a_service_that_is_not_there_is_done_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "jtop", None)
    assert JtopSource.open(5.0) is None
