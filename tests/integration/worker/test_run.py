"""A lease from the claim to the finish, on real repositories and processes."""

import base64
import json
import re
import subprocess
import zlib

import pytest

from tests.integration.worker.bench import (
    ADD,
    SIMULATED,
    Repository,
    agent_on,
    job,
    make_agent,
    make_cpu_agent,
    simulated,
)
from tests.integration.worker.service_double import ServiceDouble, confirmed
from workers.lease.spool import Spool

BENCH = {"benchmarks/bench_add.py": ADD}


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "a repository")


def run(repository, folder, base, head, *, blocks=1, device=SIMULATED, **suite):
    """Measure one job on a simulated device and return the service that saw it."""
    service = ServiceDouble(job(repository, base, head, **suite), blocks=blocks)
    make_agent(service, folder, device=device).run()
    return service


# --- two good commits ---


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A run of two good commits on a hot device, over two blocks; `folder` is its agent's."""
    folder = tmp_path_factory.mktemp("good run")
    repository = Repository(folder / "a repository")
    base, head = (repository.commit(BENCH | {"version": version}) for version in ("1", "2"))
    service = run(
        repository, folder, base, head, blocks=2, device=SIMULATED | {"telemetry": {"temp_c": 60.0}}
    )
    service.folder = folder
    return service


def test_commits_are_measured_in_interleaved_pairs(good):
    posted = good.invocations
    assert len(posted) == 8
    for block in (posted[:4], posted[4:]):
        assert "".join(invocation.arm[0] for invocation in block) in ("bhhb", "hbbh")
        assert [invocation.position for invocation in block] == [0, 1, 2, 3]
        assert [invocation.block_complete for invocation in block] == [False, False, False, True]
    assert [invocation.pair_index for invocation in posted] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert good.keys == [f"7/{invocation.pair_index}/{invocation.arm}/1" for invocation in posted]


def test_both_arms_of_a_pair_have_one_seed(good):
    first, second, third = good.invocations[:3]
    assert first.seed == second.seed != third.seed


def test_every_case_is_measured_in_every_invocation(good):
    assert [(case.benchmark, case.status, case.clock) for case in good.measured()] == [
        ("add", "ok", "simulated")
    ] * 8
    assert {case.values[0].metric for case in good.measured()} == {"latency_p50"}
    assert good.finish.outcome == "ok"


def test_the_plan_of_a_case_is_fixed_after_the_first_block(good):
    later = [case for invocation in good.invocations[4:] for case in invocation.cases]
    assert len({(case.k, len(case.batches.host_ns)) for case in later}) == 1


def test_the_service_is_told_what_there_is_before_the_first_pair(good):
    prepared = good.prepared
    assert [report.arm for report in prepared.arms] == ["base", "head"]
    assert prepared.machine_hash == good.registered[0].devices[0].machine_hash
    assert 0 < prepared.device_s < good.invocations[-1].device_s <= good.finish.device_s
    (case,) = good.arm("head").cases
    assert (case.benchmark, case.params, case.failure) == ("add", {}, None)
    assert len(case.file_digest) == 64
    assert [metric.metric for metric in case.metrics] == ["latency_p50"]
    assert "python" in good.arm("base").software


def test_every_invocation_says_how_it_was_taken(good):
    invocation = good.invocations[0]
    assert invocation.flags == []
    (told,) = invocation.telemetry
    assert told["gauges"]["temp_c"] == [60.0, 60.0, 60.0]
    assert (invocation.void, invocation.gates) == (False, [])
    (ticks,) = json.loads(zlib.decompress(base64.b64decode(invocation.ticks)))
    assert ticks["temp_c"] == [60.0]
    assert len(ticks["t_ns"]) == told["n"]
    assert invocation.fingerprint_hash == good.prepared.machine_hash
    assert invocation.harness_version
    assert (invocation.exit_code, invocation.status, invocation.log_tail) == (0, "ok", "")
    assert invocation.startup_s > 0


def test_people_can_see_what_the_agent_is_doing(good):
    order = ["preparing", "checking_out", "building", "priming", "measuring", "finishing"]
    phases = [str(beat.phase) for beat in good.beats]
    assert phases == sorted(phases, key=order.index)
    assert good.measuring.is_set()


def test_nothing_of_a_run_stays_but_mirror_and_environment(good):
    data = good.folder / "data"
    assert list((data / "work").iterdir()) == []
    assert Spool(data / "spool").pending() == []
    assert len(list((data / "mirrors").iterdir())) == 1
    assert len(list((data / "environments").iterdir())) == 1


# --- devices that do not rest ---

HOT = SIMULATED | {"between": [{"temp_c": 50.0}, {"temp_c": 70.0}]}
"""Warm at the start of the second invocation and ever after."""


def test_an_invocation_on_a_device_that_stays_hot_is_taken_and_flagged(repository, tmp_path):
    base, head = repository.commit(BENCH), repository.commit(BENCH | {"x": ""})
    service = ServiceDouble(job(repository, base, head))
    devices = simulated(tmp_path, HOT)
    agent_on(service.client(), tmp_path, devices, longest_settle_s=0.01).run()
    assert ["temp_not_equalised" in posted.flags for posted in service.invocations] == [
        False,
        True,
        True,
        False,  # half of the starts were hot by then, and hot is usual
    ]


def test_a_job_that_is_cancelled_while_it_waits_for_its_device_ends_at_once(repository, tmp_path):
    base, head = repository.commit(BENCH), repository.commit(BENCH | {"x": ""})
    crowded = SIMULATED | {"telemetry": {"foreign_pids": [7]}}
    service = ServiceDouble(job(repository, base, head), heartbeat_s=0.1)
    service.heartbeat = lambda _: confirmed(cancel=service.measuring.is_set())
    devices = simulated(tmp_path, crowded)
    agent_on(service.client(), tmp_path, devices, longest_settle_s=3600.0).run()
    assert (service.finish.outcome, service.invocations) == ("cancelled", [])


# --- other jobs ---


def test_both_arms_run_heads_benchmark_files_against_their_own_code(repository, tmp_path):
    old = {"benchmarks/bench_add.py": ADD, "benchmarks/bench_old.py": ADD, "code.py": "WHAT = 'base'\n"}
    new = {
        "benchmarks/bench_add.py": "params = {'n': [1, 2]}\n" + ADD,
        "benchmarks/bench_code.py": "import code\n\n\ndef run(ctx):\n    raise ValueError(code.WHAT)\n",
        "code.py": "WHAT = 'head'\n",
    }
    service = run(repository, tmp_path, repository.commit(old), repository.commit(new))

    base, head = service.arm("base"), service.arm("head")
    for report in (base, head):
        assert [(case.benchmark, case.params) for case in report.cases] == [
            ("add", {"n": 1}),
            ("add", {"n": 2}),
            ("code", {}),
        ]
        assert f"ValueError: {report.arm}" in report.cases[2].failure
    assert [(case.benchmark, case.params) for case in base.own_cases] == [("add", {}), ("old", {})]
    assert base.own_cases[0].file_digest != base.cases[0].file_digest
    assert head.own_cases == []


def test_a_forks_benchmark_files_are_not_used(repository, tmp_path):
    base = repository.commit(BENCH)
    head = repository.commit(
        {"benchmarks/bench_add.py": "raise SystemExit(1)\n", "benchmarks/bench_x.py": ADD}
    )
    service = ServiceDouble(job(repository, base, head).model_copy(update={"benchmarks_from": "base"}))
    make_agent(service, tmp_path).run()
    assert [case.benchmark for case in service.arm("head").cases] == ["add"]
    assert {case.status for case in service.measured("head")} == {"ok"}


def test_a_case_that_only_head_has_is_measured_on_head_alone_and_not_for_ever(repository, tmp_path):
    head = repository.commit(BENCH)
    service = run(repository, tmp_path, None, head, blocks=100)
    assert [report.arm for report in service.prepared.arms] == ["head"]
    assert [invocation.arm for invocation in service.invocations] == ["head"] * 4
    assert [invocation.block_complete for invocation in service.invocations] == [False, True, False, True]
    assert service.finish.outcome == "ok"


def test_no_block_is_begun_that_would_not_fit_into_the_device_time(repository, tmp_path):
    base, head = repository.commit({"x": "1"}), repository.commit({"x": "2"})
    spec = job(repository, base, head, command="sleep 0.4")
    service = ServiceDouble(spec.model_copy(update={"budget_s": 5.0}), blocks=100)
    make_agent(service, tmp_path).run()
    assert [invocation.block for invocation in service.invocations] == [0] * 4 + [1] * 4
    assert (service.finish.outcome, service.finish.reason) == ("ok", "device_time_left")
    assert re.fullmatch(
        r"a block takes about [\d.]+ s, and [\d.]+ of 5 s of device time are left", service.finish.message
    )


def test_benchmarks_with_parameters_and_metrics_of_their_own_are_measured_on_the_processor(
    repository, tmp_path
):
    source = """
        params = {"n": [10, 1000]}

        def setup(ctx):
            return list(range(ctx.params["n"]))

        def run(ctx):
            ctx.report("total", sum(ctx.state), unit="1")

        def units(ctx):
            return {"samples": ctx.params["n"]}
    """
    tree = {"bench/bench_total.py": "\n".join(line[8:] for line in source.splitlines())}
    base, head = repository.commit(tree), repository.commit(tree | {"note": "changed"})
    service = ServiceDouble(job(repository, base, head, benchmarks=["**/bench_*.py"]))
    make_cpu_agent(service, tmp_path).run()

    assert service.finish.outcome == "ok"
    assert [case.params for case in service.arm("head").cases] == [{"n": 10}, {"n": 1000}]
    metrics = {metric.metric for metric in service.arm("head").cases[0].metrics}
    assert {"latency_p50", "samples_per_s", "total"} <= metrics
    totals = {value.value for case in service.measured() for value in case.values if value.metric == "total"}
    assert totals == {45.0, 499500.0}
    assert {case.clock for case in service.measured()} == {"host"}
    assert all(case.batches.host_ns for case in service.measured())


def test_a_command_that_writes_nothing_is_measured_by_its_wall_time(repository, tmp_path):
    base, head = (repository.commit({"pause": pause}) for pause in ("0.05", "0.3"))
    folder = tmp_path / "an agent's own"
    folder.mkdir()
    service = run(repository, folder, base, head, name="sleepy", command="sleep $(cat pause)")

    (case,) = service.arm("head").cases
    assert (case.benchmark, [metric.metric for metric in case.metrics]) == ("sleepy", ["wall_time"])
    times = {arm: [case.values[0].value for case in service.measured(arm)] for arm in ("base", "head")}
    assert min(times["base"]) >= 0.05
    assert min(times["head"]) >= 0.3


def test_a_command_finds_an_empty_home_and_may_do_with_it_as_it_likes(repository, tmp_path):
    script = """
        found=$(ls -A "$HOME" | wc -l)
        mkdir "$HOME/start"
        printf '{"metric": "found", "value": %s, "unit": "1", "better": "lower"}\\n' "$found" >> "$RATCHET_RESULT_FILE"
    """
    base, head = repository.commit({"script": script}), repository.commit({"script": script, "x": ""})
    service = run(repository, tmp_path, base, head, command="sh script")
    assert [value.value for case in service.measured() for value in case.values] == [0.0] * 4


@pytest.mark.parametrize(("metric", "primed"), [("cold_start_s", 0.0), ("start_s", 1.0)])
def test_caches_are_empty_in_each_invocation_of_a_suite_with_a_cold_metric_and_primed_in_others(
    repository, tmp_path, metric, primed
):
    script = f"""
        found=$(ls -d "$TRITON_CACHE_DIR" 2>/dev/null | wc -l)
        mkdir -p "$TRITON_CACHE_DIR"
        printf '{{"metric": "{metric}", "value": %s, "unit": "s", "better": "lower"}}\\n' "$found"
    """
    base, head = repository.commit({"script": script}), repository.commit({"script": script, "x": ""})
    service = run(repository, tmp_path, base, head, command='sh script >> "$RATCHET_RESULT_FILE"')
    values = [value.value for case in service.measured() for value in case.values]
    assert values == [primed] * 4


def test_a_command_reports_metrics_through_the_file_that_it_is_told(repository, tmp_path):
    line = '{"metric": "rate", "value": %s, "unit": "1/s", "better": "higher", "params": {"n": 1}}\n'
    base, head = (repository.commit({"line": line % value}) for value in (10, 20))
    service = run(repository, tmp_path, base, head, command='cat line line >> "$RATCHET_RESULT_FILE"')
    assert [case.params for case in service.arm("base").cases] == [{"n": 1}]
    assert {case.values[0].value for case in service.measured("head")} == {20.0}


def test_a_command_may_write_into_a_file_of_the_work_tree(repository, tmp_path):
    line = '{"metric": "rate", "value": 3, "unit": "1/s", "better": "higher"}'
    base, head = repository.commit({"line": line}), repository.commit({"line": line, "x": ""})
    service = run(
        repository, tmp_path, base, head, command="cat line > out/result.json", output="out/result.json"
    )
    assert {case.values[0].value for case in service.measured()} == {3.0}


def test_commits_from_an_uploaded_bundle_are_measured(repository, tmp_path):
    base, head = repository.commit(BENCH), repository.commit(BENCH | {"x": ""})
    repository.git("bundle", "create", str(tmp_path / "bundle"), "main")
    digest = "ab" * 32
    spec = job(repository, base, head)
    source = spec.source.model_copy(update={"kind": "bundle", "location": digest})
    service = ServiceDouble(spec.model_copy(update={"source": source}))
    service.bundles[digest] = (tmp_path / "bundle").read_bytes()
    make_agent(service, tmp_path).run()
    assert service.finish.outcome == "ok"
    assert len(service.invocations) == 4


def test_measured_code_sees_its_repository_and_none_of_the_agents_secrets(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("RATCHET_TOKEN", "secret")
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    script = """
        say() { printf '{"metric": "%s", "value": %s, "unit": "1", "better": "lower"}\\n' "$1" "$2"; }
        say secrets "$(env | grep -c ^RATCHET_TOKEN)"
        say tags "$(git describe --tags | grep -c v1)"
        say agent "$(python -c 'import httpx' 2>&1 | grep -c No.module)"
    """
    base = repository.commit({"script": script})
    repository.git("tag", "v1")
    head = repository.commit({"script": script, "x": ""})
    service = run(repository, tmp_path, base, head, command='sh script >> "$RATCHET_RESULT_FILE"')
    values = {(value.metric, value.value) for case in service.measured() for value in case.values}
    assert values == {("secrets", 0.0), ("tags", 1.0), ("agent", 1.0)}


def test_a_repository_whose_history_is_cut_off_is_measured(repository, tmp_path):
    for version in ("1", "2", "3"):
        head = repository.commit(BENCH | {"version": version})
    repository.git("clone", "--quiet", "--depth", "2", f"file://{repository.path}", str(tmp_path / "shallow"))
    base = repository.git("rev-parse", "HEAD~1")
    spec = job(repository, base, head)
    source = spec.source.model_copy(update={"location": str(tmp_path / "shallow")})
    service = ServiceDouble(spec.model_copy(update={"source": source}))
    make_agent(service, tmp_path).run()
    assert service.finish.outcome == "ok"


def test_submodules_are_checked_out(repository, tmp_path):
    library = Repository(tmp_path / "library")
    library.commit({"line": '{"metric": "x", "value": 5, "unit": "1", "better": "lower"}'})
    first = repository.commit({"readme": ""})
    repository.git("submodule", "--quiet", "add", "../library", "lib")
    repository.git("commit", "--quiet", "--message", "submodule")
    head = repository.git("rev-parse", "HEAD")
    service = run(repository, tmp_path, first, head, command='cat lib/line >> "$RATCHET_RESULT_FILE"')
    assert {case.values[0].value for case in service.measured("head")} == {5.0}


def test_a_repository_of_another_user_can_be_measured(repository, tmp_path):
    base, head = repository.commit(BENCH), repository.commit(BENCH | {"x": ""})
    done = subprocess.run(
        ["chown", "-R", "12345:12345", str(repository.path)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("only root can give a repository to another user")
    assert run(repository, tmp_path, base, head).finish.outcome == "ok"
