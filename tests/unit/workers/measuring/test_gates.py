"""Gates: what voids a pair, what only explains it, and that nothing is held against a quiet machine."""

import pytest

from workers.measuring.gates import Gates

QUIET = {
    "util": 0.9,
    "sm_clock_hz": 1.9e9,
    "power_w": 280.0,
    "temp_c": 60.0,
    "mem_used_b": 2**30,
    "throttle_reasons": [],
    "throttle_ns": {"hw_brake": 1000},
    "ecc_corrected": 3,
    "ecc_uncorrected": 0,
    "remapped_rows": 0,
    "xid_count": 0,
    "pcie_gen": 4,
    "pcie_width": 16,
    "foreign_pids": [],
    "host_cpu_foreign": 0.1,
    "host_steal": 0.0,
    "swap_in_b": 0,
    "power_limit_w": 300.0,
    "mode": "mig disabled",
    "over_current": 0,
}
IDLE = {**QUIET, "util": 0.0, "mem_used_b": 2**28}


def ticks(n=6, **changes):
    """Readings of half a second; a change that is a list is taken reading by reading, the last one stays."""
    rows = []
    for i in range(n):
        now = {
            name: value[min(i, len(value) - 1)] if isinstance(value, tuple) else value
            for name, value in changes.items()
        }
        first = {"mem_used_b": IDLE["mem_used_b"]} if i == 0 else {}
        told = {**QUIET, **first, "t_ns": i * 100_000_000, **now}
        rows.append({name: value for name, value in told.items() if value is not None})
    return rows


def raised(*, arm="head", start=IDLE, before=(), threads=8, **changes):
    gates = Gates(["GPU-1"], [start], threads=threads)
    for earlier in before:
        gates.judge("base", [earlier])
    return gates.judge(arm, [ticks(**changes)])


def codes(found):
    return [one.gate for one in found]


def test_a_quiet_invocation_raises_nothing():
    assert raised(before=[ticks()]) == []


def test_a_device_that_tells_nothing_raises_nothing():
    silent = dict.fromkeys(QUIET)
    assert raised(start={}, **silent) == []


@pytest.mark.parametrize(
    ("gate", "changes", "words"),
    [
        ("foreign_process", {"foreign_pids": ([], [], [4242], [])}, "process 4242, in 1 of 6 readings"),
        ("foreign_process", {"mem_used_b": 2**28 + 65 * 2**20}, "65 MiB more"),
        ("ecc", {"ecc_uncorrected": (0, 0, 1)}, "1 uncorrected memory errors"),
        ("ecc", {"ecc_corrected": (3, 103)}, "100 corrected"),
        ("ecc", {"remapped_rows": (0, 1)}, "rows replaced"),
        ("ecc", {"xid_count": (0, 1)}, "Xid"),
        ("limit_changed", {"power_limit_w": (300.0, 250.0)}, "power limit 300.0 W became 250.0 W"),
        ("limit_changed", {"mode": "mig enabled"}, "mode mig disabled became mig enabled"),
        ("hw_brake", {"throttle_reasons": ([], ["hw_brake"], [])}, "hw brake"),
        ("hw_brake", {"throttle_ns": ({"hw_brake": 1000}, {"hw_brake": 5000})}, "hw brake"),
        ("hw_brake", {"over_current": (0, 2)}, "2 times over-current"),
        ("host_cpu", {"host_cpu_foreign": 0.8}, "0.8 of them, where 0.5 may be"),
        ("host_steal", {"host_steal": 0.05}, "5.0%"),
        ("host_swap", {"swap_in_b": (0, 2**21)}, "2 MiB"),
    ],
)
def test_a_disturbance_from_outside_is_a_hard_gate_and_says_what_was_seen(gate, changes, words):
    (found,) = raised(**changes)
    assert (found.gate, found.is_hard) == (gate, True)
    assert words in found.sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"ecc_corrected": (3, 102)},
        {"mem_used_b": 2**28 + 63 * 2**20},
        {"host_cpu_foreign": 0.5},
        {"host_steal": 0.02},
        {"throttle_reasons": ["idle", "application_clocks"]},
        {"throttle_ns": {"hw_brake": 9_000_000}},
    ],
)
def test_what_stays_below_a_limit_raises_nothing(changes):
    assert raised(**changes) == []


def test_a_link_below_what_it_did_under_load_is_a_hard_gate():
    assert codes(raised(before=[ticks()], pcie_gen=1)) == ["link"]
    assert codes(raised(before=[ticks(pcie_gen=1)], pcie_gen=1)) == []


def test_the_first_reading_of_the_host_is_about_the_time_before():
    assert raised(host_cpu_foreign=(3.0, 0.1)) == []


def test_a_large_host_may_have_more_going_on():
    assert codes(raised(threads=8, host_cpu_foreign=2.0)) == ["host_cpu"]
    assert codes(raised(threads=128, host_cpu_foreign=2.0)) == []


def test_how_much_may_go_on_can_be_set():
    gates = Gates(["GPU-1"], [IDLE], threads=8, foreign_cpu=4.0, steal=0.3)
    assert gates.judge("head", [ticks(host_cpu_foreign=3.0, host_steal=0.25)]) == []
    assert codes(gates.judge("head", [ticks(host_steal=0.35)])) == ["host_steal"]


@pytest.mark.parametrize(("threads", "found"), [(2, []), (16, ["host_steal"])])
def test_a_tick_of_the_kernels_more_or_less_is_no_steal(threads, found):
    gates = Gates(["GPU-1"], [IDLE], threads=threads)
    short = [{**tick, "t_ns": i * 100_000_000} for i, tick in enumerate(ticks(n=2, host_steal=0.05))]
    assert codes(gates.judge("head", [short])) == found


def test_a_burst_of_work_is_no_load():
    gates = Gates(["GPU-1"], [IDLE], threads=8)
    short = [{**tick, "t_ns": i * 60_000_000} for i, tick in enumerate(ticks(n=2, host_cpu_foreign=1.5))]
    assert gates.judge("head", [short]) == []
    assert codes(gates.judge("head", [ticks(n=2, host_cpu_foreign=1.5)])) == ["host_cpu"]


def test_over_a_blink_the_kernel_says_nothing_of_load():
    gates = Gates(["GPU-1"], [IDLE], threads=8)
    blink = [{**tick, "t_ns": i * 1_000_000} for i, tick in enumerate(ticks(n=2, host_cpu_foreign=1.0))]
    assert gates.judge("head", [blink]) == []


@pytest.mark.parametrize(
    ("gate", "changes"),
    [
        ("power_cap", {"throttle_reasons": ["power_cap"]}),
        ("thermal", {"throttle_reasons": ["sw_thermal"]}),
        ("thermal", {"throttle_reasons": ["hw_thermal"]}),
        ("low_clock", {"sm_clock_hz": 1.7e9}),
        ("telemetry_lost", {"sm_clock_hz": None, "power_w": None, "temp_c": None}),
    ],
)
def test_what_may_be_the_codes_own_doing_is_a_soft_gate(gate, changes):
    (found,) = raised(before=[ticks(), ticks()], **changes)
    assert (found.gate, found.is_hard) == (gate, False)


def test_a_reason_that_hardly_ever_held_explains_nothing():
    assert raised(n=20, throttle_reasons=(["power_cap"], [])) == []


def test_the_clock_of_an_idle_device_is_not_its_usual_one():
    idle_between = ticks(util=(0.0, 0.9), sm_clock_hz=(0.2e9, 1.9e9))
    assert raised(before=[ticks()], util=(0.0, 0.9), sm_clock_hz=(0.2e9, 1.9e9)) == []
    assert raised(before=[idle_between]) == []


def test_only_base_says_what_clock_is_usual():
    gates = Gates(["GPU-1"], [IDLE], threads=8)
    gates.judge("head", [ticks(sm_clock_hz=1.9e9)])
    assert gates.judge("base", [ticks(sm_clock_hz=1.0e9)]) == []
    assert gates.judge("head", [ticks(sm_clock_hz=1.0e9)]) == []


def test_where_processes_are_hidden_memory_tells_of_them():
    hidden = {**IDLE, "foreign_pids": None}
    assert codes(raised(start=hidden, foreign_pids=None, mem_used_b=2**28 + 65 * 2**20)) == [
        "foreign_process"
    ]


def test_memory_of_the_host_may_be_used_by_others():
    gates = Gates(["cpu"], [IDLE], threads=8, has_own_memory=False)
    assert gates.judge("head", [ticks(mem_used_b=2**34)]) == []


def test_hard_gates_come_first():
    found = raised(throttle_reasons=["power_cap"], foreign_pids=[7])
    assert codes(found) == ["foreign_process", "power_cap"]


def test_of_several_devices_the_one_that_raised_it_is_named():
    gates = Gates(["GPU-1", "GPU-2"], [IDLE, IDLE], threads=8)
    (found,) = gates.judge("head", [ticks(), ticks(foreign_pids=[9])])
    assert found.reason.endswith("on GPU-2")


def test_a_changed_mode_ends_the_run_and_a_changed_limit_does_not():
    gates = Gates(["GPU-1"], [IDLE], threads=8)
    assert gates.changed_mode([ticks()]) is None
    assert gates.changed_mode([ticks(power_limit_w=250.0)]) is None
    assert (
        gates.changed_mode([ticks(mode=("mig disabled", "mig enabled"))]) == "mig disabled became mig enabled"
    )


def test_a_setting_that_a_driver_refused_to_tell_once_has_not_changed():
    gates = Gates(["GPU-1"], [IDLE], threads=8)
    once = ticks(mode=("mig disabled", "other", "mig disabled"))
    assert gates.changed_mode([once]) is None
    assert codes(gates.judge("head", [once])) == []


def test_the_link_of_an_idle_device_rests_and_is_no_gate():
    idle = {"util": 0.0, "pcie_gen": 1}
    assert raised(before=[ticks()], **idle) == []
