"""What the harness measures and reports when benchmarks do as they should."""

from __future__ import annotations

import statistics

import pytest

from tests.unit.workers.harness_process import case, run_harness
from workers.protocol import CaseMeasurement

RUN = "def run(ctx): pass\n"
SLEEP = "import time\ndef run(ctx): time.sleep(0.002)\n"


def value_of(record, metric):
    return next((value for value in record["values"] if value["metric"] == metric), None)


def test_a_measured_case_is_a_message_of_the_protocol(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": SLEEP}, [case("x")])
    measured = CaseMeasurement.model_validate(answer.only_case)
    assert (measured.status, measured.clock, measured.k) == ("ok", "host", 1)
    assert len(measured.batches.host_ns) == 10
    assert min(measured.batches.host_ns) >= 2_000_000
    assert measured.first_call_s is not None
    assert measured.first_call_s >= 0.002
    assert measured.n_warmup >= 5


def test_latency_is_the_median_batch_over_the_batch_size(tmp_path):
    record = run_harness(tmp_path, {"bench_x.py": RUN}, [case("x", k=8, n_warmup=5)]).only_case
    expected = statistics.median(record["batches"]["host_ns"]) / 8 / 1e9
    reported = value_of(record, "latency_p50")
    reported.pop("net")
    assert reported == {
        "metric": "latency_p50",
        "value": pytest.approx(expected),
        "unit": "s",
        "better": "lower",
        "kind": "sampled",
    }


def test_a_short_run_is_repeated_a_power_of_two_times_per_batch(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": RUN}, [case("x")])
    k = answer.only_case["k"]
    assert k > 1
    assert k & (k - 1) == 0


def test_a_planned_case_makes_exactly_the_calls_planned(tmp_path):
    counting = "calls = []\ndef run(ctx): calls.append(0)\ndef teardown(ctx): print(len(calls))\n"
    answer = run_harness(
        tmp_path, {"bench_x.py": counting}, [case("x", k=4, n_warmup=9, n_batches=7, t_case_s=2)]
    )
    assert answer.only_case["n_warmup"] == 9
    assert answer.only_case["k"] == 4
    assert len(answer.only_case["batches"]["host_ns"]) == 7
    assert answer.stdout.split() == [str(9 + 4 * 7)]


def test_an_iteration_longer_than_its_time_gives_one_batch_and_says_so(tmp_path):
    text = "import time\ndef run(ctx): time.sleep(0.15)\n"
    record = run_harness(tmp_path, {"bench_x.py": text}, [case("x", t_case_s=0.1)]).only_case
    assert len(record["batches"]["host_ns"]) == 1
    assert {"few_batches", "warmup_not_converged"} <= set(record["flags"])
    assert record["warmup_converged"] is False


def test_cases_are_measured_in_the_order_asked_for(tmp_path):
    files = {"bench_x.py": RUN + "params = {'n': [1, 2, 3]}\n", "bench_y.py": RUN}
    wanted = [case("x", {"n": 3}), case("y"), case("x", {"n": 1})]
    answer = run_harness(tmp_path, files, wanted)
    assert [(r["benchmark"], r["params"]) for r in answer.cases] == [
        ("x", {"n": 3}),
        ("y", {}),
        ("x", {"n": 1}),
    ]


def test_only_files_of_the_cases_asked_for_are_imported_and_each_once(tmp_path):
    files = {
        name: f"print({name!r})\n{RUN}params = {{'n': [1, 2]}}\n" for name in ("bench_x.py", "bench_y.py")
    }
    answer = run_harness(tmp_path, files, [case("x", {"n": 1}), case("x", {"n": 2})])
    assert answer.stdout.split() == ["bench_x.py"]


def test_run_gets_params_device_seed_and_what_setup_returned(tmp_path):
    text = """
        params = {"n": [5], "kind": ["a"]}
        def setup(ctx): return ["state"]
        def run(ctx): pass
        def teardown(ctx): print(ctx.params, ctx.device, ctx.seed, ctx.state)
        """
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x", {"kind": "a", "n": 5}, seed=77)])
    assert answer.stdout == "{'n': 5, 'kind': 'a'} cpu 77 ['state']\n"


def test_classes_are_created_anew_for_each_case(tmp_path):
    text = """
        class BenchX:
            params = {"n": [1, 2]}
            def __init__(self): print("new")
            def setup(self, ctx): self.calls = 0
            def run(self, ctx): self.calls += 1
            def teardown(self, ctx): print(self.calls > 0)
            @staticmethod
            def units(ctx): return {}
        """
    answer = run_harness(
        tmp_path, {"bench_x.py": text}, [case("x.BenchX", {"n": 1}), case("x.BenchX", {"n": 2})]
    )
    assert answer.stdout.split() == ["new", "True", "new", "True"]
    assert [record["status"] for record in answer.cases] == ["ok", "ok"]


def test_the_same_seed_gives_random_and_numpy_the_same_numbers_in_every_case(tmp_path):
    text = """
        import random, numpy
        params = {"n": [1, 2]}
        def setup(ctx): print(random.random(), numpy.random.random())
        def run(ctx): random.random()
        """
    cases = [case("x", {"n": 1}, seed=2**40), case("x", {"n": 2}, seed=2**40)]
    first, second = run_harness(tmp_path, {"bench_x.py": text}, cases).stdout.splitlines()
    assert first == second


def test_units_become_rates_over_the_whole_timed_part(tmp_path):
    text = RUN + "def units(ctx): return {'samples': 32, 'tokens': 0}\n"
    record = run_harness(tmp_path, {"bench_x.py": text}, [case("x", k=4, n_warmup=5)]).only_case
    host_ns = record["batches"]["host_ns"]
    samples = value_of(record, "samples_per_s")
    assert samples["value"] == pytest.approx(32 * 4 * len(host_ns) / (sum(host_ns) / 1e9))
    assert (samples["unit"], samples["better"]) == ("samples/s", "higher")
    assert value_of(record, "tokens_per_s")["value"] == 0


def test_own_metrics_are_the_median_over_the_timed_calls_only(tmp_path):
    text = """
        calls = 0
        def run(ctx):
            global calls
            calls += 1
            ctx.report("count", calls, "1", better="higher")
            ctx.report("loss", -0.5, "1")
        """
    record = run_harness(tmp_path, {"bench_x.py": text}, [case("x", k=1, n_warmup=6, n_batches=5)]).only_case
    assert value_of(record, "count") == {
        "metric": "count",
        "value": 9,  # calls 7 to 11
        "unit": "1",
        "better": "higher",
        "kind": "sampled",
    }
    assert value_of(record, "loss")["value"] == -0.5


def test_tail_quantiles_need_ten_batches_beyond_them_and_single_calls(tmp_path):
    fast = {"n_warmup": 5, "t_case_s": 2}
    files = {"bench_x.py": RUN + "params = {'n': [1, 2, 3, 4]}\n"}
    cases = [
        case("x", {"n": 1}, k=1, n_batches=99, **fast),
        case("x", {"n": 2}, k=1, n_batches=100, **fast),
        case("x", {"n": 3}, k=1, n_batches=1000, **fast),
        case("x", {"n": 4}, k=2, n_batches=1000, **fast),
    ]
    records = run_harness(tmp_path, files, cases).cases
    found = [[v["metric"] for v in r["values"] if v["metric"].startswith("latency_p9")] for r in records]
    assert found == [[], ["latency_p90"], ["latency_p90", "latency_p99"], []]
    assert ["tail_unavailable" in r["flags"] for r in records] == [True, True, False, True]


def test_peak_memory_is_that_of_the_case_and_not_of_the_case_before(tmp_path):
    text = """
        params = {"mb": [64, 1]}
        def run(ctx): bytearray(ctx.params["mb"] * 2**20)
        """
    cases = [case("x", {"mb": 64}), case("x", {"mb": 1})]
    answer = run_harness(tmp_path, {"bench_x.py": text}, cases)
    if "peak_memory_unavailable" in answer.cases[0]["flags"]:
        pytest.skip("this kernel does not let a process reset its peak memory")
    large, small = (value_of(record, "peak_memory") for record in answer.cases)
    assert large["value"] - small["value"] > 48 * 2**20
    assert (large["unit"], large["better"], large["kind"]) == ("B", "lower", "exact")
    assert answer.lines[-1]["mem_peak_rss_b"] >= large["value"]


def test_startup_is_the_time_from_the_spawn_to_the_first_run(tmp_path):
    text = "import time\ntime.sleep(0.2)\n" + RUN
    assert run_harness(tmp_path, {"bench_x.py": text}, [case("x")]).lines[-1]["startup_s"] > 0.2


def test_results_that_can_be_waited_for_are_waited_for_in_every_call(tmp_path):
    text = """
        class Future:
            waits = 0
            def block_until_ready(self): Future.waits += 1
        calls = 0
        def run(ctx):
            global calls
            calls += 1
            return Future()
        def teardown(ctx): print(calls, Future.waits)
        """
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x", k=2, n_warmup=5, n_batches=3)])
    assert answer.stdout.split() == ["11", "11"]


def test_trees_of_results_are_waited_for_by_jax_if_it_is_loaded(tmp_path):
    files = {
        "bench_x.py": """
            import jax
            def run(ctx): return {"loss": 1}
            def teardown(ctx): print(jax.waits)
            """,
        "jax.py": """
            waits = 0
            def block_until_ready(tree):
                global waits
                waits += 1
            """,
    }
    answer = run_harness(tmp_path, files, [case("x", k=2, n_warmup=5, n_batches=3)])
    assert answer.stdout.split() == ["11"]


FAKE_TORCH = """
    import time
    class cuda:
        left = {0: 0.0, 1: 0.0}   # seconds of work still queued on each device
        @staticmethod
        def is_initialized(): return True
        @staticmethod
        def device_count(): return 3
        @staticmethod
        def memory_reserved(device): return device < 2
        @staticmethod
        def synchronize(device=0):
            assert device < 2, "an unused device was started"
            time.sleep(cuda.left[device])
            cuda.left[device] = 0.0
    """


def test_queued_device_work_is_part_of_the_batch(tmp_path):
    text = "import torch\ndef run(ctx): torch.cuda.left[0] += 0.002\n"
    answer = run_harness(tmp_path, {"bench_x.py": text, "torch.py": FAKE_TORCH}, [case("x", k=2, n_warmup=3)])
    assert answer.only_case["status"] == "ok"
    assert min(answer.only_case["batches"]["host_ns"]) >= 4_000_000


def test_work_left_on_another_device_is_found_out(tmp_path):
    text = "import torch\ndef run(ctx): torch.cuda.left[1] += 0.01\n"
    answer = run_harness(tmp_path, {"bench_x.py": text, "torch.py": FAKE_TORCH}, [case("x", k=1, n_warmup=3)])
    assert (answer.only_case["status"], answer.only_case["reason"]) == ("failed", "not_synchronised")
    assert "synchronise" in answer.only_case["log_tail"]


def test_a_job_with_several_devices_waits_for_the_work_on_all_of_them(tmp_path):
    text = "import torch\ndef run(ctx): torch.cuda.left[1] += 0.002\n"
    wanted = [case("x", k=2, n_warmup=3)]
    files = {"bench_x.py": text, "torch.py": FAKE_TORCH}
    answer = run_harness(tmp_path, files, wanted, devices=["cuda:0", "cuda:1"])
    assert answer.only_case["status"] == "ok"
    assert min(answer.only_case["batches"]["host_ns"]) >= 4_000_000


def test_a_benchmark_is_told_of_every_device_of_its_job(tmp_path):
    text = "def run(ctx): pass\ndef teardown(ctx): print(ctx.device, ctx.devices)\n"
    wanted = [case("x", k=1, n_warmup=1, n_batches=1)]
    answer = run_harness(tmp_path, {"bench_x.py": text}, wanted, devices=["cuda:0", "cuda:1"])
    assert answer.stdout == "cuda:0 ['cuda:0', 'cuda:1']\n"


def test_peak_memory_leaves_out_what_an_earlier_case_kept(tmp_path):
    files = {
        "bench_hoard.py": "kept = []\ndef run(ctx):\n    kept or kept.append(bytearray(b'x' * 60_000_000))\n",
        "bench_small.py": "def run(ctx):\n    return sum(range(100))\n",
    }
    after = run_harness(tmp_path / "after", files, [case("hoard"), case("small")])
    alone = run_harness(tmp_path / "alone", files, [case("small")])
    if "peak_memory_unavailable" in alone.only_case["flags"]:
        pytest.skip("this kernel does not count peak memory anew")
    hoard, small = (value_of(record, "peak_memory")["value"] for record in after.cases)
    assert hoard > small + 50_000_000
    assert small == pytest.approx(value_of(alone.only_case, "peak_memory")["value"], rel=0.2)


def test_code_of_which_more_batches_are_timed_does_not_use_more_memory_by_that(tmp_path):
    """Kept as objects, 40 000 times are over a MiB, and a faster head would be blamed for it."""
    text = "params = {'n': [10, 100_000]}\ndef run(ctx): return sum(range(ctx.params['n']))\n"
    timed = {"k": 1, "n_warmup": 40_000, "n_batches": 40_000, "t_case_s": 0.5}
    fast, slow = (
        run_harness(tmp_path, {"bench_x.py": text}, [case("x", {"n": n}, **timed)]).only_case
        for n in (10, 100_000)
    )
    if "peak_memory_unavailable" in fast["flags"]:
        pytest.skip("this kernel does not count peak memory anew")
    assert fast["iterations"] > slow["iterations"] + 10_000
    more = value_of(fast, "peak_memory")["value"] - value_of(slow, "peak_memory")["value"]
    assert abs(more) < 512 * 1024
