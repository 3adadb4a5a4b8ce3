"""Holds a program back until its clock runs: it waits at a named pipe, and the agent lets it pass."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType


class Gate:
    """A gate for one program, for the time of a block; who waits there has opened the pipe at `path` to read a line."""

    def __init__(self, path: Path) -> None:
        """Choose a path at which nothing is yet, in a folder that the program can see."""
        self.path = path
        self._is_there = False

    def __enter__(self) -> Gate:
        os.mkfifo(self.path)
        self._is_there = True
        self.path.chmod(0o644)  # the program may be another user's
        # For writing alone it would have to be opened after the program has done so for reading.
        self._pipe = os.open(self.path, os.O_RDWR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.close(self._pipe)
        if self._is_there:
            self.path.unlink()

    def let_pass(self) -> int:
        """Let the program pass that waits there, and return when that was [ns of the monotonic clock].

        It finds no trace of the gate, and so can do nothing to it.
        """
        self.path.unlink()
        self._is_there = False
        passed_ns = time.monotonic_ns()
        os.write(self._pipe, b"\n")
        return passed_ns
