"""A file that somebody names to have something written: whole or not at all, and never in the place of a device."""

from __future__ import annotations

import os
from pathlib import Path

from app.domain.errors import UsageError


def file_behind(named: Path) -> Path:
    """Return the file that a name leads to, through links; it need not be there.

    Raises:
        UsageError: something else is there, a device or a pipe.
    """
    if _is_special(named):
        raise UsageError(f"{named} is no file: what is written takes the place of one, once it is whole")
    return named.resolve()


def write_whole(named: Path, content: bytes) -> None:
    """Write a whole file or none: what was there stays until the new one is complete. A pipe gets it as it comes."""
    if _is_special(named):
        with named.open("wb") as opened:
            opened.write(content)
        return
    file = named.resolve()
    part = file.with_name(f".{file.name[:80]}.{os.getpid()}.part")
    try:
        with part.open("xb") as opened:
            opened.write(content)
        if file.exists():
            part.chmod(file.stat().st_mode & 0o777)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _is_special(named: Path) -> bool:
    return named.exists() and not named.is_file()
