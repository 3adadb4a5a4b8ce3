"""Each thing that a commit can do wrong ends as a status with a reason, and never ends the agent."""

import time
from pathlib import Path

import pytest

from tests.integration.worker.bench import ADD, SIMULATED, Repository, job, make_agent
from tests.integration.worker.service_double import ServiceDouble

GOOD = {"benchmarks/bench_add.py": ADD}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Environments are made from what this Python brings."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def run(repository, folder, base, head, *, device=SIMULATED, **suite):
    """Measure one block of a job and return the service that saw it."""
    service = ServiceDouble(job(repository, base, head, **suite))
    make_agent(service, folder, device=device).run()
    assert list((folder / "data/work").iterdir()) == []
    return service


def failures(report):
    return {case.benchmark: case.failure for case in report.cases}


# --- benchmarks ---

BAD = {
    "raises": ("raise ValueError('no weights')", "run raised ValueError: no weights"),
    "exits": ("os._exit(3)", "exit_code: it ended with exit status 3"),
    "kills_its_group": ("os.killpg(0, signal.SIGKILL)", "killed: it was ended by signal 9 (SIGKILL)"),
    "kills_its_keeper": (
        "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)",
        "killed: it was ended by signal 9 (SIGKILL)",
    ),
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "killed: it was ended by signal 11 (SIGSEGV)"),
    "reports_nan": ("ctx.report('x', float('nan'), unit='1')", "invalid_value: reported metric 'x' is nan"),
}
"""What `run` does, and the reason that is reported."""


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """A run of a commit on which all of `BAD` stand beside good benchmarks, and are measured though they fail."""
    folder = tmp_path_factory.mktemp("spoilt")
    bad = {
        f"benchmarks/bench_{name}.py": f"import os, signal, time\n\n\ndef run(ctx):\n    {body}\n"
        for name, (body, _) in BAD.items()
    }
    repository = Repository(folder / "repository")
    head = repository.commit(bad | GOOD | {"benchmarks/bench_zoo.py": ADD})
    service = ServiceDouble(job(repository, None, head), opens_failed=True)
    make_agent(service, folder).run()
    return service


@pytest.mark.parametrize("name", BAD)
def test_a_benchmark_that_fails_when_primed_is_listed_with_the_reason(spoilt, name):
    assert failures(spoilt.arm("head"))[name].startswith(BAD[name][1])


@pytest.mark.parametrize("name", BAD)
def test_a_benchmark_that_fails_when_measured_is_reported_with_the_reason(spoilt, name):
    found = [case for case in spoilt.measured() if case.benchmark == name]
    assert len(found) == 2
    assert all(case.status == "failed" and case.reason.startswith(BAD[name][1]) for case in found)


def test_benchmarks_that_fail_spoil_no_others(spoilt):
    good = [case for case in spoilt.measured() if case.benchmark in ("add", "zoo")]
    assert [case.status for case in good] == ["ok"] * 4
    assert spoilt.finish.outcome == "ok"


def test_an_invocation_in_which_a_process_died_says_so(spoilt):
    assert {invocation.status for invocation in spoilt.invocations} == {"failed"}
    assert all(invocation.reason and invocation.exit_code for invocation in spoilt.invocations)


def test_a_benchmark_that_hangs_is_stopped_and_the_rest_is_not_reached(repository, tmp_path):
    hang = "import time\n\n\ndef run(ctx):\n    time.sleep(3600)\n"
    tree = {"benchmarks/bench_hang.py": hang, **GOOD}
    service = run(repository, tmp_path, None, repository.commit(tree), timeout_s=2.0)
    found = failures(service.arm("head"))
    assert found["hang"] == "timeout: it ran for over 2 s and was stopped"
    assert found["add"] is None or found["add"].startswith("not_reached")


def test_a_hundred_megabytes_of_output_do_no_harm(repository, tmp_path):
    loud = "def setup(ctx):\n    for _ in range(100):\n        print('x' * 1024 * 1024)\n\n\n" + ADD
    tree = {"benchmarks/bench_loud.py": loud}
    service = run(repository, tmp_path, None, repository.commit(tree))
    assert {case.status for case in service.measured()} == {"ok"}
    assert service.finish.outcome == "ok"


def test_endless_output_is_no_way_around_the_time_limit(repository, tmp_path):
    loud = "def run(ctx):\n    while True:\n        print('x' * 65536)\n"
    tree = {"benchmarks/bench_loud.py": loud}
    service = run(repository, tmp_path, None, repository.commit(tree), timeout_s=1.0)
    assert failures(service.arm("head"))["loud"].startswith("timeout")


def test_a_file_that_cannot_be_imported_fails_as_the_cases_of_the_other_arm(repository, tmp_path):
    bench = "import code_under_test\nparams = {'n': [1, 2]}\n\n\n" + ADD
    base = repository.commit({"benchmarks/bench_a.py": bench, "code_under_test.py": "", **GOOD})
    head = repository.commit(
        {"benchmarks/bench_a.py": bench, "code_under_test.py": "import nothing_like_this\n", **GOOD}
    )
    service = run(repository, tmp_path, base, head)

    bad = [case for case in service.arm("head").cases if case.benchmark == "a"]
    assert [case.params for case in bad] == [{"n": 1}, {"n": 2}]
    assert all("ModuleNotFoundError" in case.failure for case in bad)
    assert {case.benchmark for case in service.measured()} == {"add"}


def test_a_file_that_ends_the_process_when_imported_fails_alone(repository, tmp_path):
    tree = {"benchmarks/bench_exits.py": "import os\nos._exit(7)\n", **GOOD}
    service = run(repository, tmp_path, None, repository.commit(tree))
    found = failures(service.arm("head"))
    assert found.pop("exits").startswith("exit_code: it ended with exit status 7")
    assert found == {"add": None}


@pytest.mark.parametrize(
    ("ends", "reason"),
    [("import os\nos._exit(0)\n", "exited: "), ("import time\ntime.sleep(600)\n", "timeout: ")],
    ids=["with status 0", "never"],
)
def test_what_comes_after_a_file_that_cannot_be_listed(repository, tmp_path, ends, reason):
    """After one that ends the process the others are listed; one that hangs takes the time of those behind it."""
    tree = {"benchmarks/bench_b_bad.py": ends, "benchmarks/bench_a.py": ADD, "benchmarks/bench_c.py": ADD}
    begun = time.monotonic()
    service = run(repository, tmp_path, None, repository.commit(tree), timeout_s=3.0)
    found = failures(service.arm("head"))
    assert found.pop("b_bad").startswith(reason)
    if reason == "timeout: ":
        assert found.pop("c").startswith("not_reached: ")
        assert 3 <= service.prepared.device_s <= time.monotonic() - begun
    assert set(found.values()) == {None}


def test_a_commit_without_benchmarks_says_what_was_looked_for(repository, tmp_path):
    service = run(repository, tmp_path, repository.commit(GOOD), repository.commit({"readme": ""}))
    assert service.arm("head").status == "list_failed"
    assert "'benchmarks/bench_*.py'" in service.arm("head").reason
    assert [case.benchmark for case in service.arm("base").own_cases] == ["add"]
    assert (service.finish.outcome, service.finish.reason) == ("bench_failed", "list_failed")


def test_a_benchmark_that_is_a_link_out_of_the_repository_is_refused(repository, tmp_path):
    (tmp_path / "secret.py").write_text(ADD)
    (repository.path / "benchmarks").mkdir()
    (repository.path / "benchmarks/bench_link.py").symlink_to("../../secret.py")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "link")
    service = run(repository, tmp_path, None, repository.git("rev-parse", "HEAD"))
    assert service.arm("head").reason.startswith("unsafe_path: the benchmark file benchmarks/bench_link.py")


# --- commands ---


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exit 3", "exit_code: it ended with exit status 3"),
        ("no-such-program", "exit_code: it ended with exit status 127"),
        ('echo "{" >> "$RATCHET_RESULT_FILE"', "result_parse_error: line 1"),
        (
            'echo \'{"metric": "x", "value": NaN, "unit": "1", "better": "lower"}\' >> "$RATCHET_RESULT_FILE"',
            "invalid_value: line 1: x is nan",
        ),
    ],
)
def test_a_command_that_fails_is_a_failed_case(repository, tmp_path, command, reason):
    head = repository.commit({"readme": ""})
    service = run(repository, tmp_path, None, head, name="serving", command=command)
    assert failures(service.arm("head"))["serving"].startswith(reason)


def test_a_command_that_leaves_children_behind_leaves_none(repository, tmp_path):
    pid = tmp_path / "pid"
    command = (
        f"""setsid sh -c 'echo $$ > "{pid}"; sleep 3600' & while [ ! -s "{pid}" ]; do sleep 0.01; done"""
    )
    service = run(repository, tmp_path, None, repository.commit({"readme": ""}), command=command)
    assert {case.values[0].metric for case in service.measured()} == {"wall_time"}
    assert not Path("/proc", pid.read_text().strip()).exists()


def test_an_output_outside_of_the_repository_is_refused(repository, tmp_path):
    service = run(
        repository, tmp_path, None, repository.commit({"x": ""}), command="true", output="../../x.json"
    )
    assert (service.finish.reason, service.finish.retryable) == ("bad_output", False)


# --- commits ---


@pytest.mark.parametrize("arm", ["base", "head"])
def test_an_arm_that_does_not_build_is_reported_and_the_other_is_still_listed(repository, tmp_path, arm):
    good, bad = GOOD | {"build.sh": "true\n"}, GOOD | {"build.sh": "echo no compiler >&2\nexit 9\n"}
    trees = {"base": good, "head": good, arm: bad}
    base, head = repository.commit(trees["base"]), repository.commit(trees["head"])
    service = run(repository, tmp_path, base, head, setup=["sh build.sh"])

    broken, whole = service.arm(arm), service.arm({"base": "head", "head": "base"}[arm])
    assert (broken.status, broken.cases) == ("build_failed", [])
    assert broken.reason == "exit_code: it ended with exit status 9: set-up command 'sh build.sh'"
    assert "no compiler" in broken.log_tail
    assert (whole.status, [case.benchmark for case in whole.cases]) == ("ok", ["add"])
    assert service.finish.outcome == "ok"


@pytest.mark.parametrize("unknown", ["0123456789" * 4, "main", "--upload-pack=touch x"])
def test_a_revision_that_does_not_exist_is_reported(repository, tmp_path, unknown):
    service = run(repository, tmp_path, repository.commit(GOOD), unknown)
    assert service.arm("head").status == "checkout_failed"
    assert unknown in service.arm("head").reason
    assert service.arm("base").status == "ok"


def test_two_unknown_revisions_end_the_job_as_the_benchmarks_failure(repository, tmp_path):
    repository.commit(GOOD)
    service = run(repository, tmp_path, "1" * 40, "2" * 40)
    assert [report.status for report in service.prepared.arms] == ["checkout_failed"] * 2
    assert (service.finish.outcome, service.finish.reason) == ("bench_failed", "checkout_failed")


def test_a_repository_that_is_none_is_a_fault_that_no_other_try_mends(repository, tmp_path):
    (tmp_path / "empty").mkdir()
    spec = job(repository, "1" * 40, "2" * 40)
    source = spec.source.model_copy(update={"location": str(tmp_path / "empty")})
    service = ServiceDouble(spec.model_copy(update={"source": source}))
    make_agent(service, tmp_path).run()
    finish = service.finish
    assert (finish.outcome, finish.reason, finish.retryable) == (
        "infra_failed",
        "repository_unreadable",
        False,
    )
    assert str(tmp_path / "empty") in finish.message


def spoil_objects(folder):
    for path in [path for path in folder.rglob("objects/??/*") if path.is_file()] + list(
        folder.rglob("*.pack")
    ):
        path.chmod(0o644)
        path.write_bytes(b"garbage")


def test_a_corrupt_repository_is_a_fault_with_its_reason(repository, tmp_path):
    head = repository.commit(GOOD)
    spoil_objects(repository.path)
    service = run(repository, tmp_path, None, head)
    assert (service.finish.outcome, service.finish.reason) == ("infra_failed", "repository_unreadable")
    assert service.finish.log_tail


def test_a_corrupt_mirror_is_made_anew(repository, tmp_path):
    head = repository.commit(GOOD)
    assert run(repository, tmp_path, None, head).finish.outcome == "ok"
    spoil_objects(tmp_path / "data/mirrors")
    assert run(repository, tmp_path, None, head).finish.outcome == "ok"


# --- simulated faults ---


@pytest.mark.parametrize(("kind", "status"), [("crash", "failed"), ("hang", "timeout")])
def test_a_simulated_fault_strikes_the_arm_and_pair_that_it_names(repository, tmp_path, kind, status):
    device = SIMULATED | {"faults": [{"kind": kind, "arm": "head", "pair": 1}]}
    base, head = repository.commit(GOOD), repository.commit(GOOD | {"x": ""})
    service = run(repository, tmp_path, base, head, device=device, timeout_s=2.0)
    statuses = {(post.arm, post.pair_index): post.status for post in service.invocations}
    assert statuses == {("base", 0): "ok", ("head", 0): "ok", ("base", 1): "ok", ("head", 1): status}


def test_a_simulated_slowdown_is_measured(repository, tmp_path):
    device = SIMULATED | {"noise_sd": 0.0, "faults": [{"kind": "slow", "factor": 1.5, "arm": "head"}]}
    base, head = repository.commit(GOOD), repository.commit(GOOD | {"x": ""})
    service = run(repository, tmp_path, base, head, device=device)
    medians = {arm: service.measured(arm)[0].values[0].value for arm in ("base", "head")}
    assert medians["head"] / medians["base"] == pytest.approx(1.5)
