"""Two processes that work through many small tasks, with progress on stderr; answers come in the tasks' order."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

PROCESSES = 2


class Workers:
    """The processes; a context manager that ends them."""

    def __init__(self) -> None:
        self._pool = multiprocessing.get_context("spawn").Pool(PROCESSES)

    def __enter__(self) -> Workers:
        """Return itself."""
        return self

    def __exit__(self, *_: Any) -> None:
        """End the processes, and with their input those that they started."""
        self._pool.close()
        self._pool.join()

    def map(self, label: str, function: Callable[[T], R], tasks: Sequence[T], chunk: int = 4) -> list[R]:
        """Return `function` of every task; the function is a module's own, so that it can be sent."""
        started = time.monotonic()
        answers = _counted(label, self._pool.imap(function, tasks, chunk), len(tasks))
        _say(f"{label}: {len(tasks)} in {time.monotonic() - started:.1f} s\n")
        return answers


def _counted(label: str, answers: Iterable[R], total: int) -> list[R]:
    done: list[R] = []
    for answer in answers:
        done.append(answer)
        if sys.stderr.isatty() and len(done) % 10 == 0:
            _say(f"{label}: {len(done)} of {total}")
    return done


def _say(text: str) -> None:
    clear = "\r\033[K" if sys.stderr.isatty() else ""
    print(clear + text, end="", file=sys.stderr, flush=True)
