"""What benchmarks and cases the harness finds in benchmark files, and what it says of files that are wrong."""

from __future__ import annotations

import hashlib

import pytest

from tests.unit.workers.harness_process import HARNESS, case, run_harness
from workers.protocol import CaseListing

RUN = "def run(ctx): pass\n"


def names(answer):
    return [case["benchmark"] for case in answer.cases]


def test_params_give_the_product_of_their_axes_in_declared_order(tmp_path):
    text = RUN + 'params = {"size": [2, 1], "dtype": ["fp32", None]}\n'
    answer = run_harness(tmp_path, {"bench_x.py": text})
    assert [case["params"] for case in answer.cases] == [
        {"size": 2, "dtype": "fp32"},
        {"size": 2, "dtype": None},
        {"size": 1, "dtype": "fp32"},
        {"size": 1, "dtype": None},
    ]
    assert [list(case["params"]) for case in answer.cases] == [["size", "dtype"]] * 4


def test_listed_cases_are_messages_of_the_protocol(tmp_path):
    answer = run_harness(tmp_path, {"benchmarks/bench_x.py": RUN})
    listing = CaseListing.model_validate(answer.only_case)
    assert listing.metrics[0].metric == "latency_p50"
    assert listing.file_digest == hashlib.sha256(RUN.encode()).hexdigest()
    assert answer.only_case["file"] == "benchmarks/bench_x.py"


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"bench_x.py": "import os\n\n" + RUN}, 3),
        ({"bench_x.py": "class BenchA:\n    n = 1\n\n    def run(self, ctx): pass\n"}, 4),
        ({"bench_x.py": "\nfrom work import run\n", "work.py": "\n\n" + RUN}, 1),
        ({"bench_x.py": "\nimport functools\n\nrun = functools.partial(print, 1)\n"}, 1),
    ],
)
def test_a_benchmark_is_told_with_the_line_where_its_run_begins(tmp_path, files, line):
    assert CaseListing.model_validate(run_harness(tmp_path, files).only_case).line == line


def test_header_identifies_the_harness_and_end_closes_the_file(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": RUN})
    version = hashlib.sha256(HARNESS.read_bytes()).hexdigest()[:12]
    assert answer.lines[0]["type"] == "header"
    assert answer.lines[0]["harness_version"] == version
    assert 0 < answer.lines[0]["timer_resolution_s"] < 1
    assert answer.lines[-1]["type"] == "end"
    assert answer.status == 0


def test_classes_beside_a_module_level_run_are_benchmarks_of_their_own(tmp_path):
    text = RUN + "class BenchB:\n  def run(self, ctx): pass\nclass BenchA(BenchB): pass\nclass Other: pass\n"
    assert names(run_harness(tmp_path, {"bench_x.py": text})) == ["x", "x.BenchB", "x.BenchA"]


def test_imported_classes_and_functions_are_helpers_and_no_benchmarks(tmp_path):
    files = {
        "bench_x.py": """
            from subprocess import run
            from shared import BenchBase

            class BenchOwn(BenchBase):
                pass
            """,
        "shared.py": "class BenchBase:\n    def run(self, ctx): pass\n",
    }
    assert names(run_harness(tmp_path, files)) == ["x.BenchOwn"]


def test_an_imported_run_without_classes_is_the_benchmark(tmp_path):
    files = {"bench_x.py": "from work import run\n", "work.py": RUN}
    assert names(run_harness(tmp_path, files)) == ["x"]


def test_files_import_their_neighbours_and_never_the_agents_modules(tmp_path):
    files = {
        "benchmarks/bench_x.py": "import helper, queue\nassert queue.Queue\nrun = helper.work\n",
        "benchmarks/helper.py": "def work(ctx): pass\n",
    }
    answer = run_harness(tmp_path, files)
    assert (names(answer), answer.failures) == (["x"], [])


def test_what_files_print_stays_out_of_the_results(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": RUN + 'print(\'{"type": "case"}\')\n'})
    assert names(answer) == ["x"]
    assert answer.stdout == '{"type": "case"}\n'


def test_a_simulated_device_declares_no_memory(tmp_path):
    quiet = {"noise_sd": 0, "drift": 0, "seed": 1, "faults": [], "arm": "base", "pair": 0}
    answer = run_harness(tmp_path, {"bench_x.py": RUN}, simulate=quiet)
    assert [metric["metric"] for metric in answer.only_case["metrics"]] == ["latency_p50"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "import raised ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "import raised SystemExit: 3"),
        ("def run(ctx:", "import raised SyntaxError"),
        (
            "import no_such_module_here",
            "import raised ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("", "neither run(ctx) nor a class"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_failure_and_the_others_are_listed(tmp_path, text, reason):
    answer = run_harness(tmp_path, {"bench_bad.py": text, "bench_good.py": RUN})
    (failure,) = answer.failures
    assert (failure["file"], failure["benchmark"]) == ("bench_bad.py", None)
    assert reason in failure["reason"]
    assert names(answer) == ["good"]


def test_the_traceback_of_an_import_begins_in_the_users_file(tmp_path):
    answer = run_harness(tmp_path, {"bench_bad.py": "def f():\n    raise ValueError('no')\nf()\n"})
    traceback = answer.failures[0]["traceback"]
    assert "bench_bad.py" in traceback.splitlines()[1]
    assert "harness.py" not in traceback


def test_values_that_are_equal_in_python_but_not_in_json_are_different_cases(tmp_path):
    answer = run_harness(tmp_path, {"bench_x.py": RUN + "params = {'n': [1, 1.0, True]}\n"})
    assert [repr(case["params"]["n"]) for case in answer.cases] == ["1", "1.0", "True"]


BAD = [
    ("params = [1, 2]", "must be a dict of lists, not list"),
    ("params = {'n': 3}", "params['n'] must be a list, not int"),
    ("params = {'n': 'abc'}", "params['n'] must be a list, not str"),
    ("params = {'n': []}", "params['n'] is empty"),
    ("params = {'n': [[1]]}", "params['n'] has a list"),
    ("params = {'n': [float('nan')]}", "params['n'] has nan"),
    ("params = {'n': [1, 2, 1]}", "params['n'] has 1 twice"),
    ("params = {'n': ['a\\0']}", "params['n'] has 'a\\x00'"),
    ("params = {3: [1]}", "has the key 3"),
    ("params = {'a': list(range(1001))}", "give 1001 cases; at most 1000"),
    ("params = {'a': list(range(32)), 'b': list(range(32))}", "give 1024 cases; at most 1000"),
    ("run = None", "has no function run(ctx)"),
    ("async def run(self, ctx): pass", "coroutine or generator"),
    ("def run(self, ctx): yield", "coroutine or generator"),
    ("setup = 3", "setup must be a function"),
]


@pytest.fixture(scope="module")
def failures_by_body(tmp_path_factory):
    """Return the reason why each class is refused; all of them stand in one file, with a good benchmark."""
    text = RUN
    for index, (body, _) in enumerate(BAD):
        text += f"class Bench{index}:\n    run = lambda self, ctx: None\n    {body}\n"
    answer = run_harness(tmp_path_factory.mktemp("checkout"), {"bench_x.py": text})
    assert names(answer) == ["x"]
    reasons = {failure["benchmark"]: failure["reason"] for failure in answer.failures}
    return {body: reasons[f"x.Bench{index}"] for index, (body, _) in enumerate(BAD)}


@pytest.mark.parametrize(("body", "named"), BAD)
def test_a_bad_benchmark_is_refused_saying_what_is_wrong(failures_by_body, body, named):
    assert named in failures_by_body[body]


def test_two_files_of_one_name_are_refused_naming_both(tmp_path):
    answer = run_harness(tmp_path, {"a/bench_x.py": RUN, "b/bench_x.py": RUN})
    (failure,) = answer.failures
    assert failure["file"] == "b/bench_x.py"
    assert "'x' is taken by a/bench_x.py" in failure["reason"]
    assert names(answer) == ["x"]


def test_the_documented_example_lists_and_measures_as_documented(tmp_path):
    text = (HARNESS.parents[1] / "docs" / "benchmark-files.md").read_text()
    example = text.partition("```python\n")[2].partition("```")[0]
    files = {
        "benchmarks/bench_resize.py": example,
        "benchmarks/vision.py": "def resize(images, size): return images\n",
    }
    listed = run_harness(tmp_path, files).cases
    assert [one["params"] for one in listed] == [
        {"batch": 1, "dtype": "float32"},
        {"batch": 1, "dtype": "uint8"},
        {"batch": 32, "dtype": "float32"},
        {"batch": 32, "dtype": "uint8"},
    ]
    measured = run_harness(tmp_path, files, [case("resize", listed[0]["params"])]).only_case
    assert {"latency_p50", "samples_per_s"} <= {value["metric"] for value in measured["values"]}


def test_a_file_name_with_a_dot_is_refused(tmp_path):
    (failure,) = run_harness(tmp_path, {"bench_a.b.py": RUN}).failures
    assert "bench_NAME.py" in failure["reason"]
