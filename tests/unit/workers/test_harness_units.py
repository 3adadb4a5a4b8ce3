"""What a benchmark says that a call works off, and what becomes of it."""

import pytest

from tests.unit.workers.harness_process import case, run_harness
from workers import harness

WORK = "def run(ctx):\n    sum(range(100))\n\n\ndef units(ctx):\n    return {units}\n"


def answer(tmp_path, units, **wanted):
    return run_harness(tmp_path, {"bench_x.py": WORK.replace("{units}", units)}, [case("x", **wanted)])


def test_work_is_told_with_the_case_and_rates_follow_from_it(tmp_path):
    told = answer(tmp_path, '{"samples": 4, "flop": 2e9, "bytes": 1e6, "dtype": "bf16"}').only_case
    assert told["units"] == {"samples": 4, "flop": 2e9, "bytes": 1e6}
    assert told["dtype"] == "bf16"
    values = {value["metric"]: value["value"] for value in told["values"]}
    assert values["samples_per_s"] > 0
    assert not {"flop_per_s", "bytes_per_s"} & values.keys()


def test_calls_and_their_window_are_told(tmp_path):
    told = answer(tmp_path, "{}").only_case
    assert told["iterations"] == told["k"] * len(told["batches"]["host_ns"])
    begin, end = told["window_ns"]
    assert sum(told["batches"]["host_ns"]) <= end - begin


def test_a_parameter_called_dtype_says_what_is_computed_in(tmp_path):
    files = {"bench_x.py": 'params = {"dtype": ["fp16"]}\n' + WORK.replace("{units}", "{}")}
    told = run_harness(tmp_path, files, [case("x", params={"dtype": "fp16"})]).only_case
    assert told["dtype"] == "fp16"


def test_scaling_is_told_and_its_mode_is_asked_for(tmp_path):
    whole = '{"scaling": {"mode": "strong", "n": 8, "n0": 1, "base_s": 0.8}}'
    told = answer(tmp_path, whole).only_case
    assert told["scaling"] == {"mode": "strong", "n": 8, "n0": 1, "base_s": 0.8}
    assert "scaling_mode_missing" not in told["flags"]
    told = answer(tmp_path, '{"scaling": {"n": 8, "n0": 1, "base_s": 0.8}}').only_case
    assert "scaling_mode_missing" in told["flags"]


@pytest.mark.parametrize(
    ("units", "problem"),
    [
        ('{"colour": 1}', "units has 'colour'; it may have samples, tokens, flop, bytes, dtype, scaling"),
        ('{"dtype": 16}', "units['dtype'] is 16"),
        ('{"scaling": {"mode": "wide"}}', "'wide', not 'strong' or 'weak'"),
        ('{"scaling": 8}', "units['scaling'] is 8"),
        ('{"flop": float("nan")}', "units['flop']"),
        ("[1]", "units returned a list, not a dict"),
    ],
)
def test_units_that_say_something_else_fail_the_case(tmp_path, units, problem):
    told = answer(tmp_path, units).only_case
    assert told["status"] == "failed"
    assert problem in told["reason"]


def test_a_case_is_timed_for_as_long_as_it_is_told_at_least():
    ticks = iter(range(0, 10**12, 1_000_000))
    timed = harness.time_batches(
        lambda: next(ticks) and 1, 3, 10**12, harness.Ledger(20_000), least_ns=5_000_000
    )
    begin, end = timed.window_ns
    assert end - begin >= 5_000_000
    assert len(timed.host_ns) > 3


def test_the_longest_time_gives_way_to_the_least():
    timed = harness.time_batches(lambda: 1, 1, 0, harness.Ledger(), least_ns=2_000_000)
    begin, end = timed.window_ns
    assert end - begin >= 2_000_000


def test_counting_operations_needs_torch():
    context = harness.Context({}, ["cpu"], 0, harness.Reports())
    with pytest.raises(harness.InvalidValueError, match="was not imported"):
        context.count_flop(lambda: None)


COUNTER = """
class FlopCounterMode:
    def __init__(self, display):
        assert display is False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get_total_flops(self):
        import torch

        return torch.worked
"""
COUNTED = """
import torch

def run(ctx):
    torch.worked += 1024

def units(ctx):
    torch.worked = 0
    return {"flop": ctx.count_flop(lambda: run(ctx)), "dtype": "fp32"}
"""


def test_operations_are_counted_over_one_call_by_torchs_own_counter(tmp_path):
    files = {
        "bench_x.py": COUNTED,
        "torch/__init__.py": "worked = 0\n",
        "torch/utils/__init__.py": "",
        "torch/utils/flop_counter.py": COUNTER,
    }
    told = run_harness(tmp_path, files, [case("x")]).only_case
    assert told["units"]["flop"] == 1024
