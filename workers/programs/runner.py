"""Runs other people's programs: each under a keeper, within a time limit, with bounded output, within the lease.

Where there are control groups, each has one of its own, too. Everything that a job starts comes through here, git and
installers included, so that nothing outlives its lease. The program may print without end, kill its process group or
its keeper, or leave children behind; all of that is an `Ended`, no error.
"""

from __future__ import annotations

import logging
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from workers.errors import JobError
from workers.keeper import Kept
from workers.lease.tenure import Tenure
from workers.programs.cgroups import Cgroup, Cgroups
from workers.programs.gate import Gate
from workers.programs.sandbox.bubblewrap import OUTSIDE, Command, Confinement
from workers.protocol import CaseStatus

log = logging.getLogger(__name__)

KEPT_B = 64 * 1024
TAIL_B = 16 * 1024
"""The end of a program's output that is told to people."""
PIPE_B = 64 * 1024
READY = b"\0"
GRACE_S = 5.0
BWRAP_FAILED = 1
"""What bubblewrap ends with where it could not make a sandbox."""
LEFT_OVER_S = 5.0
"""How long output is still read when the keeper is gone and something of the program holds on to the pipe."""
ASK_AGAIN_S = 1.0
"""How often a keeper whose end cannot be waited for is looked at, once it was asked to end its program."""


class Output:
    """What a program printed: the first and the last bytes, `kept_b` each, and how much there was between them."""

    def __init__(self, kept_b: int = KEPT_B) -> None:
        self._kept_b = kept_b
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        room = self._kept_b - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        excess = max(0, len(self._tail) - self._kept_b)
        del self._tail[:excess]
        self._dropped += excess

    @property
    def raw(self) -> bytes:
        """All that was kept, as it was printed."""
        return bytes(self._head + self._tail)

    @property
    def text(self) -> str:
        """All that was kept, with a line that says what was dropped."""
        gap = f"\n[{self._dropped} bytes left out]\n" if self._dropped else ""
        return _readable(self._head) + gap + _readable(self._tail)

    def tail(self, size: int = TAIL_B) -> str:
        """Return the last `size` bytes or less."""
        return _readable((self._head + self._tail if not self._dropped else self._tail)[-size:])


@dataclass(frozen=True)
class Program:
    """What to run, and how long it may take [s].

    `gate`: where it waits after it has printed `READY`, which is no output; its clock runs from when it may pass, and
    misses nothing of it, however late it is heard. `pass_fds` stay open in it.
    `kept_b`: how much is kept of the beginning and of the end of its output, each. `confinement`: what it may see of
    the machine; None runs it beside the agent. One that is confined does not get `pass_fds`: they stay its keeper's.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    timeout_s: float
    gate: Gate | None = None
    pass_fds: Sequence[int] = ()
    kept_b: int = KEPT_B
    confinement: Confinement | None = None


@dataclass(frozen=True)
class Ended:
    """How a program ended. `exit_code` is a shell's: 128 + n after signal n."""

    exit_code: int
    timed_out: bool
    out_of_memory: bool
    output: Output = field(repr=False)
    started_at: datetime
    t_start_ns: int
    duration_ns: int
    timeout_s: float

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself with status 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def status(self) -> CaseStatus:
        """The status of what it was to measure."""
        if self.timed_out:
            return "timeout"
        if self.out_of_memory:
            return "oom"
        return "ok" if self.exit_code == 0 else "failed"

    @property
    def reason(self) -> str:
        """A code and a sentence; empty if all is well."""
        if self.timed_out:
            return f"timeout: it ran for over {self.timeout_s:.0f} s and was stopped"
        if self.out_of_memory:
            return "oom: the kernel killed it because memory ran out"
        if self.exit_code > 128:
            return f"killed: it was ended by signal {_signal_name(self.exit_code - 128)}"
        return f"exit_code: it ended with exit status {self.exit_code}" if self.exit_code else ""


class Runner:
    """Runs programs one after another for as long as the lease lasts."""

    def __init__(self, tenure: Tenure, cgroups: Cgroups) -> None:
        self._tenure = tenure
        self._cgroups = cgroups

    def run(self, program: Program) -> Ended:
        """Run a program to its end and return how that came.

        Raises:
            LeaseEndedError: the lease was over before or ended meanwhile; nothing of the program is left.
            JobError: it could not be started, or its sandbox could not be made.
        """
        self._tenure.check()
        kills_before = _out_of_memory_kills()
        watch = _Watch(program)
        limits = program.confinement.sandbox.limits if program.confinement else None
        with self._cgroups.new(limits) as cgroup, _confined(program) as command:
            exit_code = self._follow(program, cgroup, command, watch)
            failed = exit_code == BWRAP_FAILED and command is not None and not command.was_set_up()
        self._tenure.on_end = lambda: None
        self._tenure.check()
        if failed and not watch.timed_out:
            message = f"the sandbox could not be set up for {program.argv[0]}"
            raise JobError("sandbox_failed", message, log_tail=watch.output.tail())
        if exit_code < 0:  # the program has killed its keeper, and ended with it
            exit_code = 128 - exit_code
        was_killed = exit_code == 128 + signal.SIGKILL and not watch.timed_out
        return watch.ended(exit_code, out_of_memory=was_killed and _out_of_memory_kills() > kills_before)

    def _follow(self, program: Program, cgroup: Cgroup | None, command: Command | None, watch: _Watch) -> int:
        """Run a program to its end; return its exit status, a negative one if its keeper was killed."""
        with _start(program, cgroup, command) as kept:
            self._tenure.on_end = lambda: _ask_to_end(kept)
            if self._tenure.over.is_set():  # it may have come before anyone was told
                _ask_to_end(kept)
            watch.follow(kept, cgroup)
            return kept.wait()


class _Watch:
    """Follows one program: reads its output, and has it ended when its time is up."""

    def __init__(self, program: Program) -> None:
        self.output = Output(program.kept_b)
        self.timed_out = False
        self._program = program
        self._started_at = datetime.now(UTC)
        self._t_start_ns = self._t_end_ns = time.monotonic_ns()
        self._gate = program.gate
        """Where it still waits."""
        self._keeper_is_gone = False
        self._deadline: float | None = time.monotonic() + program.timeout_s
        """When patience ends; None while the keeper brings about the end."""

    def follow(self, kept: Kept, cgroup: Cgroup | None) -> None:
        """Return when the program's output has ended, which it does with its last process.

        A program that has killed its keeper may leave processes; those of a control group are killed, others are not
        waited for.
        """
        assert kept.stdout is not None
        pipe = kept.stdout.fileno()
        with selectors.DefaultSelector() as selector, _life_of(kept.pid) as keeper:
            selector.register(pipe, selectors.EVENT_READ)
            if keeper is not None:
                selector.register(keeper, selectors.EVENT_READ)
            while not (self._keeper_is_gone and self._left_s() == 0):
                ready = [key.fd for key, _ in selector.select(self._left_s())]
                if keeper in ready:
                    selector.unregister(keeper)
                    self._lose_keeper(cgroup)
                elif self._left_s() == 0 and not self._keeper_is_gone:
                    if kept.poll() is not None:
                        self._lose_keeper(cgroup)
                    else:
                        self._time_out(kept, again_s=ASK_AGAIN_S if keeper is None else None)
                if pipe in ready and not self._read(pipe):
                    return
        log.warning("%s outlived its keeper, or something that it started did", self._program.argv[0])

    def ended(self, exit_code: int, *, out_of_memory: bool) -> Ended:
        """Return the whole story."""
        duration_ns = self._t_end_ns - self._t_start_ns
        times = (self._started_at, self._t_start_ns, duration_ns, self._program.timeout_s)
        return Ended(exit_code, self.timed_out, out_of_memory, self.output, *times)

    def _read(self, pipe: int) -> bool:
        """Take what there is; False at the end, which is the program's."""
        self._t_end_ns = time.monotonic_ns()
        chunk = os.read(pipe, PIPE_B)
        self.output.add(chunk if self._gate is None else self._at_gate(chunk, self._gate))
        return bool(chunk)

    def _at_gate(self, chunk: bytes, gate: Gate) -> bytes:
        """Let the program pass, and start its clock, once it says that it is ready; return what else it printed."""
        before, ready, after = chunk.partition(READY)
        if ready and not self.timed_out:
            self._gate = None
            self._t_start_ns = self._t_end_ns = gate.let_pass()
            self._deadline = time.monotonic() + self._program.timeout_s
        return before + after

    def _left_s(self) -> float | None:
        """Return the time until patience ends [s]; None where there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _time_out(self, kept: Kept, *, again_s: float | None) -> None:
        self.timed_out = True
        self._deadline = None if again_s is None else time.monotonic() + again_s
        _ask_to_end(kept)

    def _lose_keeper(self, cgroup: Cgroup | None) -> None:
        """Wait but a little longer for the output, as nobody ends any more what holds on to it."""
        self._keeper_is_gone, self._deadline = True, time.monotonic() + LEFT_OVER_S
        self._t_end_ns = time.monotonic_ns()
        if cgroup is not None:
            cgroup.kill()


@contextmanager
def _life_of(pid: int) -> Iterator[int | None]:
    """Give a descriptor that can be read when the process has ended; None where the kernel has none (before 5.3)."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _confined(program: Program) -> Iterator[Command | None]:
    """Give the command that confines a program; None for one that runs beside the agent."""
    its = program.confinement
    if its is None:
        yield None
        return
    with its.sandbox.command(program.argv, program.env, program.cwd, its) as command:
        yield command


def _start(program: Program, cgroup: Cgroup | None, command: Command | None) -> Kept:
    confined = command is not None
    try:
        return Kept(
            program.argv if command is None else command.argv,
            cwd="/" if confined else program.cwd,
            env=OUTSIDE if confined else program.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=program.pass_fds if command is None else command.fds,
            hold_fds=program.pass_fds if confined else (),
            grace_s=GRACE_S,
            cgroup=None if cgroup is None else cgroup.folder,
        )
    except OSError as error:
        raise JobError("agent_fault", f"{program.argv[0]} could not be started: {error}") from error


def _ask_to_end(kept: Kept) -> None:
    """Have the keeper end everything, without waiting for it."""
    try:
        kept.stop(timeout=0)
    except subprocess.TimeoutExpired:
        log.debug("process %d was asked to end", kept.pid)


def _out_of_memory_kills() -> int:
    """Return how many processes the kernel has killed for want of memory since boot."""
    try:
        match = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return int(match[1]) if match else 0


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _readable(raw: bytes | bytearray) -> str:
    """Return text for people: what is no UTF-8 is replaced, and so is NUL, which no database takes."""
    return raw.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
