"""The folders of one run: work trees, private homes, caches. All of it goes when the run ends.

Paths that a measured process sees have the same length in both arms and in every invocation, since the length of
environment and arguments moves the stack.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Self

from workers.protocol import Arm


class Workspace:
    """A run's folder; as a context manager it is made anew, and removed at the end."""

    def __init__(self, work_dir: Path, run_id: int) -> None:
        self.path = work_dir / str(run_id)
        self._homes = 0

    def checkout(self, arm: Arm) -> Path:
        """Return where an arm's work tree is."""
        return self.path / "arms" / arm

    def caches(self, arm: Arm) -> Path:
        """Return where compilers keep what they make for an arm."""
        return self.path / "caches" / arm

    def new_home(self) -> Path:
        """Return a new, empty folder for one process: its home, its temporary files, its result."""
        self._homes += 1
        home = self.path / "homes" / f"{self._homes:06d}"
        home.mkdir(parents=True, mode=0o700)
        return home

    def __enter__(self) -> Self:
        remove_tree(self.path)
        (self.path / "arms").mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        remove_tree(self.path)


def tree_size_b(path: Path) -> int:
    """Return the size of all files in a folder [B]; 0 if it is not there, and for files that vanish meanwhile."""
    return sum(_file_size_b(os.path.join(base, name)) for base, _, names in os.walk(path) for name in names)


def _file_size_b(path: str) -> int:
    try:
        entry = os.lstat(path)
    except FileNotFoundError:
        return 0
    return entry.st_size if stat.S_ISREG(entry.st_mode) else 0


def remove_tree(path: Path) -> None:
    """Remove a folder as far as possible, read-only folders in it too; nothing happens if it is not there."""
    with contextlib.suppress(RecursionError):
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)
    if path.is_dir() and not path.is_symlink():  # folders in folders, deeper than Python goes
        for argv in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run([*argv, "--", str(path)], stderr=subprocess.DEVNULL, check=False)


def _open_up(path: Path) -> None:
    """Give oneself all rights in a folder."""
    for base, folders, _ in os.walk(path):
        for name in folders:
            folder = Path(base, name)
            mode = folder.lstat().st_mode
            if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
                folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
