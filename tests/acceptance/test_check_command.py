"""`ratchet check` as a user meets it: verdicts, exit statuses, files, refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.acceptance.conftest import Check
from tests.factories.repository import SETTINGS, SPIN, ToyRepository

pytestmark = pytest.mark.postgres

BENCH = "benchmarks/bench_spin.py"
PATIENT = SETTINGS.format(device_minutes=1.0)
"""Time enough on a machine that is busy; what is plain is told as soon as it is."""
CASE_KEYS = set(
    (
        "benchmark params metric unit better gating verdict change worse ci_low ci_high ci_level n_pairs n_void "
        "could_hide grade flags"
    ).split()
)


def library(loops: int) -> dict[str, str]:
    """A tiny package and a benchmark that calls it: the benchmark file is the same in every commit."""
    return {
        "toy.py": SPIN.replace("run(ctx)", "work()").format(loops=loops),
        BENCH: "import toy\n\n\ndef run(ctx):\n    return toy.work()\n",
    }


def test_slower_head_regresses_with_json_report_and_status(
    toy: ToyRepository, check: Check, tmp_path: Path
) -> None:
    base = toy.commit("base", library(3_000), settings=PATIENT)
    head = toy.commit("head", library(30_000), settings=PATIENT)
    report = tmp_path / "report.html"
    done = check(toy.path, base, head, "--json", "--html", str(report))
    assert done.status == 1, done.err
    found = done.document
    assert (found["conclusion"], found["status"], found["base"], found["head"]) == (
        "regressed",
        1,
        base,
        head,
    )
    assert found["report"] == str(report)
    assert (found["base_subject"], found["head_subject"]) == ("base", "head")
    assert found["page"].endswith(f"/checks/{found['check']}")
    (suite,) = found["suites"]
    assert suite["name"] == "toy"
    case = next(case for case in suite["cases"] if case["metric"] == "latency_p50")
    assert set(case) >= CASE_KEYS
    assert case["change"] == pytest.approx(9, rel=0.5)
    assert (case["verdict"], case["worse"], case["gating"]) == ("regressed", True, True)
    html = report.read_text()
    assert "spin" in html
    assert "http-equiv" not in html


def test_faster_head_passes_and_is_named(toy: ToyRepository, check: Check) -> None:
    base = toy.commit("base", library(30_000), settings=PATIENT)
    head = toy.commit("head", library(3_000), settings=PATIENT)
    done = check(toy.path, base, head)
    assert done.status == 0, done.out + done.err
    assert "improved" in done.out, done.out + done.err
    assert re.search(r"  head [0-9a-f]{10}  head\n", done.out)
    assert re.search(r"^page: http://.+/checks/\d+$", done.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("main", "nosuch"), 65, "no commit 'nosuch'"),
        (("main", "main", "--suite", "nosuch"), 64, "no suite named 'nosuch' in ratchet.toml; it has: toy"),
        (("main", "main", "--device", "tpu-*"), 2, "tpu-*"),
        (("main", "main", "--html", "/nowhere/at/all.html"), 65, "/nowhere/at is not a folder"),
        (("main", "--upload-pack=x"), 65, "no commit"),
    ],
    ids=["unknown revision", "unknown suite", "no such device", "unwritable report", "option for a revision"],
)
def test_what_cannot_be_checked_is_said(
    toy: ToyRepository, check: Check, arguments: tuple[str, ...], status: int, says: str
) -> None:
    toy.commit("only", library(100))
    done = check(toy.path, *arguments)
    assert done.status == status, done.out + done.err
    assert says in done.out + done.err


def test_repository_without_settings_is_refused(tmp_path: Path, toy: ToyRepository, check: Check) -> None:
    toy.commit("only", {"README": "nothing"})
    (toy.path / "ratchet.toml").unlink()
    toy._git("rm", "-q", "--cached", "ratchet.toml")
    toy._git("commit", "-q", "-m", "no settings")
    done = check(toy.path, "main", "main")
    assert done.status == 65
    assert "has no ratchet.toml" in done.err
    assert check(tmp_path, "main", "main").status == 65


def test_wrong_settings_are_refused_with_line_and_nearest_key(toy: ToyRepository, check: Check) -> None:
    settings = '[project]\nname = "x"\n\n[[suite]]\nname = "s"\nbenchmark = "b.py"\n'
    toy.commit("only", library(100), settings=settings)
    done = check(toy.path, "main", "main")
    assert done.status == 65
    assert "ratchet.toml:6:" in done.err
    assert "benchmarks" in done.err


BROKEN = {
    "raises": "def run(ctx):\n    raise ValueError('no luck')\n",
    "leaves": "import os\n\n\ndef run(ctx):\n    os._exit(0)\n",
    "exits": "import os\n\n\ndef run(ctx):\n    os._exit(3)\n",
    "kills_group": "import os\nimport signal\n\n\ndef run(ctx):\n    os.killpg(0, signal.SIGKILL)\n",
    "reports_nan": "def run(ctx):\n    ctx.report('loss', float('nan'), '1')\n",
}
FINE = SPIN.format(loops=2_000)


def test_each_broken_benchmark_fails_alone_and_says_how(toy: ToyRepository, check: Check) -> None:
    """Both arms run head's files, so what breaks head only is a flag of the code under test."""
    guarded = {
        f"benchmarks/bench_{name}.py": f"import toy\n\n{text}\n\nbroken = run\n{FINE}\nfine = run\n"
        "\n\ndef run(ctx):\n    return (broken if toy.BROKEN else fine)(ctx)\n"
        for name, text in BROKEN.items()
    }
    noisy = "import sys\n\n\ndef run(ctx):\n    sys.stdout.write('x' * 1_000_000)\n"
    files = guarded | {BENCH: FINE, "benchmarks/bench_prints.py": noisy}
    base = toy.commit("base", files | {"toy.py": "BROKEN = False\n"})
    head = toy.commit("head", files | {"toy.py": "BROKEN = True\n"})
    done = check(toy.path, base, head, "--json")
    assert done.status == 1, done.err
    verdicts = done.verdicts()
    assert {name: verdicts[name] for name in BROKEN} == dict.fromkeys(BROKEN, "head_fails")
    assert verdicts["spin"] not in ("head_fails", "not_measured", "regressed")
    assert verdicts["prints"] not in ("head_fails", "not_measured")
    cases = [case for suite in done.document["suites"] for case in suite["cases"]]
    logs = {case["benchmark"]: f"{case['reason']} {case['log_tail']}" for case in cases}
    assert "no luck" in logs["raises"]
    assert "loss" in logs["reports_nan"]


def test_head_that_hangs_is_ended_at_its_timeout(toy: ToyRepository, check: Check) -> None:
    settings = toy._settings.replace('timeout = "20s"', 'timeout = "2s"')
    hang = {BENCH: "import time\n\nimport toy\n\n\ndef run(ctx):\n    time.sleep(toy.SECONDS)\n"}
    base = toy.commit("base", hang | {"toy.py": "SECONDS = 0.001\n"}, settings=settings)
    head = toy.commit("head", hang | {"toy.py": "SECONDS = 1000\n"}, settings=settings)
    done = check(toy.path, base, head, "--json")
    assert done.status == 1, done.err
    assert done.verdicts() == {"spin": "head_fails"}
    assert "timeout" in str(done.document["suites"][0]["cases"][0]["reason"])


@pytest.mark.parametrize(("broken", "status"), [("head", 1), ("base", 2), ("both", 2)])
def test_arm_that_does_not_build(toy: ToyRepository, check: Check, broken: str, status: int) -> None:
    settings = toy._settings.replace('timeout = "20s"', 'setup = ["sh build.sh"]')
    commits = {}
    for arm in ("base", "head"):
        script = "echo cannot build >&2; exit 1" if broken in (arm, "both") else "true"
        commits[arm] = toy.commit(arm, library(1_000) | {"build.sh": script + "\n"}, settings=settings)
    done = check(toy.path, commits["base"], commits["head"], "--json")
    assert done.status == status, done.out
    case = done.document["suites"][0]["cases"][0]
    assert case["verdict"] == {"head": "head_fails", "base": "base_fails", "both": "not_measured"}[broken]
    assert "cannot build" in case["log_tail"]


def test_command_suite_is_timed_as_a_whole_or_by_what_it_reports(toy: ToyRepository, check: Check) -> None:
    settings = """
[project]
name = "acceptance/command"

[[suite]]
name = "wall"
command = "sh work.sh"

[[suite]]
name = "lines"
command = "sh report.sh"

[gate]
device_minutes = 0.5
"""
    report = (
        'echo \'{"metric": "loss", "value": %s, "unit": "1", "better": "lower"}\' >> "$RATCHET_RESULT_FILE"\n'
    )
    base = toy.commit("base", {"work.sh": "sleep 0.02\n", "report.sh": report % 1}, settings=settings)
    head = toy.commit("head", {"work.sh": "sleep 0.2\n", "report.sh": report % 2}, settings=settings)
    done = check(toy.path, base, head, "--json")
    assert done.status == 1, done.err
    verdicts = {
        (suite["name"], case["metric"]): case["verdict"]
        for suite in done.document["suites"]
        for case in suite["cases"]
    }
    assert verdicts == {("wall", "wall_time"): "regressed", ("lines", "loss"): "regressed"}
