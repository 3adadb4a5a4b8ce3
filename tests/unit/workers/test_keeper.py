"""The keeper with real processes: what it passes on, how it ends, and that nothing is left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories.waiting import wait_for
from workers.keeper import Kept, keeper_command

SOON_S = 20.0
"""A bound against hanging, far above what anything here takes."""


def python(script: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", textwrap.dedent(script)]


def run_kept(command: list[str], **options: object) -> tuple[int, str]:
    """Run to the end and return status and output."""
    with Kept(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as kept:  # type: ignore[arg-type]
        assert kept.stdout is not None
        output = kept.stdout.read().decode()
        return kept.wait(SOON_S), output


def is_gone(pid: int) -> bool:
    """Say whether the process has ended, be it collected or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def written_pids(*files: Path) -> list[int]:
    """Wait until each file holds a process id and return them."""
    wait_for(lambda: all(file.exists() and file.read_text().strip() for file in files), SOON_S)
    return [int(file.read_text()) for file in files]


# A daemon as of old: its own session, its parent gone, deaf to polite signals. Writes its id to argv[1].
DAEMON = """
    import os, signal, sys, time
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    time.sleep(600)
"""


def with_daemon(daemon: Path, then: str) -> list[str]:
    """A command that starts DAEMON, waits until it runs, and goes on with the shell text `then`."""
    shell = f'"$@" & while [ ! -e "$DAEMON" ]; do sleep 0.01; done; {then}'
    return ["env", f"DAEMON={daemon}", "sh", "-c", shell, "sh", *python(DAEMON), str(daemon)]


@pytest.mark.parametrize("status", [0, 3, 255])
def test_exit_status_of_the_command_is_passed_on(status: int) -> None:
    assert run_kept(["sh", "-c", f"exit {status}"])[0] == status


def test_command_ended_by_a_signal_gives_128_and_its_number() -> None:
    assert run_kept(["sh", "-c", "kill -SEGV $$"])[0] == 128 + signal.SIGSEGV


def test_descriptors_that_the_keeper_holds_do_not_reach_the_command(tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held, (tmp_path / "passed").open("w") as passed:
        options = {"hold_fds": [held.fileno()], "pass_fds": [passed.fileno()]}
        _, output = run_kept(["ls", "-l", "/proc/self/fd"], **options)
    assert str(tmp_path / "passed") in output
    assert str(tmp_path / "held") not in output


def test_lock_that_the_keeper_holds_lasts_as_long_as_the_command(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as lock, path.open("w") as other:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = Kept(["sleep", "600"], hold_fds=[lock.fileno()])
        lock.close()  # as if the agent had died
        with kept, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_command_that_does_not_exist_gives_127_and_its_name() -> None:
    status, output = run_kept(["no-such-program"])
    assert status == 127
    assert "'no-such-program'" in output


def test_command_is_looked_up_past_what_may_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "true").mkdir()
    environment = {"PATH": f"{tmp_path}:{tmp_path}/missing:{os.environ['PATH']}"}
    assert run_kept(["true"], env=environment)[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="changing user needs root")
def test_folder_on_path_that_the_user_cannot_enter_hides_nothing(tmp_path: Path) -> None:
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert run_kept(["no-such-program"], user="nobody", env=environment, cwd="/")[0] == 127
    assert run_kept(["true"], user="nobody", env=environment, cwd="/")[0] == 0


def test_command_that_is_no_program_gives_126(tmp_path: Path) -> None:
    assert run_kept([str(tmp_path)])[0] == 126


def test_output_and_working_directory_are_the_commands_own(tmp_path: Path) -> None:
    assert run_kept(["sh", "-c", "pwd; echo err >&2"], cwd=tmp_path) == (0, f"{tmp_path}\nerr\n")


def test_environment_reaches_the_command_unchanged_even_in_the_c_locale() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "/nowhere", "EMPTY": "", "LINES": "a\nb=c"}
    status, output = run_kept(["env", "-0"], env=environment)
    assert status == 0
    assert dict(entry.split("=", 1) for entry in output.split("\0") if entry) == environment


def test_standard_input_of_the_command_is_empty() -> None:
    assert run_kept(["wc", "-c"]) == (0, "0\n")


def test_descriptors_that_were_passed_reach_the_command() -> None:
    reading, writing = os.pipe()
    try:
        assert run_kept(["sh", "-c", f"echo passed > /proc/self/fd/{writing}"], pass_fds=(writing,))[0] == 0
        assert os.read(reading, 100) == b"passed\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_command_finds_signals_as_a_shell_would_leave_them() -> None:
    status, output = run_kept(["grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"])
    assert status == 0
    of_the_c_library = 1 << 31 | 1 << 32  # signals 32 and 33, which nobody else can set
    assert {int(line.split()[1], 16) & ~of_the_c_library for line in output.splitlines()} == {0}


def test_command_has_a_session_of_its_own() -> None:
    script = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))"
    assert run_kept(python(script)) == (0, "True\n")


def test_leftover_daemon_dies_when_the_command_ends(tmp_path: Path) -> None:
    daemon = tmp_path / "daemon"
    assert run_kept(with_daemon(daemon, "exit 7"))[0] == 7
    assert is_gone(*written_pids(daemon))


def test_leftover_of_the_process_group_dies_when_the_command_ends(tmp_path: Path) -> None:
    left = tmp_path / "left"
    assert run_kept(["sh", "-c", 'sleep 600 & echo $! > "$0"', str(left)])[0] == 0
    assert is_gone(*written_pids(left))


def test_processes_that_keep_forking_away_die_when_the_command_ends(tmp_path: Path) -> None:
    script = """
        import os, sys
        for _ in range(6):
            if os.fork() == 0:
                os.close(1)
                while True:
                    if os.fork():
                        os._exit(0)
                    open(sys.argv[1], "w").write(str(os.getpid()))
        while not os.path.exists(sys.argv[1]):
            pass
    """
    trace = tmp_path / "trace"
    assert run_kept([*python(script), str(trace)]) == (0, "")
    before = trace.read_text()
    time.sleep(0.1)
    assert trace.read_text() == before


def test_deep_tree_of_sessions_dies_whole(tmp_path: Path) -> None:
    script = """
        import os, sys, time
        for level in range(12):
            if os.fork():
                break
            os.setsid()
        open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
        time.sleep(600)
    """
    kept = Kept([*python(script), str(tmp_path)], grace_s=0)
    with kept:
        wait_for(lambda: len(list(tmp_path.iterdir())) == 13, SOON_S)
    assert all(is_gone(int(file.name)) for file in tmp_path.iterdir())


def test_stop_asks_with_the_signal_that_was_chosen() -> None:
    for name, number in (("INT", 2), ("TERM", 15)):
        command = ["sh", "-c", f"trap 'exit 42' {name}; echo ready; while :; do sleep 0.01; done"]
        with Kept(command, signal=name, stdout=subprocess.PIPE) as kept:
            assert kept.stdout is not None
            assert kept.stdout.readline() == b"ready\n"
            assert kept.poll() is None
            assert kept.stop(SOON_S) == 42, number


def test_command_that_ignores_the_signal_is_killed_after_the_grace() -> None:
    command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]
    with Kept(command, grace_s=0.2, stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"ready\n"
        started = time.monotonic()
        assert kept.stop(SOON_S) == 128 + signal.SIGKILL
        assert time.monotonic() - started >= 0.2


def test_descendants_may_use_the_grace_after_the_command_has_gone(tmp_path: Path) -> None:
    done = tmp_path / "done"
    child = f"trap 'sleep 0.3; echo saved > \"{done}\"; exit' TERM; echo ready; while :; do sleep 0.01; done"
    command = ["sh", "-c", 'sh -c "$0" & exec sleep 600', child]
    with Kept(command, grace_s=SOON_S, stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"ready\n"
        assert kept.stop(SOON_S) == 128 + signal.SIGTERM
    assert done.read_text() == "saved\n"


def test_closing_standard_input_ends_everything(tmp_path: Path) -> None:
    daemon = tmp_path / "daemon"
    command = keeper_command(with_daemon(daemon, "sleep 600"), grace_s=0.1)
    with subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0) as keeper:
        pids = written_pids(daemon)
        assert keeper.stdin is not None
        keeper.stdin.write(b"an owner may write; only the end counts\n")
        keeper.stdin.close()
        assert keeper.wait(SOON_S) == 128 + signal.SIGTERM
    assert is_gone(*pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_to_the_keeper_ends_the_command(number: signal.Signals) -> None:
    with Kept(["sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"ready\n"
        os.kill(kept.pid, number)
        assert kept.wait(SOON_S) == 128 + signal.SIGTERM


# An owner that keeps argv[2:], writes the command's id to argv[1], and sleeps; a forked child of it lives on.
OWNER = """
    import os, sys, time
    sys.path.insert(0, os.environ["ROOT"])
    from workers.keeper import Kept
    kept = Kept(["sh", "-c", 'echo $$ > "$0".new; mv "$0".new "$0"; exec sleep 600', sys.argv[1]])
    if os.fork() == 0:
        open(sys.argv[1] + ".fork", "w").write(str(os.getpid()))
    time.sleep(600)
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    root = Path(__file__).parents[3]
    command = [*python(OWNER), str(tmp_path / "command")]
    with subprocess.Popen(command, env={**os.environ, "ROOT": str(root)}, start_new_session=True) as process:
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_killed_owner_takes_the_command_along_although_a_forked_child_has_the_pipe(
    owner: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    command, forked = written_pids(tmp_path / "command", tmp_path / "command.fork")
    owner.kill()
    owner.wait(SOON_S)
    wait_for(lambda: is_gone(command), SOON_S)
    assert not is_gone(forked)


def test_killed_keeper_takes_the_command_along(tmp_path: Path) -> None:
    file = tmp_path / "command"
    with Kept(["sh", "-c", 'echo $$ > "$0"; exec sleep 600', str(file)]) as kept:
        (command,) = written_pids(file)
        os.kill(kept.pid, signal.SIGKILL)
        assert kept.wait(SOON_S) == -signal.SIGKILL
        wait_for(lambda: is_gone(command), SOON_S)


def test_other_children_of_the_owner_do_not_hold_the_pipe() -> None:
    with (
        Kept(["sleep", "600"]) as kept,
        subprocess.Popen(["sleep", "600"], close_fds=False) as other,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(other.kill)
        links = Path(f"/proc/{other.pid}/fd").iterdir()
        pipe = os.readlink(f"/proc/{kept.pid}/fd/0")
        assert pipe.startswith("pipe:")
        assert pipe not in {os.readlink(link) for link in links}


def test_waiting_keeper_uses_no_processor_time() -> None:
    with Kept(["sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"ready\n"
        time.sleep(0.1)
        before = Path(f"/proc/{kept.pid}/stat").read_text().split()[13:15]
        time.sleep(0.5)
        assert Path(f"/proc/{kept.pid}/stat").read_text().split()[13:15] == before


def test_ended_orphans_are_collected_while_the_command_runs(tmp_path: Path) -> None:
    orphan = tmp_path / "orphan"
    shell = '(sh -c "sleep 0.05; echo \\$\\$ > \\"$0\\"" &); echo started; exec sleep 600'
    with Kept(["sh", "-c", shell, str(orphan)], stdout=subprocess.PIPE) as kept:
        (pid,) = written_pids(orphan)
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), SOON_S)
        assert kept.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="changing user needs root")
@pytest.mark.parametrize("by_number", [False, True])
def test_command_runs_as_the_user_that_was_named_with_its_groups_only(by_number: bool) -> None:
    nobody = pwd.getpwnam("nobody")
    ids = "id -u; id -g; id -G"
    command = keeper_command(["sh", "-c", ids], user=nobody.pw_uid if by_number else "nobody", grace_s=SOON_S)
    owners_groups = [0, nobody.pw_gid + 1]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, extra_groups=owners_groups, cwd="/"
    ) as keeper:
        assert keeper.stdout is not None
        output = keeper.stdout.read().decode()
    groups = os.getgrouplist("nobody", nobody.pw_gid)
    assert output.split() == [str(nobody.pw_uid), str(nobody.pw_gid), *map(str, groups)]


@pytest.mark.skipif(os.geteuid() != 0, reason="changing user needs root")
def test_killed_keeper_takes_the_command_of_another_user_along() -> None:
    with Kept(
        ["sh", "-c", "echo $$; exec sleep 600"], user="nobody", stdout=subprocess.PIPE, cwd="/"
    ) as kept:
        assert kept.stdout is not None
        command = int(kept.stdout.readline())
        os.kill(kept.pid, signal.SIGKILL)
        wait_for(lambda: is_gone(command), SOON_S)


def test_keeper_that_its_command_has_stopped_ends_when_asked() -> None:
    with Kept(["sh", "-c", "kill -STOP $PPID; echo done; sleep 600"], stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"done\n"
        assert kept.stop(SOON_S) == 128 + signal.SIGTERM


@pytest.fixture
def cgroup() -> Iterator[Path]:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"]
    if not roots:
        pytest.skip("no cgroup v2 is mounted")
    own = Path("/proc/self/cgroup").read_text().partition("0::/")[2].splitlines()[0]
    folder = roots[0] / own / f"ratchet-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a cgroup: {error}")
    yield folder
    wait_for(lambda: not (folder / "cgroup.procs").read_text(), SOON_S)
    folder.rmdir()


def test_command_joins_the_cgroup_and_all_in_it_die(cgroup: Path) -> None:
    if not (cgroup / "cgroup.kill").exists():
        pytest.skip("this kernel has no cgroup.kill")
    with subprocess.Popen(["sleep", "600"]) as stranger, contextlib.ExitStack() as stack:
        stack.callback(stranger.kill)
        (cgroup / "cgroup.procs").write_text(str(stranger.pid))
        status, output = run_kept(["cat", "/proc/self/cgroup"], cgroup=cgroup)
        assert status == 0
        assert f"/{cgroup.name}" in output
        assert stranger.wait(SOON_S) == -signal.SIGKILL


def test_cgroup_that_cannot_be_joined_is_refused(tmp_path: Path) -> None:
    status, output = run_kept(["echo", "ran"], cgroup=tmp_path / "missing")
    assert status == 125
    assert "missing/cgroup.procs" in output
    assert "ran" not in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--signal", "TERM"], "usage: keeper.py"),
        (["--"], "usage: keeper.py"),
        (["--colour", "red", "--", "true"], "usage: keeper.py"),
        (["--grace", "--", "true"], "usage: keeper.py"),
        (["--signal", "KILL", "--", "true"], "'KILL'"),
        (["--grace", "nan", "--", "true"], "'nan'"),
        (["--grace", "soon", "--", "true"], "'soon'"),
        (["--user", "no such user", "--", "true"], "'no such user'"),
    ],
)
def test_wrong_arguments_are_refused_with_the_value(arguments: list[str], said: str) -> None:
    keeper = keeper_command(["true"])[:6]
    ended = subprocess.run([*keeper, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ended.returncode == 125
    assert said in ended.stderr
    assert ended.stderr.startswith("keeper: ")
    assert "Traceback" not in ended.stderr


def test_stopping_twice_and_closing_after_the_end_are_harmless() -> None:
    kept = Kept(["sleep", "600"])
    status = kept.stop(SOON_S)
    assert kept.stop(SOON_S) == status
    kept.close()
    kept.close()
    assert kept.poll() == status


def test_stop_that_takes_too_long_says_so_and_the_end_still_comes() -> None:
    command = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]
    with Kept(command, grace_s=0.5, stdout=subprocess.PIPE) as kept:
        assert kept.stdout is not None
        assert kept.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            kept.stop(0.01)
        assert kept.wait(SOON_S) == 128 + signal.SIGKILL
