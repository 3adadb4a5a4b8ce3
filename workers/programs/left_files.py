"""Reads files that measured programs left: they may be links to elsewhere, pipes that nobody writes to, or endless."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_left(root: Path, path: Path, most_b: int) -> bytes:
    """Return the first `most_b` bytes of a file below `root`; whoever made it is not running any more.

    Raises:
        OSError: there is no such file, it is no ordinary one, or a link leads out of `root`.
    """
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(os.path.realpath(root)):
        raise OSError(errno.EXDEV, "it is a link to elsewhere", str(path))
    with os.fdopen(os.open(real, FLAGS), "rb") as content:
        if not stat.S_ISREG(os.fstat(content.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        return content.read(most_b)


def clear(path: Path) -> None:
    """Remove whatever is at a path, be it a file, a link or a folder; nothing happens if there is nothing."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        shutil.rmtree(path, ignore_errors=True)
