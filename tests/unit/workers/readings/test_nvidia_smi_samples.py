"""Real outputs of nvidia-smi, against what a person reads in them."""

import pytest

from workers.readings import read

MIB = 2**20
MHZ = 10**6


@pytest.fixture
def samples(recordings):
    return recordings / "nvidia-smi"


def told(values):
    return {name: value for name, value in values.items() if value is not None and name != "unavailable"}


def test_an_a100_in_mig_mode_is_read_without_inventing_its_utilization(samples):
    found = read((samples / "a100-sxm4-v12.xml").read_text())
    gpu, *instances = found.devices
    assert (found.tool, found.form) == ("nvidia-smi", "query-xml")
    assert (gpu.kind, gpu.device_class) == ("nvidia", "nvidia-a100-sxm4-80gb")
    assert told(gpu.facts) == {
        "uuid": "GPU-513536b6-7d19-9063-b049-1e69664bb298",
        "serial": "1650522003820",
        "pci_bus_id": "00000000:01:00.0",
        "model": "NVIDIA A100-SXM4-80GB",
        "architecture": "Ampere",
        "memory_b": 81920 * MIB,
        "driver": "535.54.03",
        "firmware": "92.00.36.00.02",
        "runtime": "12.2",
        "sm_clock_max_hz": 1410 * MHZ,
        "mem_clock_max_hz": 1593 * MHZ,
        "app_sm_clock_hz": 1275 * MHZ,
        "app_mem_clock_hz": 1593 * MHZ,
        "power_limit_default_w": 500.0,
        "power_limit_max_w": 500.0,
        "persistence": False,
        "ecc_mode": True,
        "ecc_mode_pending": True,
        "partition_mode": "enabled",
        "partitions": ["3/0", "4/0", "5/0", "6/0"],
        "compute_mode": "Default",
        "pcie_gen_max": 4,
        "pcie_width_max": 16,
    }
    (tick,) = gpu.readings
    assert told(tick) == {
        "time": "2023-08-04T11:44:30",
        "sm_clock_hz": 1275 * MHZ,
        "mem_clock_hz": 1593 * MHZ,
        "power_w": 67.03,
        "temp_c": 27.0,
        "mem_temp_c": 44.0,
        "mem_used_b": 50 * MIB,
        "throttle_mask": 0,
        "throttle_reasons": [],
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "pcie_gen": 4,
        "pcie_width": 16,
        "pcie_replays": 0,
        "pcie_tx_b_s": 4_000_000,
        "pcie_rx_b_s": 0,
        "foreign_pids": [],
        "power_limit_w": 500.0,
        "mode": "mig enabled",
    }
    assert [part.facts["partitions"] for part in instances] == [["3/0"], ["4/0"], ["5/0"], ["6/0"]]
    assert {part.device_class for part in instances} == {"nvidia-a100-sxm4-80gb-mig"}
    assert {(part.facts["memory_b"], part.facts["cores"]) for part in instances} == {(19968 * MIB, 14)}
    assert {part.readings[0]["mem_used_b"] for part in instances} == {12 * MIB}
    assert {part.readings[0]["power_w"] for part in instances} == {None}
    assert len({part.name for part in found.devices}) == 5


@pytest.mark.parametrize(
    ("name", "device_class", "model", "driver", "memory_mib", "firmware"),
    [
        ("a10g.xml", "nvidia-a10g", "NVIDIA A10G", "515.105.01", 23028, "94.02.75.00.01"),
        ("tesla-t4.xml", "nvidia-t4", "Tesla T4", "515.105.01", 15360, "90.04.84.00.06"),
        (
            "tesla-p100.xml",
            "nvidia-p100-pcie-16gb",
            "Tesla P100-PCIE-16GB",
            "510.47.03",
            16384,
            "86.00.52.00.02",
        ),
        (
            "rtx-3080-v13.xml",
            "nvidia-rtx-3080",
            "NVIDIA GeForce RTX 3080",
            "595.58.03",
            10240,
            "94.02.71.40.72",
        ),
    ],
)
def test_facts_of_boards_of_several_generations_are_read(
    samples, name, device_class, model, driver, memory_mib, firmware
):
    (device,) = read((samples / name).read_text()).devices
    assert (device.device_class, device.facts["model"]) == (device_class, model)
    assert (device.facts["driver"], device.facts["firmware"]) == (driver, firmware)
    assert (device.facts["memory_b"], device.facts["index"]) == (memory_mib * MIB, 0)
    assert (device.facts["partition_mode"], device.facts["partitions"]) == (None, None)
    assert device.readings[0]["mode"] is None


def test_an_idle_a10g_is_read(samples):
    (device,) = read((samples / "a10g.xml").read_text()).devices
    assert device.facts["remap_pending"] is False
    assert told(device.readings[0]) == {
        "time": "2023-04-24T16:11:51",
        "util": 0.0,
        "mem_util": 0.0,
        "sm_clock_hz": 210 * MHZ,
        "mem_clock_hz": 405 * MHZ,
        "power_w": 25.58,
        "temp_c": 17.0,
        "fan": 0.0,
        "mem_used_b": 22 * MIB,
        "throttle_mask": 1,
        "throttle_reasons": ["idle"],
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "remapped_rows": 0,
        "pcie_gen": 1,
        "pcie_width": 8,
        "pcie_replays": 0,
        "pcie_tx_b_s": 0,
        "pcie_rx_b_s": 0,
        "foreign_pids": [725],
        "power_limit_w": 300.0,
    }


def test_a_t4_with_processes_and_without_a_fan_is_read(samples):
    (device,) = read((samples / "tesla-t4.xml").read_text()).devices
    tick = device.readings[0]
    assert (device.facts["app_sm_clock_hz"], device.facts["sm_clock_max_hz"]) == (585 * MHZ, 1590 * MHZ)
    assert (tick["foreign_pids"], tick["mem_used_b"]) == ([675, 5762], 1032 * MIB)
    assert (tick["power_w"], tick["power_limit_w"], tick["temp_c"]) == (26.78, 70.0, 40.0)
    assert (tick["fan"], tick["mem_temp_c"], tick["throttle_ns"]) == (None, None, None)
    assert (tick["throttle_mask"], tick["remapped_rows"]) == (0, 0)


def test_a_p100_counts_volatile_errors_and_retired_pages(samples):
    (device,) = read((samples / "tesla-p100.xml").read_text()).devices
    tick = device.readings[0]
    assert (tick["ecc_corrected"], tick["ecc_uncorrected"], tick["remapped_rows"]) == (0, 0, 0)
    assert (tick["power_w"], tick["sm_clock_hz"], tick["mem_clock_hz"]) == (26.16, 405 * MHZ, 715 * MHZ)
    assert (tick["mem_used_b"], tick["foreign_pids"], tick["mem_temp_c"]) == (0, [], None)


def test_an_rtx_3080_without_error_correction_has_no_error_counts(samples):
    (device,) = read((samples / "rtx-3080-v13.xml").read_text()).devices
    assert (device.facts["ecc_mode"], device.facts["app_sm_clock_hz"], device.facts["runtime"]) == (
        None,
        None,
        "13.2",
    )
    assert told(device.readings[0]) == {
        "time": "2026-04-10T10:23:01",
        "util": 0.65,
        "mem_util": 0.09,
        "sm_clock_hz": 1950 * MHZ,
        "mem_clock_hz": 9251 * MHZ,
        "power_w": 139.62,
        "temp_c": 27.0,
        "fan": 0.0,
        "mem_used_b": 9184 * MIB,
        "throttle_mask": 0,
        "throttle_reasons": [],
        "throttle_ns": {"power_cap": 0, "sync_boost": 0, "sw_thermal": 0, "hw_thermal": 0, "hw_brake": 0},
        "pcie_gen": 4,
        "pcie_width": 16,
        "pcie_replays": 0,
        "pcie_tx_b_s": 1_066_699_000,
        "pcie_rx_b_s": 14_742_333_000,
        "foreign_pids": [],
        "power_limit_w": 320.0,
    }


def test_a_capture_of_an_h100_unites_its_outputs(samples):
    found = read((samples / "capture_h100-80gb-hbm3_590.txt").read_text())
    (device,) = found.devices
    assert (found.form, device.device_class) == ("capture", "nvidia-h100-sxm5-80gb")
    assert told(device.facts) == {
        "index": 0,
        "uuid": "GPU-00000000-0000-0000-0000-000000000000",
        "serial": "0000000000000",
        "pci_bus_id": "00000000:00:09.0",
        "model": "NVIDIA H100 80GB HBM3",
        "architecture": "Hopper",
        "memory_b": 81559 * MIB,
        "driver": "590.48.01",
        "firmware": "96.00.A5.00.01",
        "runtime": "13.1",
        "sm_clock_max_hz": 1980 * MHZ,
        "mem_clock_max_hz": 2619 * MHZ,
        "power_limit_default_w": 700.0,
        "power_limit_max_w": 700.0,
        "persistence": True,
        "ecc_mode": True,
        "ecc_mode_pending": True,
        "remap_pending": False,
        "partition_mode": "disabled",
        "partitions": [],
        "compute_mode": "Default",
        "pcie_gen_max": 5,
        "pcie_width_max": 16,
    }


def test_a_capture_of_an_h100_has_its_readings_idle_and_then_under_load(samples):
    (device,) = read((samples / "capture_h100-80gb-hbm3_590.txt").read_text()).devices
    readings = device.readings
    power = [tick["power_w"] for tick in readings if tick["power_w"] is not None]
    assert power == [
        69.0,
        69.85,
        69.85,
        *5 * [69.0],
        629.0,
        629.45,
        631.95,
        631.0,
        634.0,
        633.0,
        634.0,
        636.0,
    ]
    assert [tick["foreign_pids"] for tick in readings if tick["foreign_pids"] is not None] == [
        *7 * [[]],
        *7 * [[11327, 11328, 11345]],
    ]
    idle, loaded = readings[1], readings[14]
    assert (idle["throttle_reasons"], loaded["throttle_reasons"]) == (["idle"], [])
    assert (idle["pcie_tx_b_s"], loaded["pcie_rx_b_s"], loaded["pcie_replays"]) == (352_000, 6_346_000, 9)
    assert (loaded["mem_used_b"], loaded["util"], loaded["mem_util"]) == (19818 * MIB, 1.0, 0.11)
    assert (readings[15]["time"], readings[15]["mem_temp_c"]) == ("2026-07-14T08:12:53.353", 54.0)
    assert readings[-1]["sm_clock_hz"] == 1980 * MHZ


def test_a_capture_of_an_l40s_reads_time_under_the_power_cap_and_no_memory_temperature(samples):
    (device,) = read((samples / "capture_l40s_595.txt").read_text()).devices
    assert (device.device_class, device.facts["partition_mode"]) == ("nvidia-l40s", None)
    assert len(device.readings) == 26
    capped = [tick["throttle_ns"]["power_cap"] for tick in device.readings if tick["throttle_ns"]]
    assert capped == [200740215000, 200740215000, 204642816000, 204642816000]
    assert {tick["mem_temp_c"] for tick in device.readings} == {None}
    assert [tick["mem_clock_hz"] for tick in device.readings[8:13]] == [9001 * MHZ] * 3 + [405 * MHZ] * 2
    assert device.readings[13]["foreign_pids"] == [20037, 20038]
    assert device.readings[14]["pcie_rx_b_s"] == 2_012_109_000
