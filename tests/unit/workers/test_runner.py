import os
import re
import selectors
import signal
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.workers.fake_clock import FakeClock
from tests.unit.workers.messages import TIMES, a_lease
from workers.errors import LeaseEndedError
from workers.lease.client import ServiceClient
from workers.lease.tenure import End, Tenure
from workers.programs import runner
from workers.programs.cgroups import Cgroup, Cgroups, own_group
from workers.programs.gate import Gate
from workers.programs.runner import KEPT_B, Ended, Output, Program, Runner


def ended(exit_code, **fields):
    times = {
        "started_at": datetime(2026, 1, 31, tzinfo=UTC),
        "t_start_ns": 0,
        "duration_ns": 1,
        "timeout_s": 300.0,
    }
    return Ended(
        exit_code, **{"timed_out": False, "out_of_memory": False, "output": Output()} | times | fields
    )


def test_short_output_is_kept_whole():
    output = Output()
    for chunk in (b"one ", b"two"):
        output.add(chunk)
    assert output.text == "one two"
    assert output.tail() == "one two"


def test_endless_output_keeps_its_beginning_and_end_and_says_what_is_missing():
    output = Output()
    output.add(b"first")
    for _ in range(100):
        output.add(b"." * KEPT_B)
    output.add(b"last")
    assert len(output.raw) == 2 * KEPT_B
    assert output.text.startswith("first")
    assert output.text.endswith("last")
    assert f"[{98 * KEPT_B + len('firstlast')} bytes left out]" in output.text


def test_the_tail_is_at_most_as_long_as_asked():
    output = Output()
    output.add(b"a" * KEPT_B + b"b" * KEPT_B)
    assert output.tail(10) == "b" * 10


def test_the_tail_spans_both_kept_parts():
    output = Output(kept_b=4)
    output.add(b"abcdef")
    assert output.tail(5) == "bcdef"


def test_output_that_is_no_text_is_made_readable():
    output = Output()
    output.add(b"\xff\0ok")
    assert output.text == "\ufffd\ufffdok"


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (ended(0), "ok", ""),
        (ended(3), "failed", "exit_code: it ended with exit status 3"),
        (ended(137), "failed", "killed: it was ended by signal 9 (SIGKILL)"),
        (ended(137, out_of_memory=True), "oom", "oom: the kernel killed it because memory ran out"),
        (ended(143, timed_out=True), "timeout", "timeout: it ran for over 300 s and was stopped"),
        (ended(0, timed_out=True), "timeout", "timeout: it ran for over 300 s and was stopped"),
    ],
)
def test_an_end_has_a_status_and_a_reason(end, status, code):
    assert (end.status, end.reason, end.ok) == (status, code, status == "ok")


# --- real programs, with control groups where this machine has them, and without ---

LEAVES = """
import os, signal, subprocess, sys, time
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(sys.argv[1], "w").write(str(left.pid))
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
"""
"""Leaves a process behind that holds its output open, and kills its keeper."""


@pytest.fixture
def tenure():
    client = ServiceClient("http://s", "t", clock=FakeClock())
    return Tenure(a_lease(), TIMES, client, FakeClock(), claimed_at=1000.0)


def a_program(folder, script, *arguments, timeout_s=60.0):
    argv = [sys.executable, "-I", "-S", "-c", script, *map(str, arguments)]
    return Program(argv, {"PATH": os.environ["PATH"]}, folder, timeout_s)


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_program_that_kills_its_keeper_leaves_nothing_where_there_are_control_groups(tmp_path, tenure):
    with Cgroups(tmp_path) as cgroups:
        with cgroups.new() as group:
            if group is None:
                pytest.skip("this process may not make control groups, or the kernel has no cgroup.kill")
        ended = Runner(tenure, cgroups).run(a_program(tmp_path, LEAVES, tmp_path / "pid"))
        assert ended.reason.startswith("killed")
        assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_program_that_kills_its_keeper_does_not_hold_the_agent_where_there_are_none(
    tmp_path, tenure, monkeypatch
):
    monkeypatch.setattr(runner, "LEFT_OVER_S", 0.1)
    cgroups = Cgroups(tmp_path, home=tmp_path / "no groups here")
    with cgroups:
        ended = Runner(tenure, cgroups).run(a_program(tmp_path, LEAVES, tmp_path / "pid"))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert ended.reason.startswith("killed")
    assert not ended.timed_out


LEAVES_WHEN_ASKED = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGKILL))
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(sys.argv[1], "w").write(str(left.pid))
time.sleep(600)
"""
"""Leaves a process behind that holds its output open, and kills its keeper when its time is up."""


@pytest.mark.parametrize(("script", "timed_out"), [(LEAVES, False), (LEAVES_WHEN_ASKED, True)])
def test_a_dead_keeper_is_not_waited_for_where_the_kernel_does_not_tell_its_end(
    tmp_path, tenure, monkeypatch, script, timed_out
):
    monkeypatch.setattr(runner, "LEFT_OVER_S", 0.1)
    monkeypatch.setattr(runner, "_life_of", lambda _: nullcontext(None))
    pid, released = tmp_path / "pid", []

    def release():
        released.append(int(pid.read_text()))
        os.kill(released[0], signal.SIGKILL)

    rescue = threading.Timer(20.0, release)
    rescue.start()
    with Cgroups(tmp_path, home=tmp_path / "no groups here") as cgroups:
        ended = Runner(tenure, cgroups).run(a_program(tmp_path, script, pid, timeout_s=2.0))
    rescue.cancel()
    assert not released, "it waited for what the program left behind"
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert (ended.exit_code, ended.timed_out) == (128 + signal.SIGKILL, timed_out)


@pytest.mark.parametrize("end", [End.FENCED, End.STOPPED])
def test_the_end_of_a_lease_takes_the_program_and_its_group_along(tmp_path, tenure, end):
    script = """
import os, subprocess, sys, time
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(sys.argv[1] + ".new", "w").write(str(left.pid))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""
    pid, seen = tmp_path / "pid", threading.Event()

    def end_it():
        while not pid.exists():
            seen.wait(0.01)
        tenure.end(end)

    ender = threading.Thread(target=end_it)
    ender.start()
    with Cgroups(tmp_path) as cgroups, pytest.raises(LeaseEndedError):
        Runner(tenure, cgroups).run(a_program(tmp_path, script, pid))
    ender.join()
    assert is_gone(int(pid.read_text()))
    home = own_group()
    assert home is None or not list(home.glob(f"{cgroups._name}*"))


WAITS_AT_GATE = """
import os, sys, time
gate = open(sys.argv[1])
ready = time.monotonic_ns()
os.write(1, b"noise \\0 noise ")
gate.readline()
print(ready, time.monotonic_ns(), os.listdir("."))
"""
"""Tells when it was ready, when it began, and what it found then."""


class HardOfHearing(selectors.DefaultSelector):
    """Tells late what there is to read."""

    def select(self, timeout=None):
        ready = super().select(timeout)
        time.sleep(0.05)
        return ready


def test_a_programs_clock_runs_from_when_it_may_pass_the_gate_however_late_it_is_heard(
    tmp_path, tenure, monkeypatch
):
    monkeypatch.setattr(runner.selectors, "DefaultSelector", HardOfHearing)
    with Cgroups(tmp_path) as cgroups, Gate(tmp_path / "a gate") as gate:
        program = replace(a_program(tmp_path, WAITS_AT_GATE, gate.path), gate=gate)
        ended = Runner(tenure, cgroups).run(program)
    said, ready, began, found = re.fullmatch(r"(\D+)(\d+) (\d+) (.+)\n", ended.output.text).groups()
    assert int(ready) <= ended.t_start_ns <= int(began)
    assert (said, found) == ("noise  noise ", "[]")


def test_a_program_that_ends_before_it_is_ready_is_not_waited_for(tmp_path, tenure):
    script = "import sys; sys.exit('no such file')"
    with Cgroups(tmp_path) as cgroups, Gate(tmp_path / "gate") as gate:
        ended = Runner(tenure, cgroups).run(replace(a_program(tmp_path, script), gate=gate))
    assert (ended.exit_code, ended.output.text) == (1, "no such file\n")
    assert not list(tmp_path.iterdir())


def test_a_program_whose_time_is_up_before_it_is_ready_does_not_begin(tmp_path, tenure, monkeypatch):
    monkeypatch.setattr(runner, "GRACE_S", 0.5)
    script = """
import os, signal, sys, time
def ended(*_):
    os.write(1, b"\\0")
    open(sys.argv[1]).readline()
    print("begun")
signal.signal(signal.SIGTERM, ended)
gate = open(sys.argv[1])
time.sleep(60)
"""
    with Cgroups(tmp_path) as cgroups, Gate(tmp_path / "gate") as gate:
        program = replace(a_program(tmp_path, script, gate.path, timeout_s=0.5), gate=gate)
        ended = Runner(tenure, cgroups).run(program)
    assert (ended.status, ended.output.text) == ("timeout", "")


def test_what_a_program_takes_does_not_count_the_removal_of_its_group(tmp_path, tenure, monkeypatch):
    removals = []

    class Slow(Cgroup):
        def remove(self, patience_s=0.0):
            removals.append(time.monotonic_ns())
            return True

    cgroups = Cgroups(tmp_path, home=tmp_path / "none")
    group = Slow(tmp_path / "fake group")
    group.folder.mkdir()
    (group.folder / "cgroup.procs").touch()
    monkeypatch.setattr(cgroups, "_made", lambda: group)
    ended = Runner(tenure, cgroups).run(a_program(tmp_path, "pass"))
    assert ended.ok
    assert [ended.t_start_ns + ended.duration_ns <= begun for begun in removals] == [True]
