"""The simulated device kind: drawn times, reproducible, and faults on order."""

from __future__ import annotations

import math
import statistics
import subprocess

import pytest

from tests.unit.workers.harness_process import case, read_lines, run_harness

TEN_MS = "def run(ctx): print('ran')\ndef simulated_s(ctx): return 0.01\n"


def device(**changes):
    return {"noise_sd": 0.01, "drift": 0.0, "seed": 7, "faults": [], **changes}


def script(arm="base", pair=0, **changes):
    return {"arm": arm, "pair": pair, "devices": [device(**changes)]}


def times(tmp_path, *, n_batches=30, text=TEN_MS, **changes):
    return times_on(tmp_path, script(**changes), n_batches=n_batches, text=text)


def times_on(tmp_path, simulate, *, n_batches=30, text=TEN_MS):
    wanted = [case("x", k=1, n_warmup=1, n_batches=n_batches)]
    answer = run_harness(tmp_path, {"bench_x.py": text}, wanted, simulate=simulate)
    return answer.only_case["batches"]["host_ns"]


def test_equal_scripts_draw_equal_times_and_each_part_of_the_script_matters(tmp_path):
    first = times(tmp_path)
    assert times(tmp_path) == first
    assert times(tmp_path, seed=8) != first
    assert times(tmp_path, pair=1) != first
    assert times(tmp_path, arm="head") != first


def test_times_scatter_around_the_nominal_one_with_the_given_noise(tmp_path):
    logs = [math.log(ns / 1e7) for ns in times(tmp_path, n_batches=2000)]
    assert statistics.fmean(logs) == pytest.approx(0, abs=0.001)
    assert statistics.stdev(logs) == pytest.approx(0.01, rel=0.1)


def test_drift_moves_every_pair_by_the_same_factor(tmp_path):
    assert set(times(tmp_path, noise_sd=0.0, drift=0.1, pair=3)) == {round(1e7 * math.exp(0.3))}


def test_the_code_really_runs_once_and_no_time_is_spent(tmp_path):
    text = "def run(ctx): print('ran')\ndef simulated_s(ctx): return 3600.0\n"
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x")], simulate=script())
    record = answer.only_case
    assert answer.stdout == "ran\n"
    assert (record["status"], record["clock"], record["k"]) == ("ok", "simulated", 1)
    assert record["values"][0]["value"] == pytest.approx(3600, rel=0.02)
    assert "peak_memory_unavailable" in record["flags"]


def test_without_a_declared_time_the_one_call_is_the_nominal_time(tmp_path):
    text = "import time\ndef run(ctx): time.sleep(0.05)\n"
    assert min(times(tmp_path, text=text, noise_sd=0.0)) >= 5e7


def test_a_short_simulated_run_gets_a_batch_size(tmp_path):
    text = "def run(ctx): pass\ndef simulated_s(ctx): return 1e-5\n"
    record = run_harness(tmp_path, {"bench_x.py": text}, [case("x")], simulate=script()).only_case
    assert record["k"] == 128  # 1 ms at least


@pytest.mark.parametrize(("factor", "batches"), [(1.0, 550), (2.0, 275)])
def test_a_case_is_drawn_for_as_long_as_it_is_to_be_timed_at_least(tmp_path, factor, batches):
    wanted = [{**case("x", k=1, n_warmup=1, n_batches=30), "least_s": 5.5}]
    faults = [{"kind": "slow", "factor": factor}]
    simulate = script(noise_sd=0.0, faults=faults)
    record = run_harness(tmp_path, {"bench_x.py": TEN_MS}, wanted, simulate=simulate).only_case
    assert record["batches"]["host_ns"] == [round(1e7 * factor)] * batches


@pytest.mark.parametrize("result", ["0", "-1", "float('nan')", "'fast'"])
def test_a_nominal_time_that_is_none_fails_the_case(tmp_path, result):
    text = f"def run(ctx): pass\ndef simulated_s(ctx): return {result}\n"
    record = run_harness(tmp_path, {"bench_x.py": text}, [case("x")], simulate=script()).only_case
    assert record["status"] == "failed"
    assert "simulated_s" in record["reason"]


def test_code_that_raises_fails_on_a_simulated_device_too(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": "def run(ctx): 1 / 0\n"}, [case("x")], simulate=script())
    assert answer.only_case["reason"] == "run raised ZeroDivisionError: division by zero"


def test_a_slow_fault_multiplies_the_time_of_its_arm_and_pair_only(tmp_path):
    fault = {"kind": "slow", "factor": 2.0, "arm": "head", "pair": 1}
    scripted = {"noise_sd": 0.0, "faults": [fault]}
    assert set(times(tmp_path, arm="head", pair=1, **scripted)) == {20_000_000}
    assert set(times(tmp_path, arm="base", pair=1, **scripted)) == {10_000_000}
    assert set(times(tmp_path, arm="head", pair=2, **scripted)) == {10_000_000}


def test_a_fault_without_arm_or_pair_strikes_everywhere(tmp_path):
    assert set(times(tmp_path, noise_sd=0.0, faults=[{"kind": "slow", "factor": 3.0}])) == {30_000_000}


def test_devices_in_step_take_as_long_as_the_slowest_of_them_in_each_batch(tmp_path):
    alone = [times(tmp_path, seed=seed) for seed in (7, 8)]
    together = times_on(tmp_path, script() | {"devices": [device(seed=7), device(seed=8)]})
    assert together == [max(pair) for pair in zip(*alone, strict=True)]
    assert together not in alone


def test_a_fault_of_one_device_slows_or_stops_all(tmp_path):
    slow = device(noise_sd=0.0, faults=[{"kind": "slow", "factor": 2.0}])
    two = script() | {"devices": [device(noise_sd=0.0), slow]}
    assert set(times_on(tmp_path, two)) == {20_000_000}
    crash = script() | {"devices": [device(), device(faults=[{"kind": "crash"}])]}
    assert run_harness(tmp_path, {"bench_x.py": TEN_MS}, [case("x")], simulate=crash).status == 70


def test_a_crash_fault_ends_the_process_with_status_70(tmp_path):
    faults = [{"kind": "crash", "arm": "head"}]
    answer = run_harness(
        tmp_path, {"bench_x.py": TEN_MS}, [case("x")], simulate=script(arm="head", faults=faults)
    )
    assert answer.status == 70
    assert [line["type"] for line in answer.lines] == ["header"]


def test_a_hang_fault_never_ends(tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        run_harness(
            tmp_path,
            {"bench_x.py": TEN_MS},
            [case("x")],
            simulate=script(faults=[{"kind": "hang"}]),
            timeout_s=1.5,
        )
    assert [line["type"] for line in read_lines(tmp_path / "result of this test.jsonl")] == ["header"]
