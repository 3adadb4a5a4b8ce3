"""A guardian process: it runs one command and leaves nothing of it behind, whatever becomes of its owner.

Started with the standard library alone, before every measured process and every embedded server:

    python -I -S -c START keeper.py
        [--user NAME_OR_UID] [--signal INT|TERM] [--grace SECONDS] [--cgroup DIR] [--hold FD,FD...] -- COMMAND ARG...

START imports this file: a module is compiled once, what is run by path each time.
The owner is the process that starts the keeper and holds the other end of the pipe on its standard input.
The command runs in a session (and so a process group) of its own, with an empty standard input; everything
else it inherits: environment, working directory, output and error, other open descriptors. Its end comes

- by itself: what is left of its descendants is killed at once;
- because the owner asks (closes the pipe, or sends TERM, INT or HUP) or dies: `--signal` goes to the
  command's process group, everything has `--grace` seconds to end, and the rest is killed;
- because the keeper is killed: the kernel kills the command, but not the command's descendants.

Descendants that change session or double-fork do not escape: the keeper is their sub-reaper, so they become
its children when their parents die. `--cgroup` names an existing cgroup v2 folder for this command alone; the
command joins it, and killing it reaches even those who fork faster than they can be listed. `--hold` names inherited
descriptors that stay the keeper's: a lock lasts as long as the keeper does, and the command cannot give it up.

The keeper ends with the command's exit status, 128 + n after signal n, 125 when it failed itself, 126 when
the command could not be run, 127 when it was not found.

Linux only. It does without what a kernel lacks: pidfds (before 5.3), `cgroup.kill` (before 5.14), lists of
children. It is no sandbox: it sets no limits, and what it may not kill (setuid programs) it only reports.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import pwd
import select
import sys
import time

TYPE_CHECKING = False  # `typing` would cost a third of the start-up time
if TYPE_CHECKING:
    import signal as signals
    import subprocess
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO, NoReturn
else:
    import _signal as signals  # what `signal` makes enumerations of, which takes a quarter of the start-up time

START = "import sys; sys.path.append(sys.argv[1].rpartition('/')[0]); import keeper; keeper.run(sys.argv[2:])"
USAGE = (
    "keeper.py [--user NAME_OR_UID] [--signal INT|TERM] [--grace SECONDS] [--cgroup DIR] [--hold FD,...] "
    "-- COMMAND..."
)
DEFAULTS = {"--user": "", "--signal": "TERM", "--grace": "5", "--cgroup": "", "--hold": ""}
END_SIGNALS = {"INT": signals.SIGINT, "TERM": signals.SIGTERM}
ASKS_TO_STOP = (signals.SIGTERM, signals.SIGINT, signals.SIGHUP)
LONGEST_GRACE_S = 86400.0
KILL_BOUND_S = 10.0
"""How long killed processes may take to vanish; one in a device driver's hands may never do so."""
FAILED, CANNOT_RUN, NOT_FOUND = 125, 126, 127

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
STANDARD_INPUT = 0


# --- for owners ---------------------------------------------------------------------------------------------


def keeper_command(
    command: Sequence[str],
    *,
    user: str | int | None = None,
    signal: str = "TERM",
    grace_s: float = 5.0,
    cgroup: str | Path | None = None,
    hold_fds: Sequence[int] = (),
    python: str = sys.executable,
) -> list[str]:
    """Return the argument vector that runs `command` under a keeper.

    Args:
        command: Program and arguments; the program is looked up on PATH.
        user: Name or number of the user that the command runs as; needs root unless it is oneself.
        signal: What asks the command to end: "INT" or "TERM".
        grace_s: What the command then has before it is killed [s].
        cgroup: An existing, writable cgroup v2 folder that is the command's alone.
        hold_fds: Descriptors that the keeper inherits and does not pass on.
        python: The interpreter of the keeper, not of the command.
    """
    options = ["--signal", signal, "--grace", str(grace_s)]
    if user is not None:
        options += ["--user", str(user)]
    if cgroup is not None:
        options += ["--cgroup", str(cgroup)]
    if hold_fds:
        options += ["--hold", ",".join(map(str, hold_fds))]
    return [python, "-I", "-S", "-c", START, os.path.abspath(__file__), *options, "--", *command]


class Kept:
    """A command under a keeper, as its owner sees it; as a context manager it ends with the block.

    `user`, `signal`, `grace_s`, `cgroup` and `hold_fds` are those of `keeper_command`; the rest are
    `subprocess.Popen`'s.
    Exit statuses are the keeper's (see the module); a negative one says that the keeper itself was killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        user: str | int | None = None,
        signal: str = "TERM",
        grace_s: float = 5.0,
        cgroup: str | Path | None = None,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        pass_fds: Sequence[int] = (),
        hold_fds: Sequence[int] = (),
    ) -> None:
        import subprocess  # here, because the keeper does without it and must start fast

        self._grace_s = grace_s
        self._keeper: subprocess.Popen[bytes] = subprocess.Popen(
            keeper_command(
                command, user=user, signal=signal, grace_s=grace_s, cgroup=cgroup, hold_fds=hold_fds
            ),
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(*pass_fds, *hold_fds),
            bufsize=0,
            start_new_session=True,  # a terminal's Ctrl-C is the owner's to handle
        )

    @property
    def pid(self) -> int:
        """The keeper's process id; the command is its child."""
        return self._keeper.pid

    @property
    def stdout(self) -> IO[bytes] | None:
        """The reading end of the command's output, if `stdout=subprocess.PIPE` was given."""
        return self._keeper.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The reading end of the command's error output, if `stderr=subprocess.PIPE` was given."""
        return self._keeper.stderr

    def poll(self) -> int | None:
        """Return the exit status, or None while anything of the command is left."""
        return self._keeper.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status.

        Raises `subprocess.TimeoutExpired` after `timeout` [s].
        """
        return self._keeper.wait(timeout)

    def stop(self, timeout: float | None = None) -> int:
        """Ask for the end, wait for it and return the exit status.

        Raises `subprocess.TimeoutExpired` after `timeout` [s]; the end is still on its way then.
        """
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        self._keeper.terminate()  # a child that the owner forked meanwhile may hold a copy of the pipe
        self._keeper.send_signal(signals.SIGCONT)  # the command may have stopped it
        return self._keeper.wait(timeout)

    def close(self) -> None:
        """End the command if it still runs, and release the pipes; at worst the keeper is killed."""
        import subprocess

        try:
            self.stop(self._grace_s + KILL_BOUND_S + 5.0)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
        with self._keeper:  # closes the pipes, waits
            pass

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- the keeper itself --------------------------------------------------------------------------------------


class KeeperError(Exception):
    """The keeper cannot do what it was asked to do."""


class Options:
    """The command line, checked."""

    def __init__(self, arguments: list[str]) -> None:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        names, values = arguments[:end:2], arguments[1:end:2]
        self.command = arguments[end + 1 :]
        if len(names) != len(values) or not set(names) <= set(DEFAULTS) or not self.command:
            raise KeeperError(f"cannot read the arguments {arguments}; usage: {USAGE}")
        given = {**DEFAULTS, **dict(zip(names, values, strict=True))}
        self.identity = identity_of(given["--user"]) if given["--user"] else None
        self.signal = END_SIGNALS.get(given["--signal"])
        self.grace_s = seconds(given["--grace"])
        self.cgroup = given["--cgroup"]
        self.held = descriptors(given["--hold"])
        if self.signal is None:
            raise KeeperError(f"--signal is INT or TERM, not {given['--signal']!r}")


def seconds(text: str) -> float:
    """Return `text` as a duration [s] that can be waited for."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_GRACE_S:
        raise KeeperError(f"--grace is a number of seconds from 0 to {LONGEST_GRACE_S:.0f}, not {text!r}")
    return value


def descriptors(text: str) -> list[int]:
    """Return the numbers in `text`, which commas part."""
    words = [word for word in text.split(",") if word]
    if not all(word.isdigit() for word in words):
        raise KeeperError(f"--hold is numbers of descriptors with commas between them, not {text!r}")
    return [int(word) for word in words]


def identity_of(user: str) -> tuple[int, int, list[int]]:
    """Return user id, group id and all groups; a number without an account stands for user and group."""
    try:
        entry = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
    except KeyError:
        if not user.isdigit():
            raise KeeperError(f"--user: there is no user {user!r} on this machine") from None
        return int(user), int(user), [int(user)]
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)


class Events:
    """What the keeper sleeps on: its owner's pipe, its owner's life, and signals."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._poll = select.poll()
        self._poll.register(STANDARD_INPUT, select.POLLIN)
        self._owner = self._watch_owner()
        self._signals = self._catch_signals()

    def _watch_owner(self) -> int | None:
        try:
            owner = os.pidfd_open(os.getppid())
        except OSError:  # an old kernel: the pipe alone must do
            return None
        self._poll.register(owner, select.POLLIN)
        return owner

    def _catch_signals(self) -> int:
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signals.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in (signals.SIGCHLD, *ASKS_TO_STOP):
            signals.signal(number, lambda *_: None)
        signals.pthread_sigmask(signals.SIG_SETMASK, [])  # an owner's thread may have blocked some
        self._poll.register(reading, select.POLLIN)
        return reading

    def wait(self, timeout_s: float | None = None) -> None:
        """Sleep until something happens or `timeout_s` has passed; may note `stop_asked`."""
        for ready, _ in self._poll.poll(None if timeout_s is None else math.ceil(timeout_s * 1000)):
            if ready == self._signals:
                self.stop_asked |= any(number in ASKS_TO_STOP for number in os.read(ready, 4096))
            elif ready == self._owner or is_at_end(ready):
                self._poll.unregister(ready)
                self.stop_asked = True


def is_at_end(pipe: int) -> bool:
    """Read away what an owner has written; say whether it can write no more."""
    try:
        return not os.read(pipe, 4096)
    except OSError:
        return True


class Family:
    """The command and all its descendants."""

    def __init__(self, pid: int, options: Options, events: Events) -> None:
        self.status: int | None = None
        """The command's exit status, once it has been collected."""
        self._pid = pid
        self._options = options
        self._events = events

    def keep(self) -> int:
        """Wait for the command's end, or bring it about; return its exit status when nothing is left."""
        while not self._command_ended():
            if self._events.stop_asked:
                self._ask_to_end()
                break
            self._events.wait()
        self._kill()
        assert self.status is not None
        return self.status

    def _command_ended(self) -> bool:
        """Collect adopted processes that ended; say whether the command has, without collecting it."""
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == self._pid:
                return True
            os.waitpid(ended.si_pid, 0)
        return False

    def _all_ended(self) -> bool:
        """Collect whatever has ended; say whether nothing is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self.status = code if code >= 0 else 128 - code
        except ChildProcessError:
            return True

    def _ask_to_end(self) -> None:
        send_to_group(self._pid, self._options.signal or signals.SIGTERM)
        deadline = time.monotonic() + self._options.grace_s
        while not self._all_ended() and (left := deadline - time.monotonic()) > 0:
            self._events.wait(left)

    def _kill(self) -> None:
        if self.status is None:  # not collected, so its number cannot mean another group yet
            send_to_group(self._pid, signals.SIGKILL)
        if self._options.cgroup:
            kill_cgroup(self._options.cgroup)
        deadline = time.monotonic() + KILL_BOUND_S
        while not self._all_ended():
            if time.monotonic() > deadline:
                raise KeeperError(f"could not kill the processes {children()}")
            kill_each(children())
            self._events.wait(0.05)


def send_to_group(pid: int, number: int) -> None:
    """Send a signal to the process group of `pid`, if there is still one."""
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def kill_each(pids: list[int]) -> None:
    """Kill children; their own children then become the keeper's."""
    for pid in pids:
        try:
            os.kill(pid, signals.SIGKILL)
        except OSError:
            pass


def kill_cgroup(folder: str) -> None:
    """Kill all processes of a cgroup at once, where the kernel can."""
    try:
        write(os.path.join(folder, "cgroup.kill"), b"1")
    except OSError:
        pass


def write(path: str, content: bytes) -> None:
    """Write to an existing kernel file in one call."""
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, content)
    finally:
        os.close(handle)


def children() -> list[int]:
    """Return the ids of the keeper's children, adopted ones included, ended ones too."""
    try:
        with open("/proc/thread-self/children", "rb") as listing:
            return [int(word) for word in listing.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        keeper = os.getpid()
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == keeper]


def parent_of(pid: str) -> int | None:
    """Return the parent's id, or None when there is no such process any more."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])  # a name may hold anything, even ") S 1"
    except OSError:
        return None


def launch(options: Options) -> int:
    """Start the command and return its process id, not before it is the leader of its group."""
    keeper = os.getpid()
    started, starting = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os._exit(become_command(options, keeper))
    os.close(starting)
    os.read(started, 1)  # nothing comes: the end of this pipe is the moment of the exec
    os.close(started)
    return pid


def become_command(options: Options, keeper: int) -> int:
    """Turn this fresh child into the command; return an exit status if that fails."""
    try:
        prepare_child(options)
        prctl(PR_SET_PDEATHSIG, signals.SIGKILL)  # after the change of user, which clears it
        if os.getppid() != keeper:
            return FAILED
    except OSError as error:
        return complain(f"cannot prepare {options.command[0]!r}: {error}", FAILED)
    try:
        execute(options.command, original_environment())
    except FileNotFoundError as error:
        return complain(f"cannot run {options.command[0]!r}: {error.strerror}", NOT_FOUND)
    except (OSError, ValueError) as error:
        return complain(f"cannot run {options.command[0]!r}: {error}", CANNOT_RUN)


def prepare_child(options: Options) -> None:
    """Set session, cgroup, standard input, signals and user as the command shall find them."""
    os.setsid()
    if options.cgroup:
        write(os.path.join(options.cgroup, "cgroup.procs"), b"0")
    os.dup2(os.open(os.devnull, os.O_RDONLY), STANDARD_INPUT)
    for number in (signals.SIGPIPE, signals.SIGXFSZ):  # Python ignores them, and exec keeps that
        signals.signal(number, signals.SIG_DFL)
    if options.identity and options.identity[0] != os.geteuid():
        user, group, groups = options.identity
        os.setgroups(groups)
        os.setgid(group)
        os.setuid(user)


def execute(command: list[str], environment: dict[bytes, bytes]) -> NoReturn:
    """Become `command`, looked up on PATH.

    `os.execvpe` would import a module, which the user that we have become may not be able to read.
    """
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    path = os.fsdecode(environment.get(b"PATH", b"/bin:/usr/bin"))
    for folder in [""] if "/" in command[0] else path.split(":"):
        program = os.path.join(folder, command[0])
        try:
            os.execve(program, command, environment)  # noqa: S606 (no shell)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            if os.path.exists(program):  # not so in a folder that is closed to us; a later one may have it
                failure = error
    raise failure


def original_environment() -> dict[bytes, bytes]:
    """Return the environment as the owner gave it: in the C locale Python adds LC_CTYPE to its own."""
    try:
        with open("/proc/self/environ", "rb") as block:
            entries = block.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    return {name: value for name, equals, value in (entry.partition(b"=") for entry in entries) if equals}


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process, where the kernel knows it."""
    LIBC.prctl(option, ctypes.c_ulong(value))


def leave_terminal() -> None:
    """Begin a session, so that Ctrl-C reaches the owner alone; a job of an interactive shell cannot."""
    try:
        os.setsid()
    except OSError:
        pass


def complain(message: str, status: int) -> int:
    """Say what went wrong and pass the exit status on."""
    sys.stderr.write(f"keeper: {message}\n")
    sys.stderr.flush()
    return status


def run(arguments: list[str]) -> NoReturn:
    """Be the keeper of the command that `arguments` name, and end as it does."""
    os._exit(main(arguments))


def main(arguments: list[str]) -> int:
    """Run the command that `arguments` name to its end and return the exit status."""
    try:
        options = Options(arguments)
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # a kernel that refuses leaves us the process group
        leave_terminal()
        for descriptor in options.held:
            os.set_inheritable(descriptor, False)
        events = Events()
        return Family(launch(options), options, events).keep()
    except (KeeperError, OSError) as error:
        return complain(str(error), FAILED)
