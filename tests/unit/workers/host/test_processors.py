import pytest

from workers.host import rapl
from workers.host.processors import (
    Clock,
    clock_policy,
    edac_count,
    highest_clock_hz,
    is_corrected,
    mode,
    sensors,
    turbo,
)
from workers.host.throttling import Throttling, groups_above, throttled_ns

CPUS = [0, 1]


@pytest.fixture
def put(tmp_path):
    """Write files below a folder that stands for sysfs and procfs."""

    def write(files):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{content}\n")
        return tmp_path

    return write


# --- energy ---


def package(number, uj, *, name=None, largest=1000):
    zone = f"intel-rapl:{number}"
    return {
        f"{zone}/name": name or f"package-{number}",
        f"{zone}/energy_uj": uj,
        f"{zone}/max_energy_range_uj": largest,
        f"{zone}/constraint_0_name": "long_term",
        f"{zone}/constraint_0_power_limit_uw": 120_000_000,
        f"{zone}/constraint_0_max_power_uw": 150_000_000,
        f"{zone}/constraint_1_name": "short_term",
        f"{zone}/constraint_1_power_limit_uw": 300_000_000,
    }


def test_energy_is_of_all_packages_and_of_nothing_else(put):
    parts = package("0:0", 7, name="core") | package(2, 9, name="psys")
    folder = put(package(0, 300_000_000) | package(1, 200_000_000) | parts)
    assert rapl.EnergyCounter(folder).read() == pytest.approx(500.0)


def test_energy_goes_on_where_a_package_begins_at_nothing_again(put):
    counter = rapl.EnergyCounter(put(package(0, 900) | package(1, 100)))
    read = [counter.read()]
    put(package(0, 50) | package(1, 160))
    read.append(counter.read())
    put(package(0, 70) | package(1, 160))
    read.append(counter.read())
    assert read == pytest.approx([1000e-6, 1210e-6, 1230e-6])


def test_energy_that_one_package_keeps_to_root_is_unknown(put):
    folder = put(package(0, 300) | package(1, 200))
    (folder / "intel-rapl:1" / "energy_uj").unlink()
    assert rapl.EnergyCounter(folder).read() is None


def test_a_machine_without_counters_tells_no_energy(tmp_path):
    assert rapl.EnergyCounter(tmp_path).read() is None
    assert rapl.power_limit_w(tmp_path) is None


def test_the_limit_of_power_is_what_holds_for_long(put):
    folder = put(package(0, 1) | package(1, 1))
    assert (rapl.power_limit_w(folder), rapl.power_limit_max_w(folder)) == (240.0, 300.0)


# --- heat and quotas ---


def heat(cpu, *, core_ms, package_ms, core_count=0, package_count=0):
    folder = f"cpu/cpu{cpu}"
    return {
        f"{folder}/thermal_throttle/core_throttle_total_time_ms": core_ms,
        f"{folder}/thermal_throttle/package_throttle_total_time_ms": package_ms,
        f"{folder}/thermal_throttle/core_throttle_count": core_count,
        f"{folder}/thermal_throttle/package_throttle_count": package_count,
        f"{folder}/topology/core_cpus_list": f"{cpu % 2},{cpu % 2 + 2}",
        f"{folder}/topology/package_cpus_list": "0-3",
    }


def throttling(folder, cpus):
    return Throttling(cpus, folder / "cpu", folder / "cgroup", folder / "proc")


def test_heat_is_told_of_each_core_and_package_once(put):
    files = [heat(cpu, core_ms=10 * (cpu % 2 + 1), package_ms=40, core_count=cpu % 2) for cpu in range(4)]
    found = throttling(put({name: value for part in files for name, value in part.items()}), range(4))
    assert found.times_ns() == {"thermal": 15_000_000, "hw_thermal": 40_000_000}
    assert found.counts() == {"thermal": 1, "hw_thermal": 0}


def test_heat_of_an_older_kernel_is_told_by_counts_alone(put):
    found = throttling(put({"cpu/cpu0/thermal_throttle/core_throttle_count": 3}), [0])
    assert (found.times_ns(), found.counts()) == (None, {"thermal": 3})


def test_heat_of_processors_that_may_not_be_used_is_left_out(put):
    folder = put(heat(0, core_ms=1, package_ms=2) | heat(1, core_ms=9, package_ms=9))
    assert throttling(folder, [0]).times_ns() == {"thermal": 1_000_000, "hw_thermal": 2_000_000}


def test_a_machine_without_counters_of_heat_or_quotas_tells_none(tmp_path):
    found = throttling(tmp_path, [0])
    assert (found.times_ns(), found.counts()) == (None, None)


def test_quotas_of_all_groups_above_are_added(put):
    folder = put(
        {
            "proc/self/cgroup": "0::/agent/run",
            "cgroup/cpu.stat": "usage_usec 5",
            "cgroup/agent/cpu.stat": "usage_usec 5\nnr_throttled 2\nthrottled_usec 30",
            "cgroup/agent/run/cpu.stat": "throttled_usec 4",
        }
    )
    assert throttling(folder, []).times_ns() == {"cgroup_quota": 34_000}


def test_quotas_of_the_first_version_are_told_in_nanoseconds(put):
    folder = put(
        {
            "proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/docker/1\n0::/",
            "cgroup/cpu/docker/1/cpu.stat": "nr_periods 9\nthrottled_time 777",
        }
    )
    assert throttling(folder, []).times_ns() == {"cgroup_quota": 777}


def test_a_group_outside_of_what_a_container_sees_is_its_top(put):
    folder = put({"proc/self/cgroup": "0::/../../host", "cgroup/cpu.stat": "throttled_usec 1"})
    assert groups_above(folder / "cgroup", folder / "proc") == [folder / "cgroup"]


def test_a_group_without_a_quota_tells_none(put):
    assert throttled_ns(put({"cpu.stat": "usage_usec 5\nuser_usec 3"})) is None


# --- clocks ---


def worked(put, **ticks):
    lines = "".join(f"cpu{number[1:]} {busy} 0 0 50 0 0 0 0 0 0\n" for number, busy in ticks.items())
    return put({"proc/stat": f"cpu 1 0 0 1 0 0 0 0 0 0\n{lines}intr 5"})


def test_the_clock_is_that_of_the_processors_that_worked(put):
    folder = worked(put, c0=100, c1=100, c2=100)
    clock = Clock([0, 1, 2], folder / "cpu", folder / "proc")
    worked(put, c0=130, c1=110, c2=100)
    clocks = {0: 3_000_000, 1: 2_000_000, 2: 800_000}
    put({f"cpu/cpu{number}/cpufreq/scaling_cur_freq": khz for number, khz in clocks.items()})
    assert clock.read_hz() == pytest.approx((30 * 3.0e9 + 10 * 2.0e9) / 40)


def test_the_clock_of_idle_processors_is_their_mean(put):
    folder = worked(put, c0=1, c1=1)
    put({"cpu/cpu0/cpufreq/scaling_cur_freq": 1_000_000, "cpu/cpu1/cpufreq/scaling_cur_freq": 2_000_000})
    assert Clock(CPUS, folder / "cpu", folder / "proc").read_hz() == 1.5e9


def test_the_clock_of_a_virtual_machine_comes_from_its_list_of_processors(put):
    listed = "processor\t: 0\nmodel name\t: X\ncpu MHz\t\t: 2500.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.000\n"
    folder = put({"proc/stat": "cpu 1 0 0 1", "proc/cpuinfo": listed})
    assert Clock([1], folder / "cpu", folder / "proc").read_hz() == 3.0e9


def test_a_machine_that_tells_no_clock_has_none(tmp_path):
    assert Clock(CPUS, tmp_path, tmp_path).read_hz() is None
    assert (highest_clock_hz(CPUS, tmp_path), clock_policy(CPUS, tmp_path), mode(CPUS, tmp_path)) == (
        None,
    ) * 3


def test_the_highest_clock_is_the_best_processors(put):
    folder = put({"cpu0/cpufreq/cpuinfo_max_freq": 3_400_000, "cpu1/cpufreq/cpuinfo_max_freq": 4_100_000})
    assert highest_clock_hz(CPUS, folder) == 4.1e9


def test_the_mode_names_all_that_changes_the_clock(put):
    folder = put(
        {
            "cpu0/cpufreq/scaling_driver": "intel_pstate",
            "cpu0/cpufreq/scaling_governor": "powersave",
            "cpu1/cpufreq/scaling_governor": "performance",
            "cpu0/cpufreq/energy_performance_preference": "balance_performance",
            "intel_pstate/no_turbo": 1,
            "smt/control": "on",
        }
    )
    clocks = "clocks intel_pstate performance/powersave"
    assert mode(CPUS, folder) == f"{clocks}, preference balance_performance, turbo off, smt on"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("intel_pstate/no_turbo", 0, "on"),
        ("intel_pstate/no_turbo", 1, "off"),
        ("cpufreq/boost", 1, "on"),
        ("cpufreq/boost", 0, "off"),
    ],
)
def test_turbo_is_told_by_the_driver_that_knows(put, name, value, told):
    assert turbo(put({name: value})) == told


# --- sensors and memory errors ---


def test_sensors_are_the_processors_own(put):
    folder = put(
        {
            "hwmon/hwmon0/name": "coretemp",
            "hwmon/hwmon0/temp1_input": 45000,
            "hwmon/hwmon1/name": "nvme",
            "hwmon/hwmon1/temp1_input": 60000,
            "thermal/thermal_zone0/type": "x86_pkg_temp",
            "thermal/thermal_zone0/temp": 46000,
            "thermal/thermal_zone1/type": "acpitz",
            "thermal/thermal_zone1/temp": 90000,
        }
    )
    assert sorted(path.read_text() for path in sensors(folder / "hwmon", folder / "thermal")) == [
        "45000\n",
        "46000\n",
    ]


def test_memory_errors_are_of_all_controllers(put):
    folder = put({"mc0/ce_count": 2, "mc1/ce_count": 3, "mc0/ue_count": 0})
    assert (edac_count("ce_count", folder), edac_count("ue_count", folder)) == (5, 0)


def test_no_controller_of_memory_tells_no_errors(tmp_path):
    assert (edac_count("ce_count", tmp_path), is_corrected(tmp_path)) == (None, None)


@pytest.mark.parametrize(
    ("modes", "told"),
    [(["SECDED", "S4ECD4ED"], True), (["SECDED", "None"], False), (["Unknown"], None)],
)
def test_memory_is_corrected_where_all_modules_are(put, modes, told):
    files = {f"mc0/dimm{number}/dimm_edac_mode": word for number, word in enumerate(modes)}
    assert is_corrected(put(files)) is told
