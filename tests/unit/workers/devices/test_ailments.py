import pytest

from workers.devices.inspection.ailments import DEVICE_RULES, Patient, device_advice, device_ailments
from workers.devices.inspection.host_ailments import Busy, HostFacts, host_ailments
from workers.readings.record import facts, tick

H100 = {
    "index": 3,
    "clock_policy": "application",
    "sm_clock_max_hz": 1.98e9,
    "persistence": True,
    "ecc_mode": True,
    "ecc_mode_pending": True,
    "remap_pending": False,
    "power_limit_default_w": 700.0,
}
"""A device that nothing is wrong with."""

IDLE = {"sm_clock_hz": 3.45e8, "throttle_reasons": ["idle"], "power_limit_w": 700.0, "foreign_pids": []}
BUSY = {**IDLE, "sm_clock_hz": 1.7e9, "throttle_reasons": []}


def gpu(kind="nvidia", told=None, readings=None, **others):
    return Patient(kind, "GPU-1", facts(**(told or {})), tick(**(readings or {})), **others)


def h100(readings=IDLE, **changes):
    return gpu(told={**H100, **changes}, readings=readings)


def mends(ailments):
    return {ailment.code: ailment.mend for ailment in ailments}


def mend_of(patient, code):
    return mends(device_ailments(patient))[code]


def codes(ailments):
    return [ailment.code for ailment in ailments]


# --- any device ---


def test_a_device_that_nothing_is_wrong_with_has_no_ailments():
    assert device_ailments(h100()) == device_advice(h100()) == []


@pytest.mark.parametrize("kind", ["nvidia", "amd", "tpu", "neuron", "jetson", "cpu", "simulated"])
def test_what_a_device_does_not_tell_is_not_held_against_it(kind):
    assert device_ailments(gpu(kind)) == []


def test_every_ailment_is_of_the_device_and_says_what_it_costs_and_what_mends_it():
    patient = h100(
        {**IDLE, "foreign_pids": [7], "power_limit_w": 500.0}, persistence=False, clock_policy=None
    )
    found = device_ailments(patient)
    assert codes(found) == ["foreign_process", "clocks_not_locked", "persistence_off", "power_cap"]
    for ailment in found:
        assert ailment.where == "GPU-1"
        assert all(ailment)


def test_another_program_is_named_and_can_be_ended():
    (found,) = device_ailments(gpu("amd", readings={"foreign_pids": [812, 4151]}, processes={812: "python3"}))
    assert found.what == "another program is on the device: python3 (812), 4151"
    assert found.mend == "sudo kill 812 4151   # whose it is: ps -fp 812,4151"


def test_a_screen_on_the_device_is_mended_by_leaving_the_desktop():
    (found,) = device_ailments(gpu(readings={"foreign_pids": [900]}, processes={900: "Xorg"}))
    assert found.what == "the screen is drawn by the device: Xorg (900)"
    assert found.mend == "sudo systemctl isolate multi-user.target"


@pytest.mark.parametrize(("kind", "word"), [("tpu", "TPU chip"), ("neuron", "NeuronCore")])
def test_a_program_that_holds_a_chip_that_serves_one_at_a_time_stops_everything(kind, word):
    (found,) = device_ailments(gpu(kind, readings={"foreign_pids": [812]}))
    assert word in found.cost
    assert "nothing can be measured" in found.cost


@pytest.mark.parametrize("reason", ["hw_brake", "hw_slowdown", "prochot"])
def test_the_hardwares_brake_is_worse_than_heat_and_told_alone(reason):
    assert codes(device_ailments(gpu(readings={"throttle_reasons": [reason, "hw_thermal"]}))) == ["hw_brake"]


def test_heat_is_told():
    patient = gpu("amd", readings={"throttle_reasons": ["thermal"]})
    assert codes(device_ailments(patient)) == ["thermal"]


def test_a_power_limit_that_is_reached_is_no_ailment():
    assert device_ailments(gpu(readings={"throttle_reasons": ["power_cap", "application_clocks"]})) == []


# --- NVIDIA ---


@pytest.mark.parametrize(
    ("changes", "code", "mend"),
    [
        ({"persistence": False}, "persistence_off", "sudo nvidia-smi -i 3 -pm 1"),
        ({"ecc_mode_pending": False}, "ecc_pending", "sudo nvidia-smi -i 3 --gpu-reset"),
        ({"remap_pending": True}, "remap_pending", "sudo nvidia-smi -i 3 --gpu-reset"),
        ({"power_limit_default_w": 750.0}, "power_cap", "sudo nvidia-smi -i 3 -pl 750"),
    ],
)
def test_settings_of_an_nvidia_gpu_are_mended_by_nvidia_smi(changes, code, mend):
    (found,) = device_ailments(h100(**changes))
    assert found.code == code
    assert found.mend.partition("   #")[0] == mend


@pytest.mark.parametrize(
    ("limit_w", "wrong"), [(700.0, False), (695.0, False), (650.0, True), (750.0, False)]
)
def test_a_power_limit_is_wrong_where_it_is_below_the_delivered_one(limit_w, wrong):
    found = device_ailments(h100({**IDLE, "power_limit_w": limit_w}))
    assert codes(found) == (["power_cap"] if wrong else [])


def test_a_clock_that_fell_without_work_is_not_locked():
    (found,) = device_ailments(h100(clock_policy=None))
    assert found.what == "the clock is not locked: without work it fell to 345 of 1980 MHz"
    assert found.mend == "sudo nvidia-smi -i 3 --lock-gpu-clocks=1485,1485"


@pytest.mark.parametrize(
    "readings",
    [
        pytest.param(BUSY, id="at work"),
        pytest.param({**IDLE, "sm_clock_hz": 1.485e9}, id="idle at a clock that may be locked"),
        pytest.param({**IDLE, "throttle_reasons": None}, id="nobody knows whether idle"),
        pytest.param({**IDLE, "sm_clock_hz": None}, id="no clock"),
    ],
)
def test_whether_a_clock_is_locked_is_advice_where_it_cannot_be_seen(readings):
    patient = h100(readings, clock_policy=None)
    assert device_ailments(patient) == []
    assert codes(device_advice(patient)) == ["clocks_unknown"]


def test_a_clock_that_was_asked_for_is_steady():
    assert device_advice(h100(BUSY, clock_policy="application")) == []


def test_a_gpu_that_does_not_tell_its_highest_clock_leaves_it_to_the_reader():
    (advice,) = device_advice(h100(BUSY, clock_policy=None, sm_clock_max_hz=None))
    assert advice.mend == "sudo nvidia-smi -i 3 --lock-gpu-clocks=MHZ,MHZ"


def test_settings_of_a_mig_instance_are_those_of_its_gpu():
    patient = h100(index="3:1", persistence=False)
    assert mend_of(patient, "persistence_off") == "sudo nvidia-smi -i 3 -pm 1"


def test_a_gpu_without_a_number_is_called_by_its_name():
    patient = h100(index=None, uuid="GPU-513536b6", persistence=False)
    assert mend_of(patient, "persistence_off") == "sudo nvidia-smi -i GPU-513536b6 -pm 1"


# --- AMD ---

BUS = "0000:c1:00.0"


def amd(architecture, policy="automatic", **readings):
    told = {
        "pci_bus_id": BUS,
        "architecture": architecture,
        "clock_policy": policy,
        "sm_clock_max_hz": 2.1e9,
        "power_limit_default_w": 750.0,
    }
    return gpu("amd", told, readings)


@pytest.mark.parametrize(
    ("architecture", "mend"),
    [
        ("gfx90a", f"sudo amd-smi set --gpu {BUS} --perf-determinism 1575"),
        (
            "gfx942",
            f"sudo amd-smi set --gpu {BUS} --perf-level MANUAL"
            f" && sudo amd-smi set --gpu {BUS} --clk-limit sclk max 1575",
        ),
        (
            "gfx1100",
            f"echo profile_standard | sudo tee /sys/bus/pci/devices/{BUS}/power_dpm_force_performance_level",
        ),
    ],
)
def test_each_generation_of_amd_gpus_has_its_own_way_to_hold_the_clock(architecture, mend):
    assert mend_of(amd(architecture), "clocks_not_locked") == mend


@pytest.mark.parametrize("policy", ["automatic", "automatic, COMPUTE"])
def test_a_clock_that_the_driver_chooses_is_not_locked_whatever_the_profile(policy):
    assert codes(device_ailments(amd("gfx90a", policy))) == ["clocks_not_locked"]


@pytest.mark.parametrize("policy", ["perf_determinism", "profile_peak", "high", "manual, COMPUTE", None])
def test_a_clock_that_somebody_chose_is_no_ailment(policy):
    assert device_ailments(amd("gfx90a", policy)) == []


def test_a_clock_that_is_held_low_is_an_ailment():
    assert codes(device_ailments(amd("gfx90a", "low"))) == ["clocks_low"]


def test_the_power_limit_of_an_amd_gpu_is_set_back_through_the_kernels_file():
    assert mend_of(amd("gfx90a", None, power_limit_w=500.0), "power_cap") == (
        f"echo 750000000 | sudo tee /sys/bus/pci/devices/{BUS}/hwmon/hwmon*/power1_cap"
    )


# --- Jetson ---

ORIN_NANO = {"15W": 0, "25W": 1, "MAXN_SUPER": 2, "7W": 3}
XAVIER_NX = {"MODE_15W_2CORE": 0, "MODE_15W_6CORE": 2, "MODE_10W_4CORE": 4, "MODE_20W_6CORE": 8}


def jetson(mode, modes, policy="locked"):
    return gpu("jetson", {"power_mode": mode, "clock_policy": policy}, power_modes=modes)


@pytest.mark.parametrize(
    ("mode", "modes", "number"),
    [("15W", ORIN_NANO, 2), ("MODE_15W_6CORE", XAVIER_NX, 8), ("MODE_30W", {"MAXN": 0, "MODE_30W": 2}, 0)],
)
def test_a_power_mode_below_the_highest_is_mended_by_that_boards_number(mode, modes, number):
    assert mend_of(jetson(mode, modes), "nvpmodel_below_maximum").startswith(f"sudo nvpmodel -m {number} ")


@pytest.mark.parametrize(
    ("mode", "modes"), [("MAXN_SUPER", ORIN_NANO), ("MODE_20W_6CORE", XAVIER_NX), ("MAXN", {})]
)
def test_the_highest_power_mode_is_none_to_mend(mode, modes):
    assert device_ailments(jetson(mode, modes)) == []


def test_where_the_modes_may_not_be_read_the_reader_is_told_where_they_are():
    assert mend_of(jetson("15W", {}), "nvpmodel_below_maximum").startswith(
        "grep POWER_MODEL /etc/nvpmodel.conf"
    )


def test_a_governor_of_the_gpus_clock_is_mended_by_jetson_clocks():
    patient = jetson("MAXN", {}, "nvhost_podgov")
    assert mends(device_ailments(patient)) == {"clocks_not_locked": "sudo jetson_clocks"}


# --- the host ---


def host(**told):
    return HostFacts(**{"soft": {}, "load": {}, **told})


def test_a_host_that_tells_nothing_has_no_ailments():
    assert host_ailments(host()) == []


def test_a_quiet_host_has_no_ailments():
    soft = {"governor": "performance", "turbo": False, "smt": "off", "cgroup_quota": "max 100000"}
    load = {"host_cpu_foreign": 0.2, "host_steal": 0.0}
    assert host_ailments(host(soft=soft, load=load, swap_used_b=2**20, threads=8)) == []


CPU = "/sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("told", "code", "mend"),
    [
        (
            {"soft": {"governor": "schedutil"}},
            "governor",
            f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor",
        ),
        (
            {"soft": {"turbo": True}, "has_intel_turbo": True},
            "turbo",
            f"echo 1 | sudo tee {CPU}/intel_pstate/no_turbo",
        ),
        ({"soft": {"turbo": True}}, "turbo", f"echo 0 | sudo tee {CPU}/cpufreq/boost"),
        ({"soft": {"smt": "on"}}, "smt", f"echo off | sudo tee {CPU}/smt/control"),
        ({"swap_used_b": 2**30}, "swap", "sudo swapoff -a"),
        ({"load": {"host_cpu_foreign": 1.2}}, "noisy_neighbours", "top -o %CPU"),
    ],
)
def test_what_is_wrong_with_a_host_comes_with_the_command_of_this_host(told, code, mend):
    (found,) = host_ailments(host(**told))
    assert (found.code, found.where) == (code, "host")
    assert found.mend.partition("   #")[0] == mend


@pytest.mark.parametrize(("threads", "wrong"), [(2, True), (64, False)])
def test_a_large_host_may_have_more_going_on_as_the_gate_has_it(threads, wrong):
    found = host_ailments(host(load={"host_cpu_foreign": 1.0}, threads=threads))
    assert codes(found) == (["noisy_neighbours"] if wrong else [])


def test_busy_neighbours_are_named_the_busiest_first():
    busiest = (Busy(812, "postgres", 0.84), Busy(4151, "python3", 0.5))
    (found,) = host_ailments(host(load={"host_cpu_foreign": 1.4}, busiest=busiest))
    assert found.what.endswith("just now: postgres (812) 0.8, python3 (4151) 0.5")


def test_time_that_the_hypervisor_takes_is_told():
    assert codes(host_ailments(host(load={"host_steal": 0.05}))) == ["steal"]
    assert host_ailments(host(load={"host_steal": 0.02})) == []


def test_a_quota_is_told_in_processors():
    (found,) = host_ailments(host(soft={"cgroup_quota": "150000 100000"}))
    assert found.what == "a control group allows 1.5 processors, counted in each 100 ms"


def test_neighbours_are_told_before_settings():
    soft = {"governor": "powersave", "turbo": True, "smt": "on"}
    found = host_ailments(host(soft=soft, load={"host_cpu_foreign": 3.0}, swap_used_b=2**30))
    assert codes(found) == ["noisy_neighbours", "swap", "governor", "turbo", "smt"]


def test_the_rules_are_of_kinds_that_there_are():
    from workers.devices import KINDS

    assert set(DEVICE_RULES) <= set(KINDS)
