"""Vendors' commands, asked within bounds: a tool that hangs, floods or dies costs a reading, never the agent.

`ask` runs a command once. `Poller` asks again and again in a thread of its own, and `Stream` reads a command that
prints line after line; both give the newest answer at once, and none where it has grown old.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

LONGEST_ANSWER_B = 16 * 1024**2
LONGEST_LINE_B = 4 * 1024**2
CHUNK_B = 64 * 1024
ASK_TIMEOUT_S = 10.0

T = TypeVar("T")


class ToolError(Exception):
    """A vendor's tool gave no answer; the message says which, and why."""


def ask(argv: Sequence[str], *, timeout_s: float = ASK_TIMEOUT_S) -> str:
    """Return what a command prints on standard output, whatever its exit status, if it prints anything.

    Raises:
        ToolError: it is not there, does not end in time, prints too much, or fails without a word.
    """
    program = shutil.which(argv[0])
    if program is None:
        raise ToolError(f"{argv[0]} is not on PATH")
    try:
        process = subprocess.Popen(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"{argv[0]} could not be started: {error}") from error
    try:
        output, errors = _all_of(process, time.monotonic() + timeout_s)
    except TimeoutError as error:
        raise ToolError(f"{' '.join(argv)} did not answer within {timeout_s:g} s") from error
    except OverflowError as error:
        raise ToolError(f"{argv[0]} printed over {LONGEST_ANSWER_B} bytes") from error
    finally:
        end(process)
    if not output.strip() and (process.returncode or errors.strip()):
        words = errors.decode(errors="replace").strip().splitlines()
        raise ToolError(
            f"{argv[0]} failed with status {process.returncode}: {words[-1] if words else 'no word'}"
        )
    return output.decode(errors="replace")


def _all_of(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Return what a tool prints until both its pipes end.

    Raises:
        TimeoutError: it does not end in time.
        OverflowError: it prints too much.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, CHUNK_B)
                pipe = process.stdout if key.fileobj is process.stdout else process.stderr
                kept[pipe] += chunk
                if not chunk:
                    selector.unregister(pipe)
                if len(kept[pipe]) > LONGEST_ANSWER_B:
                    raise OverflowError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    return bytes(kept[process.stdout]), bytes(kept[process.stderr])


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a tool and whatever it started in its session, without waiting."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a tool and whatever it started in its session; wait a little, as a tool stuck in a driver never ends."""
    kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


class Latest(Generic[T]):
    """The newest answer of a source, and since when it is known."""

    def __init__(self, oldest_s: float) -> None:
        self._oldest_s = oldest_s
        self._lock = threading.Lock()
        self._answer: tuple[float, T] | None = None
        self._trouble = "nothing was read so far"

    def put(self, answer: T) -> None:
        """Take an answer that came just now."""
        with self._lock:
            self._answer = (time.monotonic(), answer)

    def fail(self, trouble: str) -> None:
        """Remember why there is no newer answer."""
        with self._lock:
            self._trouble = trouble

    def get(self) -> T | None:
        """Return the newest answer, or None where there is none or it has grown old."""
        with self._lock:
            if self._answer is None or time.monotonic() - self._answer[0] > self._oldest_s:
                return None
            return self._answer[1]

    @property
    def trouble(self) -> str:
        """Why there is no answer."""
        return self._trouble


class Poller(Generic[T]):
    """Asks a function that may take long, every `period_s`, in a thread; `latest` is at once.

    The thread begins with the first question and ends with `close`, or with the process.
    """

    def __init__(self, question: Callable[[], T], *, period_s: float, oldest_s: float) -> None:
        self._question = question
        self._period_s = period_s
        self._latest: Latest[T] = Latest(oldest_s)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def latest(self) -> T | None:
        """Return the newest answer; None where there is none, or it has grown old."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="vendor tool", daemon=True)
            self._thread.start()
        return self._latest.get()

    @property
    def trouble(self) -> str:
        """Why there is no answer."""
        return self._latest.trouble

    def close(self) -> None:
        """Ask no more; does not wait for a question on its way."""
        self._over.set()

    def _work(self) -> None:
        while not self._over.is_set():
            try:
                self._latest.put(self._question())
            except Exception as error:  # the edge of the thread: a reading is lost, and why is told
                self._latest.fail(str(error) or type(error).__name__)
            self._over.wait(self._period_s)


class Stream(Generic[T]):
    """Keeps a command that prints a line a period; `latest` is the newest line, read. Started anew when it ends."""

    def __init__(
        self, argv: Sequence[str], read: Callable[[str], T], *, oldest_s: float, again_s: float = 5.0
    ) -> None:
        self._argv = list(argv)
        self._read = read
        self._again_s = again_s
        self._latest: Latest[T] = Latest(oldest_s)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def latest(self) -> T | None:
        """Return the newest line, read; None where there is none, or it has grown old."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="vendor tool", daemon=True)
            self._thread.start()
        return self._latest.get()

    @property
    def trouble(self) -> str:
        """Why there is no answer."""
        return self._latest.trouble

    def close(self) -> None:
        """End the command and read no more."""
        self._over.set()
        if self._process is not None:
            kill(self._process)  # its pipe is the thread's to close: it may be waiting for a line just now
        if self._thread is not None:
            self._thread.join(2.0)

    def _work(self) -> None:
        while not self._over.is_set():
            try:
                self._follow()
            except Exception as error:  # the edge of the thread: a reading is lost, and why is told
                self._latest.fail(str(error) or type(error).__name__)
            self._over.wait(self._again_s)

    def _follow(self) -> None:
        program = shutil.which(self._argv[0])
        if program is None:
            raise ToolError(f"{self._argv[0]} is not on PATH")
        process = self._process = subprocess.Popen(
            [program, *self._argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            while not self._over.is_set() and (line := process.stdout.readline(LONGEST_LINE_B)):
                if line.strip():
                    self._latest.put(self._read(line.decode(errors="replace")))
            self._latest.fail(f"{self._argv[0]} ended with status {process.poll()}")
        finally:
            end(process)
