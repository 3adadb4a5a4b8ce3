"""The harness's arithmetic: quantiles, spikes, batch sizes, and when a warm-up is over."""

from __future__ import annotations

import itertools
import random
import statistics
from types import SimpleNamespace

import pytest

from workers import harness

MS = 1_000_000
LEDGER = harness.Ledger(room=20_000)


class Scripted:
    """A workload whose calls take scripted times, without spending any."""

    def __init__(self, calls_ns):
        self._calls = iter(calls_ns)

    def batch(self, k):
        return lambda: sum(itertools.islice(self._calls, k))


@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [5.0, 1.0, 4.0, 2.0]])
def test_median_agrees_with_the_standard_library(values):
    assert harness.median(values) == statistics.median(values)


def test_quantiles_are_linear_between_order_statistics():
    values = list(range(101))
    assert harness.quantile(values, 0.9) == pytest.approx(90)
    assert harness.quantile([0, 10], 0.99) == pytest.approx(9.9)
    assert harness.quantile(values, 0.9) == pytest.approx(
        statistics.quantiles(values, n=10, method="inclusive")[-1]
    )


def test_a_level_noisy_window_is_settled_and_a_trend_is_not():
    draw = random.Random(1)
    level = [draw.gauss(100, 1) for _ in range(40)]
    assert harness.is_settled(level)
    assert not harness.is_settled([value + 2 * index for index, value in enumerate(level)])


@pytest.mark.parametrize(("shift", "settled"), [(0.5, True), (0.6, False)])
def test_without_noise_half_a_percent_is_the_limit(shift, settled):
    window = [100.0] * 21 + [100.0 + shift] * 19
    assert harness.is_settled(window) is settled


def test_the_noise_limit_is_two_standard_errors_of_a_half():
    # Alternating ±2 around 100: deviation 2, so the limit is 2 · 1.2533 · 1.4826 · 2 / √20 = 1.662.
    def halves(shift):
        older = [98.0, 102.0] * 10
        return older + [value + shift for value in older]

    assert harness.is_settled(halves(1.6))
    assert not harness.is_settled(halves(1.7))


def test_spikes_are_marked_beyond_ten_robust_deviations():
    values = [99, 100, 101] * 10 + [115, 114]
    assert harness.spikes(values) == [30]  # limit: 10 · 1.4826 · 1


def test_equal_values_use_one_percent_of_the_median_as_deviation():
    assert harness.spikes([100] * 10 + [114, 116, 84]) == [11, 12]


@pytest.mark.parametrize(
    ("call_ns", "k"), [(1, 65536), (50, 1024), (12_500, 4), (49_999, 2), (50_000, 1), (10**9, 1)]
)
def test_batch_size_is_the_smallest_power_of_two_that_lasts_a_thousand_steps_of_the_timer(call_ns, k):
    assert harness.batch_size(call_ns, resolution_ns=50) == k


def test_a_steady_workload_is_warm_after_one_window():
    warm = harness.find_warm_up(Scripted(itertools.repeat(MS)), 0.1, 100, LEDGER)
    # Four calls to reach five, then 25 batches: a quarter of 0.1 s.
    assert warm == harness.WarmUp(k=1, calls=5 + 25, spent_ns=29 * MS, converged=True)


def test_a_workload_that_is_slow_at_first_is_run_until_it_has_settled():
    calls = itertools.chain([10 * MS] * 15, itertools.repeat(MS))
    warm = harness.find_warm_up(Scripted(calls), 2.0, 100, LEDGER)
    assert warm.converged
    assert warm.calls > 15


def test_a_drifting_workload_gives_up_after_twice_its_time():
    calls = (MS + 20_000 * index for index in itertools.count())
    warm = harness.find_warm_up(Scripted(calls), 0.1, 100, LEDGER)
    assert not warm.converged
    assert 200 * MS <= warm.spent_ns < 210 * MS


def test_a_drifting_workload_gives_up_after_ten_windows():
    batch = Scripted(MS * (1 + index % 400) for index in itertools.count()).batch(1)
    times, converged = harness._run_until_settled(batch, 0.0, 10**15, LEDGER)
    assert (len(times), converged) == (200, False)


def test_a_slow_workload_stops_warming_when_its_time_is_over():
    warm = harness.find_warm_up(Scripted(itertools.repeat(1000 * MS)), 0.1, 100, LEDGER)
    assert warm == harness.WarmUp(k=1, calls=2, spent_ns=1000 * MS, converged=False)


def test_batches_are_sized_for_the_warm_code_and_not_for_its_first_calls():
    calls = itertools.chain([MS] * 10, itertools.repeat(1000))
    assert harness.find_warm_up(Scripted(calls), 0.1, 100, LEDGER).k == 128


def test_a_repeated_warm_up_makes_the_calls_found_necessary():
    warm = harness.repeat_warm_up(Scripted(itertools.repeat(MS)), 4, 20, 10**12, LEDGER)
    assert warm == harness.WarmUp(k=4, calls=21, spent_ns=20 * MS, converged=True)


def test_a_repeated_warm_up_that_is_cut_short_says_whether_it_had_settled():
    steady = harness.repeat_warm_up(Scripted(itertools.repeat(MS)), 1, 10_000, 50 * MS, LEDGER)
    assert (steady.calls, steady.converged) == (51, True)
    too_short = harness.repeat_warm_up(Scripted(itertools.repeat(MS)), 1, 10_000, 10 * MS, LEDGER)
    assert (too_short.calls, too_short.converged) == (11, False)


def test_timing_stops_with_the_batches_or_with_the_time_but_not_before_one():
    assert harness.time_batches(lambda: 5, 3, 10**12, LEDGER).host_ns.tolist() == [5, 5, 5]
    assert harness.time_batches(lambda: 5, 3, 0, LEDGER).host_ns.tolist() == [5]


def counted(monkeypatch, *readings, is_alone=True):
    """Have the kernel count this at each look: processor time [ns], times slept, times interrupted; then no more."""
    said = itertools.chain(readings, itertools.repeat(readings[-1]))
    monkeypatch.setattr(harness, "OtherWork", lambda: SimpleNamespace(is_none=lambda: is_alone))
    monkeypatch.setattr(harness.Preemption, "_read", staticmethod(lambda: next(said)))


@pytest.mark.parametrize(
    ("slept", "interrupted", "net_ns"),
    [(0, 1, [200]), (0, 0, [500]), (1, 1, [500])],
    ids=["interrupted", "neither", "slept, too"],
)
def test_a_batch_that_was_interrupted_and_has_not_slept_lost_what_it_did_not_compute(
    monkeypatch, slept, interrupted, net_ns
):
    counted(monkeypatch, (1000, 0, 0), (1200, slept, interrupted))
    batches = harness.time_batches(lambda: 500, 1, 10**12, LEDGER)
    assert (list(batches.host_ns), list(batches.net_ns)) == ([500], net_ns)
    assert batches.is_interrupted is (net_ns == [200])


def test_an_interruption_beside_a_batch_takes_nothing_of_it(monkeypatch):
    counted(monkeypatch, (1000, 0, 0), (1501, 0, 1))
    assert harness.time_batches(lambda: 500, 1, 10**12, LEDGER).net_ns.tolist() == [500]


@pytest.mark.parametrize(("cpu_ns", "net_ns"), [(500, [50, 400, 50, 50]), (50, [50, 1, 50, 50])])
def test_what_short_batches_lost_between_two_looks_was_lost_by_the_longest_of_them(
    monkeypatch, cpu_ns, net_ns
):
    monkeypatch.setattr(harness, "LOOK_EVERY_NS", 10**12)
    counted(monkeypatch, (1000, 0, 0), (1050, 0, 0), (1050 + cpu_ns, 0, 1))
    times = iter([50, 1350, 50, 50])
    assert harness.time_batches(lambda: next(times), 4, 10**12, LEDGER).net_ns == net_ns


def test_what_a_program_lost_that_does_other_work_cannot_be_told(monkeypatch):
    counted(monkeypatch, (1000, 0, 0), (1200, 0, 1), is_alone=False)
    batches = harness.time_batches(lambda: 500, 1, 10**12, LEDGER)
    assert (batches.net_ns, batches.is_interrupted) == (None, True)


def test_children_that_end_without_account_are_other_work(monkeypatch):
    monkeypatch.setattr(harness, "has_relatives", lambda: False)
    monkeypatch.setattr(harness.OtherWork, "_used_ns", staticmethod(lambda: 0))
    assert harness.OtherWork().is_none()
    monkeypatch.setattr(harness.signal, "getsignal", lambda _: harness.signal.SIG_IGN)
    assert not harness.OtherWork().is_none()


def timing_of(host_ns, wait_ns, *, is_alone):
    batches = harness.Batches(host_ns, wait_ns, is_alone)
    return harness.Timing("host", 1, harness.WarmUp(1, 5, 0, True), batches)


@pytest.mark.parametrize(
    ("is_alone", "net"), [(True, {"latency_p50": 2e-6, "samples_per_s": 5e5}), (False, {})]
)
def test_values_of_times_come_with_and_without_the_time_of_other_programs(is_alone, net):
    timing = timing_of([5000, 5000], [3000, 3000], is_alone=is_alone)
    values = {v["metric"]: v for v in harness.estimates(timing, 10**6, {"samples": 1})}
    assert values["latency_p50"]["value"] == pytest.approx(5e-6)
    assert values["samples_per_s"]["value"] == pytest.approx(2e5)
    assert {m: v["net"] for m, v in values.items() if v.get("net") is not None} == pytest.approx(net)
    assert values["peak_memory"]["value"] == 10**6


def test_many_reports_are_thinned_evenly_and_keep_their_median():
    reports = harness.Reports()
    for value in range(100_000):
        reports.add("m", value, "1")
    (value,) = reports.values()
    assert value["value"] == pytest.approx(50_000, rel=0.01)


def test_numbers_of_other_libraries_count_as_numbers():
    numpy = pytest.importorskip("numpy")
    assert harness.finite_number(numpy.float32(0.5), "x") == 0.5
    with pytest.raises(harness.InvalidValueError, match="x is no number"):
        harness.finite_number(numpy.array([1.0, 2.0]), "x")


def test_of_very_many_batches_some_are_kept_evenly(monkeypatch):
    monkeypatch.setattr(harness, "MAX_KEPT_BATCHES", 10)
    kept = harness._batches(harness.Batches(list(range(1, 26)), [], is_alone=True))
    assert (kept["host_ns"], kept["thinned"]) == ([1, 4, 7, 10, 13, 16, 19, 22, 25], 3)
    few = harness._batches(harness.Batches([5, 6], [1, 0], is_alone=True))
    assert (few["host_ns"], few["wait_ns"], few["thinned"]) == ([5, 6], [1, 0], 1)
