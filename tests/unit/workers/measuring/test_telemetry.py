"""Readings beside an invocation: taken, summed up, packed, turned into energy."""

import base64
import json
import threading
import zlib

import pytest

from workers.measuring.energy import energy_j, mean_power_w
from workers.measuring.sampling import Sampler, _thin, packed
from workers.measuring.telemetry_summary import rise, summarise
from workers.measuring.watching import Watched
from workers.readings.record import tick

SECOND = 1_000_000_000


class Counting:
    """A device that counts how often it is read; `stuck` makes the next reading wait until it is set."""

    def __init__(self):
        self.reads = 0
        self.stuck = None
        self.enough = threading.Event()

    def reading(self):
        self.reads += 1
        if self.reads >= 4:
            self.enough.set()
        if self.stuck is not None and self.reads > 1:
            self.stuck.wait(20)
        return tick(t_ns=self.reads, temp_c=40.0 + self.reads)


class QuietHost:
    def look(self):
        return {"host_cpu_foreign": 0.25, "host_steal": None}


def test_a_device_is_read_before_during_and_after():
    device = Counting()
    sampler = Sampler([device], QuietHost(), period_s=0.005)
    sampler.start()
    assert device.reads >= 1
    assert device.enough.wait(10)
    (ticks,) = sampler.stop()
    assert [one["t_ns"] for one in ticks] == list(range(1, len(ticks) + 1))
    assert len(ticks) >= 4
    assert device.reads == len(ticks)


def test_what_is_not_told_is_left_out_and_the_host_is_told_along():
    sampler = Sampler([Counting()], QuietHost(), period_s=60)
    sampler.start()
    (ticks,) = sampler.stop()
    assert ticks[0] == {"t_ns": 1, "temp_c": 41.0, "host_cpu_foreign": 0.25}


def test_a_device_that_hangs_costs_readings_and_not_the_invocation(monkeypatch):
    monkeypatch.setattr("workers.measuring.sampling.LONGEST_WAIT_S", 0.05)
    device = Counting()
    device.stuck = threading.Event()
    sampler = Sampler([device], QuietHost(), period_s=0.001)
    sampler.start()
    (ticks,) = sampler.stop()
    assert len(ticks) == 1
    device.stuck.set()


def test_a_long_invocation_keeps_its_ends_and_every_second_reading(monkeypatch):
    monkeypatch.setattr("workers.measuring.sampling.MOST_TICKS", 8)
    device = Counting()
    sampler = Sampler([device], QuietHost(), period_s=0.0005)
    sampler.start()
    while device.reads < 40:
        threading.Event().wait(0.001)
    (ticks,) = sampler.stop()
    moments = [one["t_ns"] for one in ticks]
    assert len(moments) <= 9
    assert moments == sorted(moments)
    assert moments[0] == 1
    assert moments[-1] == device.reads


def test_readings_are_packed_as_columns_and_what_never_changes_is_told_once():
    rows = [{"t_ns": 1, "temp_c": 40.0, "pcie_gen": 4}, {"t_ns": 2, "pcie_gen": 4}]
    unpacked = json.loads(zlib.decompress(base64.b64decode(packed([rows]))))
    assert unpacked == [{"t_ns": [1, 2], "temp_c": [40.0, None], "pcie_gen": [4]}]


def test_a_summary_has_the_ends_of_gauges_the_rises_of_counters_and_the_shares_of_reasons():
    rows = [
        {"t_ns": 0, "temp_c": 40.0, "energy_j_total": 10.0, "throttle_reasons": ["idle"]},
        {"t_ns": SECOND, "temp_c": 44.0, "energy_j_total": 15.0, "throttle_reasons": ["power_cap"]},
        {"t_ns": 2 * SECOND, "temp_c": 42.0, "energy_j_total": 30.0, "foreign_pids": [7], "mode": "maxn"},
    ]
    summary = summarise(rows)
    assert (summary["n"], summary["span_s"]) == (3, 2.0)
    assert summary["gauges"] == {"temp_c": [40.0, 42.0, 44.0]}
    assert summary["counters"] == {"energy_j_total": 20.0}
    assert summary["throttle"] == {"power_cap": 0.5}
    assert (summary["foreign_pids"], summary["mode"]) == ([7], "maxn")
    assert "power_w" in summary["unavailable"]
    assert "temp_c" not in summary["unavailable"]


def test_a_counter_that_was_set_back_has_no_rise():
    assert rise([{"energy_j_total": v} for v in (5.0, 9.0, 2.0)], "energy_j_total") is None
    assert rise([{"energy_j_total": 5.0}], "energy_j_total") is None


def counter(*joules):
    return [{"t_ns": i * SECOND, "energy_j_total": value} for i, value in enumerate(joules)]


def test_energy_is_the_counter_between_two_moments_interpolated():
    assert energy_j([counter(0, 100, 300)], (SECOND // 2, 3 * SECOND // 2)) == pytest.approx(150.0)
    assert energy_j([counter(0, 100, 300)], (0, 2 * SECOND)) == pytest.approx(300.0)


def test_energy_of_several_devices_is_their_sum_and_none_if_one_is_silent():
    assert energy_j([counter(0, 100), counter(0, 50)], (0, SECOND)) == pytest.approx(150.0)
    assert energy_j([counter(0, 100), [{"t_ns": 0}, {"t_ns": SECOND}]], (0, SECOND)) is None


def test_outside_the_readings_no_energy_is_told():
    assert energy_j([counter(0, 100)], (0, 2 * SECOND)) is None
    assert energy_j([counter(0, 100)], (-1, SECOND)) is None
    assert energy_j([[]], (0, SECOND)) is None


def test_without_a_counter_power_is_summed_over_time():
    rows = [{"t_ns": i * SECOND, "power_w": watts} for i, watts in enumerate((100.0, 200.0, 200.0))]
    assert energy_j([rows], (0, 2 * SECOND)) == pytest.approx(350.0)
    assert mean_power_w([rows]) == pytest.approx(500 / 3)


def test_a_counter_that_was_set_back_gives_way_to_power():
    rows = [{**one, "power_w": 100.0} for one in counter(90, 100, 5)]
    assert energy_j([rows], (0, 2 * SECOND)) == pytest.approx(200.0)


def watched(*raised):
    from workers.measuring.gates import Raised

    return Watched([[]], [Raised(gate, is_hard, "words") for gate, is_hard in raised])


def test_a_hard_gate_voids_whatever_the_control_says():
    assert watched(("ecc", True)).void_reason(None) == "ecc: words"
    assert watched(("ecc", True), ("thermal", False)).void_reason(0.0) == "ecc: words"


@pytest.mark.parametrize("deviation", [None, 0.0, 0.015, -0.015])
def test_a_soft_gate_alone_voids_nothing(deviation):
    assert watched(("power_cap", False)).void_reason(deviation) is None


@pytest.mark.parametrize("deviation", [0.016, -0.3])
def test_a_soft_gate_voids_where_the_control_moved_too(deviation):
    reason = watched(("thermal", False)).void_reason(deviation)
    assert reason.startswith("thermal: words; the control workload beside it was")


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ([], "host_cpu: words"),
        ([("host_steal", True)], "host_steal: words"),
        ([("foreign_process", True)], "foreign_process: words"),
        ([("thermal", False)], "thermal: words; the control workload beside it was +3.0% off"),
    ],
)
def test_a_busy_processor_which_spoils_only_some_values_is_told_last(others, reason):
    assert watched(("host_cpu", True), *others).void_reason(0.03) == reason


def test_the_control_alone_voids_nothing():
    assert watched().void_reason(0.5) is None


def test_what_a_thinned_reading_saw_is_kept_by_its_neighbour():
    rows = [{"t_ns": i} for i in range(6)]
    rows[3] |= {"foreign_pids": [7], "throttle_reasons": ["hw_brake"]}
    _thin(rows)
    assert [row["t_ns"] for row in rows] == [0, 2, 4, 5]
    assert rows[1] == {"t_ns": 2, "foreign_pids": [7], "throttle_reasons": ["hw_brake"]}


def test_raw_readings_that_are_too_long_to_send_are_sent_half_as_often(monkeypatch):
    rows = [{"t_ns": i, "power_w": 1.1**i} for i in range(64)]
    monkeypatch.setattr("workers.measuring.sampling.LONGEST_PACKED", len(packed([rows])) - 1)
    (columns,) = json.loads(zlib.decompress(base64.b64decode(packed([rows]))))
    assert columns["t_ns"] == list(range(0, 64, 2))


def test_over_a_long_silence_no_energy_is_told():
    rows = [{"t_ns": i * SECOND, "energy_j_total": 10.0 * i} for i in (0, 1, 5, 6)]
    assert energy_j([rows], (0, 6 * SECOND)) is None
    assert energy_j([rows], (0, SECOND)) == pytest.approx(10.0)
