"""What the harness reports when measured code fails, and that one failure spoils nothing else."""

from __future__ import annotations

import signal

import pytest

from tests.unit.workers.harness_process import case, run_harness
from workers.protocol import CaseMeasurement

GOOD = "class BenchGood:\n    def run(self, ctx): pass\n"

RAISING = [
    ("def run(self, ctx): raise ValueError('bad input')", "failed", "run raised ValueError: bad input"),
    ("def run(self, ctx): sys.exit(3)", "failed", "run raised SystemExit: 3"),
    ("def run(self, ctx): raise KeyboardInterrupt", "failed", "run raised KeyboardInterrupt"),
    ("def run(self, ctx): raise MemoryError", "oom", "run raised MemoryError"),
    ("def run(self, ctx): bytearray(2**62)", "oom", "run raised MemoryError"),
    ("def run(self, ctx): self.run(ctx)", "failed", "run raised RecursionError"),
    ("def run(self): pass", "failed", "run raised TypeError"),
    ("def __init__(self): 1 / 0", "failed", "creating the benchmark raised ZeroDivisionError"),
    ("def setup(self, ctx): 1 / 0", "failed", "setup raised ZeroDivisionError"),
    ("def units(self, ctx): 1 / 0", "failed", "units raised ZeroDivisionError"),
    ("def teardown(self, ctx): 1 / 0", "failed", "teardown raised ZeroDivisionError"),
    ("def run(self, ctx): raise ValueError('\\udc80 \\0')", "failed", "run raised ValueError: ? \ufffd"),
    (
        "def run(self, ctx): raise Unprintable",
        "failed",
        "run raised bench_x.Unprintable: <",
    ),
    ("def run(self, ctx): raise SyntaxError('x', ('f', 3, 3, ['x']))", "failed", "run raised SyntaxError"),
]
NO_VALUES = [
    ("def run(self, ctx): ctx.report('loss', float('nan'), '1')", "'loss' is nan"),
    ("def run(self, ctx): ctx.report('loss', float('inf'), '1')", "'loss' is inf"),
    ("def run(self, ctx): ctx.report('loss', '3', '1')", "'loss' is no number but of type str"),
    ("def run(self, ctx): ctx.report('loss', None, '1')", "'loss' is no number but of type NoneType"),
    ("def run(self, ctx): ctx.report('loss', True, '1')", "'loss' is no number but of type bool"),
    ("def run(self, ctx): ctx.report('loss', 10**400, '1')", "'loss' is no number: OverflowError"),
    ("def run(self, ctx): ctx.report('latency_p50', 1, 's')", "'latency_p50' is measured anyway"),
    ("def run(self, ctx): ctx.report('', 1, 's')", "the name must be text"),
    ("def run(self, ctx): ctx.report('m', 1, None)", "the unit must be text"),
    ("def run(self, ctx): ctx.report('m', 1, 's', better='smaller')", "better is 'smaller'"),
    ("def run(self, ctx): ctx.report('m', 1, 's'); ctx.report('m', 1, 'ms')", "changes its unit"),
    ("def run(self, ctx): [ctx.report(str(i), 1, 's') for i in range(101)]", "'100' is one more than"),
    ("def run(self, ctx): swallow(lambda: ctx.report('loss', float('nan'), '1'))", "'loss' is nan"),
    ("def units(self, ctx): return [1]", "units returned a list, not a dict"),
    ("def units(self, ctx): return {'sample': 1}", "units has 'sample'; it may have samples"),
    ("def units(self, ctx): return {'samples': float('nan')}", "units['samples'] is nan"),
    ("def units(self, ctx): return {'samples': 'many'}", "units['samples'] is no number"),
    ("def units(self, ctx): return {'tokens': 1e308}", "the rate of tokens is inf"),
]
HELPERS = """
import sys

class Unprintable(Exception):
    def __str__(self): sys.exit(5)

def swallow(call):
    try: call()
    except ValueError: pass

class BenchGood:
    def run(self, ctx): pass
"""


@pytest.fixture(scope="module")
def after_failures(tmp_path_factory):
    """Return the records of one process by the body of the failing class; good cases stand between them."""
    bodies = [row[0] for row in RAISING + NO_VALUES]
    classes = [
        f"class Bench{i}:\n    run = lambda self, ctx: None\n    {body}\n" for i, body in enumerate(bodies)
    ]
    wanted = [
        case(name, t_case_s=0.01) for i in range(len(bodies)) for name in (f"x.Bench{i}", "x.BenchGood")
    ]
    answer = run_harness(
        tmp_path_factory.mktemp("checkout"), {"bench_x.py": HELPERS + "".join(classes)}, wanted
    )
    assert [record["status"] for record in answer.cases[1::2]] == ["ok"] * len(bodies)
    assert answer.status == 0
    return dict(zip(bodies, answer.cases[::2], strict=True))


@pytest.mark.parametrize(("body", "status", "reason"), RAISING)
def test_whatever_a_case_raises_fails_that_case_alone(after_failures, body, status, reason):
    bad = after_failures[body]
    CaseMeasurement.model_validate(bad)
    assert bad["status"] == status
    assert bad["reason"].startswith(reason)
    assert bad["log_tail"] != ""
    assert bad["values"] == []


@pytest.mark.parametrize(("body", "named"), NO_VALUES)
def test_what_is_no_value_fails_its_case_alone_and_is_named(after_failures, body, named):
    bad = after_failures[body]
    CaseMeasurement.model_validate(bad)
    assert bad["status"] == "failed"
    assert bad["reason"].startswith("invalid_value: ")
    assert named in bad["reason"]


def test_teardown_runs_after_a_failing_run_and_the_first_failure_is_reported(tmp_path):
    text = """
        def run(ctx): raise ValueError("first")
        def teardown(ctx):
            print("torn down")
            raise ValueError("second")
        """
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x")])
    assert answer.stdout == "torn down\n"
    assert answer.only_case["reason"] == "run raised ValueError: first"


def test_the_log_tail_begins_in_the_users_code_and_stays_short(tmp_path):
    short = "def run(ctx): raise ValueError('why')\n"
    long = "def run(ctx): raise ValueError('€' * 20_000)\n"
    answer = run_harness(tmp_path, {"bench_s.py": short, "bench_l.py": long}, [case("s"), case("l")])
    first, second = answer.cases
    assert "bench_s.py" in first["log_tail"].splitlines()[1]
    assert first["log_tail"].endswith("ValueError: why\n")
    assert len(second["log_tail"].encode()) <= 8192
    assert len(second["reason"]) <= 500


def test_cases_of_a_broken_file_fail_and_cases_that_do_not_exist_are_missing(tmp_path):
    files = {"bench_bad.py": "1 / 0\n", "bench_x.py": "params = {'n': [1]}\n" + GOOD + "def run(ctx): pass\n"}
    wanted = [case("bad"), case("x", {"n": 2}), case("x.BenchOther"), case("nowhere"), case("x", {"n": 1})]
    answer = run_harness(tmp_path, files, wanted)
    assert [record["status"] for record in answer.cases] == ["failed", "missing", "missing", "missing", "ok"]
    assert answer.cases[0]["reason"] == "import raised ZeroDivisionError: division by zero"
    assert answer.cases[1]["reason"] == 'there is no case x {"n": 2}'
    for record in answer.cases:
        CaseMeasurement.model_validate(record)


@pytest.mark.parametrize(
    ("death", "status"),
    [
        ("os._exit(9)", 9),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
    ],
)
def test_what_was_finished_before_the_process_dies_stays(tmp_path, death, status):
    text = f"import os\n{GOOD}class BenchDies:\n    def run(self, ctx): {death}\n"
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x.BenchGood"), case("x.BenchDies")])
    assert answer.status == status
    assert [record["benchmark"] for record in answer.cases] == ["x.BenchGood"]
    assert answer.of_type("end") == []


def test_a_deadly_signal_leaves_a_traceback_of_the_users_line(tmp_path):
    text = "import os\ndef run(ctx): os.abort()\n"
    assert "bench_x.py" in run_harness(tmp_path, {"bench_x.py": text}, [case("x")]).stderr


def test_results_survive_code_that_closes_or_takes_over_every_descriptor(tmp_path):
    text = """
        import os
        params = {"reopen": [False, True]}
        def run(ctx):
            os.closerange(3, 100)
            if ctx.params["reopen"]:
                for _ in range(20):
                    os.open("stolen.txt", os.O_CREAT | os.O_WRONLY)
        """
    cases = [case("x", {"reopen": False}), case("x", {"reopen": True})]
    answer = run_harness(tmp_path, {"bench_x.py": text}, cases)
    assert [record["status"] for record in answer.cases] == ["ok", "ok"]
    assert answer.lines[-1]["type"] == "end"
    assert (tmp_path / "stolen.txt").read_text() == ""


def test_code_that_changes_folder_and_path_does_not_reach_the_next_case(tmp_path):
    text = """
        import os, sys
        params = {"n": [1, 2]}
        def setup(ctx): print(os.path.basename(os.getcwd()) == os.path.basename(os.path.dirname(__file__)))
        def run(ctx):
            os.chdir("/")
            sys.path.clear()
        """
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x", {"n": 1}), case("x", {"n": 2})])
    assert answer.stdout.split() == ["True", "True"]
    assert [record["status"] for record in answer.cases] == ["ok", "ok"]


def test_a_forked_child_that_returns_from_run_writes_nothing(tmp_path):
    text = """
        import os
        forked = []
        def run(ctx):
            if not forked:
                forked.append(os.fork())
        def teardown(ctx):
            if forked[0]:
                os.waitpid(forked[0], 0)
        """
    answer = run_harness(tmp_path, {"bench_x.py": text}, [case("x")])
    assert answer.only_case["status"] == "ok"
    assert len(answer.of_type("end")) == 1


def test_thread_that_a_benchmark_left_does_not_hold_up_the_end(tmp_path):
    left = "import threading, time\ndef run(ctx):\n    threading.Thread(target=time.sleep, args=(600,)).start()\n"
    answer = run_harness(tmp_path, {"bench_x.py": left}, [case("x")])
    assert answer.status == 0
    assert answer.of_type("end")
