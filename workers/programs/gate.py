"""Holds a program back until its clock runs: it waits at a named pipe, and the agent lets it pass."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType


class Gate:
    """A gate for one program, for the time of a block; who waits there reads a line of the pipe at `path`."""

    def __init__(self, path: Path) -> None:
        """Choose a path at which nothing is yet, in a folder that the program can see."""
        self.path = path

    def __enter__(self) -> Gate:
        os.mkfifo(self.path)
        self.path.chmod(0o644)  # the program may be another user's
        # For writing alone it would have to be opened after the program has done so for reading.
        self._pipe = os.open(self.path, os.O_RDWR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.close(self._pipe)
        self.path.unlink(missing_ok=True)

    def let_pass(self) -> None:
        """Let the program pass, now or when it comes."""
        os.write(self._pipe, b"\n")
