import pytest

from workers.readings import read
from workers.readings.nvidia.dcgm_exporter import recognises

GPU = 'gpu="0",UUID="GPU-a"'
INSTANCE = f'{GPU},GPU_I_PROFILE="1g.5gb",GPU_I_ID="7"'


def scrape(*series, kind="gauge"):
    return "".join(f"# TYPE {name} {kind}\n{name}{{{labels}}} {value}\n" for name, labels, value in series)


def reading(text):
    (device,) = read(text).devices
    return device.readings[0]


@pytest.mark.parametrize(
    "blank",
    [
        "9223372036854775792",
        "9223372036854775794",
        "9223372036854775807",
        "2147483632",
        "2147483634",
        "140737488355328.000000",
        "140737488355330",
        "NaN",
    ],
)
def test_a_blank_value_is_missing(blank):
    tick = reading(scrape(("DCGM_FI_DEV_POWER_USAGE", GPU, blank), ("DCGM_FI_DEV_GPU_TEMP", GPU, blank)))
    assert (tick["power_w"], tick["temp_c"]) == (None, None)


def test_large_counters_are_not_blank():
    text = scrape(
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", GPU, "2147483648"),
        ("DCGM_FI_DEV_POWER_VIOLATION", GPU, "140737488355344"),
        kind="counter",
    )
    assert reading(text)["energy_j_total"] == 2147483.648
    assert reading(text)["throttle_ns"] == {"power_cap": 140737488355344}


def test_violations_are_nanoseconds_whatever_the_help_says():
    text = "# HELP DCGM_FI_DEV_THERMAL_VIOLATION Throttling duration (in us).\n" + scrape(
        ("DCGM_FI_DEV_THERMAL_VIOLATION", GPU, "77")
    )
    assert reading(text)["throttle_ns"] == {"thermal": 77}


def test_the_last_error_s_code_is_no_count():
    assert reading(scrape(("DCGM_FI_DEV_XID_ERRORS", GPU, "79")))["xid_count"] is None


def test_a_memory_temperature_of_zero_is_a_missing_sensor():
    text = scrape(("DCGM_FI_DEV_MEMORY_TEMP", GPU, "0"), ("DCGM_FI_DEV_GPU_TEMP", GPU, "0"))
    assert (reading(text)["mem_temp_c"], reading(text)["temp_c"]) == (None, 0.0)


@pytest.mark.parametrize(("kind", "rate"), [("gauge", 1000), ("counter", None)])
def test_bytes_on_the_link_are_a_rate_unless_they_are_declared_a_counter(kind, rate):
    assert reading(scrape(("DCGM_FI_PROF_PCIE_TX_BYTES", GPU, "1000"), kind=kind))["pcie_tx_b_s"] == rate


@pytest.mark.parametrize("name", ["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"])
def test_the_mask_of_reasons_is_read_under_both_of_its_names(name):
    tick = reading(scrape((name, GPU, "132")))
    assert (tick["throttle_mask"], tick["throttle_reasons"]) == (132, ["power_cap", "hw_brake"])


def test_an_instance_is_a_device_of_its_own_and_never_changes_its_gpu():
    text = scrape(
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", GPU, "0.25"),
        ("DCGM_FI_DEV_FB_USED", GPU, "100"),
        ("DCGM_FI_DEV_POWER_USAGE", GPU, "200"),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", INSTANCE, "0.75"),
        ("DCGM_FI_DEV_FB_USED", INSTANCE, "30"),
        ("DCGM_FI_DEV_POWER_USAGE", INSTANCE, "201"),
    )
    gpu, instance = read(text).devices
    names = ("tensor_active", "mem_used_b", "power_w")
    assert [gpu.readings[0][name] for name in names] == [0.25, 100 * 2**20, 200.0]
    assert [instance.readings[0][name] for name in names] == [0.75, 30 * 2**20, None]
    assert (gpu.facts["partitions"], gpu.readings[0]["mode"]) == (["1g.5gb"], "mig enabled")
    assert (instance.name, instance.device_class) == ("0/7", "nvidia-unknown-mig-1g.5gb")


def test_a_gpu_that_only_its_instances_tell_of_is_there_too():
    gpu, instance = read(
        scrape(("DCGM_FI_PROF_SM_ACTIVE", INSTANCE, "0.5"), ("DCGM_FI_DEV_GPU_TEMP", INSTANCE, "40"))
    ).devices
    assert (gpu.facts["uuid"], gpu.readings[0]["sm_active"], gpu.readings[0]["temp_c"]) == (
        "GPU-a",
        None,
        40.0,
    )
    assert (instance.readings[0]["sm_active"], instance.readings[0]["temp_c"]) == (0.5, 40.0)


def test_a_share_far_over_one_is_missing():
    assert reading(scrape(("DCGM_FI_PROF_SM_ACTIVE", GPU, "1.0004")))["sm_active"] == 1.0
    assert reading(scrape(("DCGM_FI_PROF_SM_ACTIVE", GPU, "3.5")))["sm_active"] is None


def test_parts_of_the_memory_name_the_class_but_are_no_total():
    labels = f'{GPU},modelName="NVIDIA H100"'
    parts = {"FREE": 80000, "USED": 1000, "RESERVED": 557}
    (device,) = read(
        scrape(*((f"DCGM_FI_DEV_FB_{part}", labels, mib) for part, mib in parts.items()))
    ).devices
    assert (device.device_class, device.facts["memory_b"]) == ("nvidia-h100-sxm5-80gb", None)


def test_a_line_without_an_end_is_left_out():
    text = scrape(("DCGM_FI_DEV_GPU_TEMP", GPU, "40"), ("DCGM_FI_DEV_POWER_USAGE", GPU, "215"))
    assert reading(text[:-2])["power_w"] is None
    assert reading(text[:-2])["temp_c"] == 40.0


def test_series_of_switches_and_links_are_of_no_gpu():
    other = 'nvlink="3",gpu="0",UUID="GPU-a"'
    text = scrape(("DCGM_FI_DEV_GPU_TEMP", GPU, "40"), ("DCGM_FI_DEV_POWER_USAGE", other, "1"))
    assert reading(text)["power_w"] is None


def test_gpus_of_several_hosts_without_uuids_stay_apart():
    text = scrape(
        ("DCGM_FI_DEV_GPU_TEMP", 'gpu="0",Hostname="a"', "40"),
        ("DCGM_FI_DEV_GPU_TEMP", 'gpu="0",Hostname="b"', "50"),
    )
    assert [device.readings[0]["temp_c"] for device in read(text).devices] == [40.0, 50.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# TYPE go_gc gauge\ngo_gc 5\n",
        'DCGM_FI_DEV_NVSWITCH_TEMP{nvswitch="0"} 4\n',
        'node_gpu{gpu="0"} 5\n',
    ],
)
def test_other_texts_are_not_recognised(text):
    assert not recognises(text)


@pytest.fixture
def samples(recordings):
    return recordings / "dcgm-exporter"


def told(values):
    return {name: value for name, value in values.items() if value is not None and name != "unavailable"}


def test_a_real_scrape_of_an_idle_l40s_is_read(samples):
    found = read((samples / "l40s_driver595_idle.prom").read_text())
    (device,) = found.devices
    assert (found.tool, device.kind, device.device_class) == ("dcgm-exporter", "nvidia", "nvidia-l40s")
    assert told(device.facts) == {
        "index": 0,
        "uuid": "GPU-5b4e07f6-3a86-4340-039d-25f2a83cdc43",
        "pci_bus_id": "00000000:00:07.0",
        "model": "NVIDIA L40S",
        "driver": "595.58.03",
    }
    (tick,) = device.readings
    assert told(tick) == {
        "util": 0.0,
        "mem_util": 0.0,
        "tensor_active": 0.0,
        "dram_active": 0.000131,
        "sm_clock_hz": 210_000_000,
        "mem_clock_hz": 405_000_000,
        "power_w": 35.686,
        "energy_j_total": 5551899.58,
        "temp_c": 32.0,
        "mem_used_b": 0,
        "remapped_rows": 0,
        "pcie_replays": 0,
        "pcie_tx_b_s": 175084,
        "pcie_rx_b_s": 19831,
    }


def test_a_real_scrape_of_a_busy_t4_is_read(samples):
    (device,) = read((samples / "t4_driver590_busy.prom").read_text()).devices
    assert (device.device_class, device.facts["driver"]) == ("nvidia-t4", "590.48.01")
    (tick,) = device.readings
    assert told(tick) == {
        "util": 0.91,
        "mem_util": 0.73,
        "tensor_active": 0.005822,
        "dram_active": 0.092781,
        "sm_clock_hz": 660_000_000,
        "mem_clock_hz": 5_000_000_000,
        "power_w": 68.244,
        "energy_j_total": 15152422.938,
        "temp_c": 74.0,
        "mem_used_b": 5120 * 2**20,
        "pcie_replays": 0,
        "pcie_tx_b_s": 4791810,
        "pcie_rx_b_s": 6935930,
    }


@pytest.mark.parametrize("moment", ["9" * 400, "-5", "99999999999999999"])
def test_a_time_that_is_none_of_a_scrape_is_not_told(moment):
    assert reading(f"DCGM_FI_DEV_GPU_TEMP{{{GPU}}} 40 {moment}\n")["time"] is None
