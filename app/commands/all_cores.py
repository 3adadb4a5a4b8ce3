"""Work over many items on all cores, by forked processes: they inherit what they work on, and send back results."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from app.domain.errors import UnavailableError

Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that the kernel sends to a process when the one that forked it is gone."""

_work: Callable[[Any], Any] | None = None
"""What a forked process does with an item; set before the fork, so that it need not be sent."""


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Tell whether a fork of this process is safe: not on macOS, whose libraries do not survive one."""
    return sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()


def mapped(work: Callable[[Any], Result], items: Sequence[Any], *, n_processes: int) -> Iterator[Result]:
    """Yield `work(item)` for each item in order, computed by forked processes, or here if there is to be only one.

    However it ends, no process is left: not after an interrupt, and not after this process is killed.

    Raises:
        UnavailableError: a process was killed from outside, as for want of memory.
    """
    n_processes = min(n_processes, len(items))
    if n_processes <= 1 or not can_fork():
        yield from map(work, items)
        return
    yield from _forked(work, items, n_processes)


def _forked(work: Callable[[Any], Result], items: Sequence[Any], n_processes: int) -> Iterator[Result]:
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    global _work
    _work = work
    pool = ProcessPoolExecutor(n_processes, multiprocessing.get_context("fork"), _begin, (os.getpid(),))
    try:
        yield from pool.map(_do, items)
        pool.shutdown()
    except BrokenProcessPool:
        raise UnavailableError("a process was killed while it worked; is there enough memory?") from None
    finally:
        _work = None
        for child in multiprocessing.active_children():
            child.kill()
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
