"""Files of the kernel, read in as few steps as that takes: most are read ten times a second."""

from __future__ import annotations

import os
from pathlib import Path

MOST_B = 65536


def read_raw(path: str | Path) -> bytes | None:
    """Return the first 64 KiB of a file, or None where it is missing or may not be read.

    Without Python's layers of files: on a processor that has just woken up they cost more than the kernel does.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _whole(handle)
    except OSError:
        return None
    finally:
        os.close(handle)


def _whole(handle: int) -> bytes:
    """Return what is there; the kernel may give a page at a time."""
    parts, room = [], MOST_B
    while room > 0 and (part := os.read(handle, room)):
        parts.append(part)
        room -= len(part)
    return b"".join(parts)
