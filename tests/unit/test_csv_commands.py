"""`ratchet detect` and `ratchet compare` as scripts use them: files, options, output, exit statuses."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import app.analysis.comparison
from app.analysis.comparison.results import BenchmarkValues, Comparison
from app.cli import DATA, FAULT, INTERRUPTED, USAGE, run
from app.domain.verdicts import Verdict

ROOT = Path(__file__).parents[2]


def steps(n_series: int = 3, n: int = 80) -> str:
    random = np.random.default_rng(5)
    lines = ["series,x,value"]
    for series in range(n_series):
        values = 10 * np.exp(0.01 * random.standard_normal(n))
        values[n // 2 :] *= 1.3 if series == 0 else 1.0
        lines += [f"s{series},{1000 + x},{value!r}" for x, value in enumerate(values.tolist())]
    return "\n".join(lines) + "\n"


def sides() -> str:
    rows = [
        f"{name},{side},{block},{10 + block / 100}" for name in "ba" for block in range(6) for side in SIDES
    ]
    return "\n".join(["benchmark,side,block,value", *rows]) + "\n"


SIDES = ("base", "head")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "history.csv"
    path.write_text(steps())
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Each call of the comparison, which itself is another's to test."""
    calls: list[dict] = []

    def compare(benchmarks: Sequence[BenchmarkValues], **rule: object) -> list[Comparison]:
        calls.append({"benchmarks": benchmarks, **rule})
        verdict = Verdict.REGRESSED
        return [
            Comparison(one.benchmark, 0.06, 0.05, 0.07, 0.001, 0.002, verdict, len(one.base), len(one.head))
            for one in benchmarks
        ]

    monkeypatch.setattr(app.analysis.comparison, "compare", compare, raising=False)
    return calls


@pytest.fixture
def pair_file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(sides())
    return path


def ratchet(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


# --- detect ---------------------------------------------------------------------------------------------------


def test_detect_prints_one_json_object_a_series_and_finds_the_change(
    file: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["detect", str(file), "--json"]) == 0
    first, *others = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first["series"] == "s0"
    (change,) = first["change_points"]
    assert (change["index"], change["x"]) == (40, 1040)
    assert change["after"] / change["before"] == pytest.approx(1.3, rel=0.02)
    assert [(one["series"], one["change_points"]) for one in others] == [("s1", []), ("s2", [])]


def test_detect_prints_a_row_of_csv_for_each_change(file: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["detect", str(file), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["series"], row["index"], row["x"], row["kind"]) == ("s0", "40", "1040", "step")


def test_detect_prints_a_table_without_colour_into_a_pipe(file: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["detect", str(file)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert re.search(r"^  ▲ .*x 1040", out, re.MULTILINE)
    assert re.search(r"^3 series examined in .*: 1 change in 1 series", out, re.MULTILINE)


def test_detect_leaves_out_changes_below_the_minimum_effect(file: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["detect", str(file), "--json", "--minimum-effect", "50%"]) == 0
    assert all(not json.loads(line)["change_points"] for line in capsys.readouterr().out.splitlines())


def test_detect_reads_standard_input():
    result = ratchet("detect", "-", "--json", input=steps(1))
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["change_points"][0]["index"] == 40


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(
    ("command", "header"), [("detect", "series,x,value"), ("compare", "benchmark,side,block,value")]
)
@pytest.mark.usefixtures("asked")
def test_file_without_rows_prints_nothing_and_is_no_error(
    command: str, header: str, form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty.csv").write_text(f"{header}\n")
    assert run([command, str(tmp_path / "empty.csv"), *form]) == 0
    assert capsys.readouterr().out == ""


def test_series_of_a_few_points_are_judged_without_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    values = {
        "one": [1.0],
        "two": [1.0, 2.0],
        "flat": [3.0] * 20,
        "zero": [0.0] * 20,
        "huge": [1e300, -1e300] * 10,
    }
    rows = [f"{name},{x},{value!r}" for name, points in values.items() for x, value in enumerate(points)]
    (tmp_path / "odd.csv").write_text("\n".join(["series,x,value", *rows]))
    assert run(["detect", str(tmp_path / "odd.csv")]) == 0
    assert run(["detect", str(tmp_path / "odd.csv"), "--json"]) == 0
    assert "NaN" not in capsys.readouterr().out


# --- compare --------------------------------------------------------------------------------------------------


def test_compare_hands_over_the_values_in_order_and_the_rule(asked: list[dict], pair_file: Path):
    assert (
        run(
            [
                "compare",
                str(pair_file),
                "--better",
                "higher",
                "--minimum-effect",
                "0.5%",
                "--tolerance",
                "0.03",
            ]
        )
        == 0
    )
    (call,) = asked
    assert (call["better"], call["minimum_effect"], call["tolerance"]) == ("higher", 0.005, 0.03)
    first = call["benchmarks"][0]
    assert first.benchmark == "b"
    assert first.base == first.head == tuple((str(block), 10 + block / 100) for block in range(6))


def test_compare_means_lower_is_better_two_percent_and_any_effect_unless_told(
    asked: list[dict], pair_file: Path
):
    assert run(["compare", str(pair_file)]) == 0
    assert (asked[0]["better"], asked[0]["minimum_effect"], asked[0]["tolerance"]) == ("lower", 0.0, 0.02)


@pytest.mark.usefixtures("asked")
def test_compare_prints_one_json_object_a_benchmark(pair_file: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["compare", str(pair_file), "--json"]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert list(first)[:7] == "benchmark change ci_low ci_high p_value q_value verdict".split()
    assert (first["benchmark"], second["benchmark"], first["verdict"]) == ("b", "a", "regressed")


@pytest.mark.usefixtures("asked")
def test_compare_prints_csv_and_a_table(pair_file: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["compare", str(pair_file), "--csv"]) == 0
    assert [row["benchmark"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["b", "a"]
    assert run(["compare", str(pair_file)]) == 0
    assert "2 benchmarks compared" in capsys.readouterr().out


def hostile_sides() -> str:
    pools = [
        ("1.7e308",),
        ("1.7e308", "-1.7e308"),
        ("5e-324", "1.7e308"),
        ("0", "5e-324", "-1"),
        ("0", "0", "1.7e308"),
    ]
    rows = [
        f"{'/'.join(pool)}/{n},{side},{block},{pool[(block * block + at) % len(pool)]}"
        for pool in pools
        for n in (3, 8, 12)
        for at, side in enumerate(SIDES)
        for block in range(n + at)
    ]
    return "\n".join(["benchmark,side,block,value", *rows]) + "\n"


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_compare_judges_the_largest_and_smallest_numbers_without_a_warning(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "hostile.csv").write_text(hostile_sides())
    assert run(["compare", str(tmp_path / "hostile.csv"), *form]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert not re.search(r"\b(?:nan|inf|Infinity)\b", printed.out, re.IGNORECASE)
    assert "base is around 0" in printed.out
    assert max(map(len, printed.out.splitlines())) < 250


@pytest.mark.parametrize(
    "limits",
    [["--tolerance", "2%", "--minimum-effect", "3%"], ["--tolerance", "1%", "--minimum-effect", "0.01"]],
)
@pytest.mark.usefixtures("asked")
def test_compare_wants_a_tolerance_above_the_minimum_effect(
    limits: list[str], pair_file: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["compare", str(pair_file), *limits]) == USAGE
    assert "must be above --minimum-effect" in capsys.readouterr().err


# --- what is wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["detect", "compare"])
@pytest.mark.parametrize(
    "options",
    [
        ["--json", "--csv"],
        ["--minimum-effect", "5"],
        ["--minimum-effect", "-1%"],
        ["--nosuch"],
        ["second.csv"],
    ],
)
def test_wrong_usage_is_status_64_and_says_so(
    command: str, options: list[str], file: Path, capsys: pytest.CaptureFixture[str]
):
    assert run([command, str(file), *options]) == USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


@pytest.mark.parametrize("command", ["detect", "compare"])
def test_command_without_a_file_is_wrong_usage(command: str, capsys: pytest.CaptureFixture[str]):
    assert run([command]) == USAGE
    assert "FILE" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["detect", "compare"])
def test_file_that_cannot_be_read_is_bad_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for path, reason in ((tmp_path / "missing.csv", "No such file"), (tmp_path, "Is a directory")):
        assert run([command, str(path)]) == DATA
        assert re.match(rf"ratchet: cannot read {re.escape(str(path))}: {reason}", capsys.readouterr().err)


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_bad_rows_are_listed_by_line_and_nothing_is_judged(
    form: list[str], file: Path, capsys: pytest.CaptureFixture[str]
):
    file.write_text(steps() + "s2,5000,nan\ns9,1,1\ns2,4999,1\n")
    assert run(["detect", str(file), *form]) == DATA
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[0] == f"ratchet: 2 bad rows in {file}; nothing was judged"
    assert [line.split(":")[0] for line in captured.err.splitlines()[1:]] == ["  line 242", "  line 244"]


def test_compare_lists_bad_rows_too(pair_file: Path, capsys: pytest.CaptureFixture[str]):
    pair_file.write_text(sides() + "a,middle,1,1\n")
    assert run(["compare", str(pair_file), "--json"]) == DATA
    assert "line 26: side is" in capsys.readouterr().err


# --- terminals, pipes, signals --------------------------------------------------------------------------------


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """Return what a terminal of 80 columns gets to see."""
    leader, follower = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "app.cli", *arguments], cwd=ROOT, stdout=follower, stderr=follower,
        env=clean | {"TERM": "xterm", "COLUMNS": "80", **environment},
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while True:
        try:
            seen += os.read(leader, 4096)
        except OSError:  # how Linux says that the last writer is gone
            break
    os.close(leader)
    assert process.wait() == 0
    return seen.decode()


def test_terminal_gets_colours_unless_it_asks_for_none(file: Path):
    assert "\x1b[35m" in on_a_terminal("detect", str(file))
    for refusal in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_a_terminal("detect", str(file), **refusal)


def test_default_tolerance_makes_room_for_a_large_minimum_effect(pair_file: Path):
    assert run(["compare", str(pair_file), "--minimum-effect", "5%", "--json"]) == 0


def test_reader_that_closes_the_pipe_ends_the_command_quietly(tmp_path: Path):
    (tmp_path / "many.csv").write_text(steps(300, 30))
    detect = (
        f"{shlex.quote(sys.executable)} -m app.cli detect {shlex.quote(str(tmp_path / 'many.csv'))} --json"
    )
    command = f"{detect} | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("0\n", "")


def test_closed_standard_output_and_input_are_no_fault(file: Path):
    detect = f"{shlex.quote(sys.executable)} -m app.cli detect"
    script = f"{detect} {shlex.quote(str(file))} >&-; echo $?; {detect} - <&-; echo $?"
    result = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == f"0\n{DATA}\n"
    assert result.stderr == "ratchet: standard input is closed; name a file\n"


def test_characters_that_the_output_cannot_take_are_replaced():
    text = steps(1).replace("s0", "日本")
    result = ratchet(
        "detect", "-", input=text, encoding="utf-8", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1].startswith("?? ")


SLOW = """
import os, sys, time
import app.commands.examining as examining
from app.cli import main

def examine(values, x=None, *, minimum_effect=0.0):
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(600)

examining.examine = examine
examining.n_cores = lambda: 2
examining.FORK_FROM_POINTS = 0
main(["detect", sys.argv[1], "--json"])
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_command_leaves_no_trace_and_no_process(how: signal.Signals, file: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(file)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(2)]
    assert len({process.pid, *workers}) == 3
    process.send_signal(how)
    _, err = (
        process.communicate()
    )  # returns when no process holds the pipes any more: neither it nor a worker
    assert err.strip() == ""
    assert process.returncode == (INTERRUPTED if how is signal.SIGINT else -how)


# --- what it takes to start -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["detect", "compare"])
def test_help_imports_nothing_heavy(command: str):
    script = (
        f"import sys; from app.cli import run; run(['{command}', '--help']); "
        "print([name for name in ('numpy', 'scipy', 'pydantic', 'rich', 'httpx', 'asyncio') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_detecting_in_a_small_file_needs_numpy_alone(file: Path):
    script = (
        f"import sys; from app.cli import run; run(['detect', {str(file)!r}, '--json']); "
        "print([name for name in ('scipy', 'pydantic', 'rich', 'httpx', 'asyncio') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


SERVICE = (
    "sqlalchemy fastapi celery redis psycopg uvicorn jinja2 markupsafe pydantic_settings alembic".split()
)


def without(modules: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that cannot import these modules."""
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({modules!r})); "
        f"from app.cli import main; main({list(arguments)!r})"
    )
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_detect_needs_no_package_of_the_service(form: list[str], file: Path):
    result = without(SERVICE, "detect", str(file), *form)
    assert (result.returncode, result.stderr) == (0, "")
    assert "s0" in result.stdout


@pytest.mark.parametrize("command", ["detect", "compare"])
def test_without_numpy_one_line_names_the_extra_analysis_alone(command: str, file: Path, pair_file: Path):
    result = without(["numpy"], command, str(file if command == "detect" else pair_file))
    assert result.returncode == FAULT
    assert result.stderr == (
        f"ratchet: `ratchet {command}` needs packages that are missing (numpy): "
        "pip install 'ratchet-perf[analysis]'\n"
    )


def test_compare_finds_the_benchmark_that_became_slower(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    random = np.random.default_rng(8)
    rows = [
        f"k{number},{side},{block},{100 * random.lognormal(0, 0.01) * (1.2 if (number, side) == (3, 'head') else 1)!r}"
        for number in range(6)
        for block in range(12)
        for side in SIDES
    ]
    (tmp_path / "check.csv").write_text("\n".join(["benchmark,side,block,value", *rows]))
    assert run(["compare", str(tmp_path / "check.csv"), "--json", "--minimum-effect", "1.5%"]) == 0
    found = {one["benchmark"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert [name for name, one in found.items() if one["verdict"] == "regressed"] == ["k3"]
    assert found["k3"]["ci_low"] < found["k3"]["change"] < found["k3"]["ci_high"]
    assert found["k3"]["change"] == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_detect_examines_the_largest_and_smallest_numbers_without_a_warning(
    form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    levels = ["1.7e308", "-1.7e308", "5e-324", "0", "1e-300"]
    rows = [
        f"{before} to {after},{x},{before if x < 20 else after}"
        for before in levels
        for after in levels
        for x in range(40)
    ]
    (tmp_path / "hostile.csv").write_text("\n".join(["series,x,value", *rows]) + "\n")
    assert run(["detect", str(tmp_path / "hostile.csv"), *form]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert not re.search(r"\b(?:nan|inf|Infinity)\b", printed.out, re.IGNORECASE)
