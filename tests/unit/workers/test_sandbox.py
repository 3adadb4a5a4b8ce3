"""Programs in a real sandbox: what it keeps from them, how they end, and that the probe notices where it leaks."""

from __future__ import annotations

import os
import platform
import re
import signal
import struct
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.factories.sandbox import isolation, needs_sandbox
from workers.errors import JobError
from workers.host.processes import all_pids
from workers.programs.cgroups import Cgroups
from workers.programs.runner import Program, Runner
from workers.programs.sandbox import bubblewrap
from workers.programs.sandbox.bubblewrap import Confinement, Limits, Sandbox
from workers.programs.sandbox.probe import probe, probe_sandbox
from workers.programs.sandbox.syscalls import MACHINES, NAMESPACES, deny_filter

pytestmark = needs_sandbox

PYTHON = str(getattr(sys, "_base_executable", sys.executable))


@pytest.fixture
def sandbox():
    its = isolation().sandbox
    assert its is not None, isolation().reason
    return its


@pytest.fixture
def folder(tmp_path, sandbox):
    its = tmp_path / "a folder"
    its.mkdir()
    sandbox.give(its)
    return its


@pytest.fixture
def tenure():
    return SimpleNamespace(check=lambda: None, over=threading.Event(), on_end=lambda: None)


@pytest.fixture
def run(tenure, tmp_path, sandbox, folder):
    """Run a program confined, with its folder to write in."""
    runner = Runner(tenure, Cgroups(tmp_path / "data"))

    def confined(*argv, timeout_s=30.0, env=None, confinement=None, **fields):
        env = {"PATH": "/usr/bin:/bin", **(env or {})}
        its = confinement or Confinement(sandbox, writable=[folder])
        return runner.run(Program(argv, env, folder, timeout_s, confinement=its, **fields))

    return confined


def script(text):
    return PYTHON, "-I", "-c", text


def test_program_gets_its_variables_its_folder_and_its_exit_status(run, folder):
    ended = run("sh", "-c", 'pwd; echo "$A b"; env | sort | cut -d= -f1; exit 7', env={"A": "a  $x"})
    assert ended.output.text.splitlines()[:2] == [str(folder), "a  $x b"]
    assert set(ended.output.text.splitlines()[2:]) <= {"A", "PATH", "PWD", "OLDPWD", "_", "SHLVL"}
    assert ended.exit_code == 7


def test_signal_of_its_own_is_told_as_one(run):
    ended = run("sh", "-c", "kill -SEGV $$")
    assert ended.exit_code == 128 + signal.SIGSEGV


def test_variables_of_a_program_do_not_reach_bubblewrap(run, folder):
    """What the loader would take from a stranger's folder would run outside of the sandbox."""
    ended = run("true", env={"LD_PRELOAD": str(folder / "evil.so"), "LD_LIBRARY_PATH": str(folder)})
    assert ended.ok
    complaints = [line for line in ended.output.text.splitlines() if "evil.so" in line]
    assert len(complaints) <= 1, "but the program's own start"


def test_folder_may_be_closed_to_all_but_its_user(run, folder):
    folder.chmod(0o700)
    assert run("pwd").output.text == f"{folder}\n"


def test_sandbox_that_cannot_be_made_is_no_failure_of_the_program(run, sandbox, folder):
    broken = replace(sandbox, limits=replace(Limits(), shared_b=0))
    with pytest.raises(JobError, match="the sandbox could not be set up") as caught:
        run("true", confinement=Confinement(broken, writable=[folder]))
    assert (caught.value.reason, caught.value.retryable) == ("sandbox_failed", True)
    assert "--size" in caught.value.log_tail


def test_program_that_fails_like_bubblewrap_is_believed(run):
    ended = run("sh", "-c", "echo bwrap: no; exit 1")
    assert (ended.exit_code, ended.output.text) == (1, "bwrap: no\n")


def test_program_that_overruns_its_time_is_killed_with_all_that_it_started(run):
    mark = f"left-{time.monotonic_ns()}"
    sleep = f"setsid sh -c 'sleep 300; : {mark}' & sleep 300; : {mark}"
    ended = run("sh", "-c", sleep, timeout_s=1.0)
    assert ended.timed_out
    assert with_mark(mark) == []


def test_end_of_the_lease_kills_it_at_once(run, tenure):
    mark = f"left-{time.monotonic_ns()}"
    threads = []

    def end_when_started(*_):
        while not with_mark(mark):
            time.sleep(0.01)
        tenure.on_end()

    threads.append(threading.Thread(target=end_when_started))
    threads[0].start()
    ended = run("sh", "-c", f"trap '' TERM INT HUP; while :; do sleep 1; done; : {mark}")
    threads[0].join()
    assert not ended.ok
    assert with_mark(mark) == []


def test_nothing_outlives_a_killed_keeper(run):
    mark = f"left-{time.monotonic_ns()}"

    def kill_keeper():
        while not any(command(pid).startswith("sh\0") for pid in with_mark(mark)):
            time.sleep(0.01)  # bubblewrap holds its promise from the program's start on
        (keeper,) = (pid for pid in with_mark(mark) if "keeper.py" in command(pid))
        os.kill(keeper, signal.SIGKILL)

    killer = threading.Thread(target=kill_keeper)
    killer.start()
    run("sh", "-c", f"sleep 300; : {mark}")
    killer.join()
    deadline = time.monotonic() + 10
    while with_mark(mark) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert with_mark(mark) == []


def with_mark(mark):
    return [pid for pid in all_pids() if mark in command(pid)]


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_device_locks_stay_the_keepers(run, tmp_path):
    with (tmp_path / "lock").open("w") as lock:
        seen = run("ls", "-l", "/proc/self/fd", pass_fds=[lock.fileno()])
    assert "lock" not in seen.output.text
    assert "memfd" not in seen.output.text


def test_bound_on_memory_ends_who_takes_more(run, sandbox, folder):
    small = replace(sandbox, limits=replace(Limits(), memory_b=200 * 1024**2))
    confinement = Confinement(small, writable=[folder])
    ended = run(*script("b = bytearray(400 * 1024**2)"), confinement=confinement)
    assert "MemoryError" in ended.output.text


def test_deeper_path_decides(run, sandbox, folder):
    inner = folder / "inner"
    inner.mkdir()
    sandbox.give(inner)
    confinement = Confinement(sandbox, readable=[inner], writable=[folder])
    ended = run("sh", "-c", "touch a; touch inner/b; mv inner other", confinement=confinement)
    assert sorted(path.name for path in folder.rglob("*")) == ["a", "inner"]
    assert not ended.ok


def test_threads_processes_and_shared_memory_work(run):
    text = """
import multiprocessing, threading
def work(x): return x * x
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, [1, 2, 3]))
thread = threading.Thread(target=print, args=("thread",))
thread.start(); thread.join()
"""
    ended = run(*script(text))
    assert ended.output.text.split("\n")[:2] == ["[1, 4, 9]", "thread"]


# --- the filter ---


def test_every_listed_call_is_refused(run):
    calls = {name: number for name, number in MACHINES[platform.machine()].calls.items()}
    text = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {calls!r}.items():
    flags = {{"clone": 0x10000000, "ioctl": 0}}.get(name, 0)
    code = libc.syscall(number, flags, {{"ioctl": 0x5412}}.get(name, 0), 0, 0, 0, 0)
    print(name, code, errno.errorcode.get(ctypes.get_errno()))
"""
    said = dict(line.split(" ", 1) for line in run(*script(text)).output.text.splitlines())
    absent = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"}
    assert said == {name: "-1 ENOSYS" if name in absent else "-1 EPERM" for name in calls}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have one convention alone")
def test_x32_is_refused_and_32_bit_calls_end_the_program(run):
    x32 = "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall(0x40000000 + 39), ctypes.get_errno())"
    assert run(*script(x32)).output.text == "-1 1\n"
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid of i386); int 0x80; ret
    text = f"""
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write({code!r})
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))())
"""
    assert run(*script(text)).exit_code == 128 + signal.SIGSYS


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_the_kernels(machine):
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed (linux-libc-dev)")
    text = HEADERS[machine].read_text()
    kernel = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = MACHINES[machine].calls
    newer = {"quotactl_fd", "open_tree_attr"}  # than the headers of some systems
    assert {name: kernel.get(name) for name in ours if name not in newer} == {
        name: number for name, number in ours.items() if name not in newer
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_jumps_of_the_filter_stay_within_it_and_every_way_returns(machine):
    steps = list(struct.iter_unpack("=HBBI", deny_filter(machine)))
    assert len(steps) < 4096, "the kernel takes no more"
    for index, (code, if_true, if_false, _) in enumerate(steps):
        if code & 7 == 5:  # a jump
            assert index + 1 + max(if_true, if_false) < len(steps)
    assert steps[-1][0] == 6
    assert sum((0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)) == NAMESPACES


# --- the probe ---


def test_probe_finds_level_2_here(tmp_path):
    found = probe(tmp_path / "data", tmp_path / "token")
    assert (found.level, found.reason) == (2, "")
    assert list((tmp_path / "data").iterdir()) == []


class Leaking(Sandbox):
    """A sandbox without one of its walls."""

    def __init__(self, whole, change):
        super().__init__(whole.tools, whole.user, whole.limits)
        object.__setattr__(self, "change", change)

    def _options(self, *arguments):
        return self.change(super()._options(*arguments))


def without(*words):
    def change(options):
        at = next(i for i in range(len(options)) if tuple(options[i : i + len(words)]) == words)
        return options[:at] + options[at + len(words) :]

    return change


def without_filter(options):
    at = options.index("--seccomp")
    return options[:at] + options[at + 2 :]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("--unshare-net"), "net namespace"),
        (without("--unshare-ipc"), "ipc namespace"),
        (without("--unshare-pid"), "processes of the host"),
        (without("--remount-ro", "/"), "it may write ['/'"),
        (without("--remount-ro", "/dev"), "it may write ['/dev'"),
        (without_filter, "the filter of system calls does not hold"),
    ],
    ids=["network", "shared memory", "processes", "root", "devices", "system calls"],
)
def test_probe_notices_a_wall_that_is_missing(sandbox, tmp_path, change, says):
    assert says in probe_sandbox(Leaking(sandbox, change), tmp_path)


def test_probe_notices_that_the_agents_folder_is_seen(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr(bubblewrap, "SYSTEM", (*bubblewrap.SYSTEM, str(tmp_path)))
    tmp_path.chmod(0o755)
    (tmp_path / "spool").mkdir()
    assert f"it sees spool in {tmp_path}" in probe_sandbox(sandbox, tmp_path)


def test_machine_without_bubblewrap_gives_level_0_and_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(bubblewrap.OUTSIDE, "PATH", str(tmp_path))
    found = probe(tmp_path)
    assert (found.level, found.sandbox) == (0, None)
    assert found.reason == "bwrap is not installed (Debian's package bubblewrap)"
