"""A file that somebody names to have something written: whole or not at all, and never in the place of a device."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from app.domain.errors import DataError, UsageError

_CANNOT_BE_REPLACED = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)
"""What is said where a file can be written, but its folder cannot: of somebody else, or the file is a mount."""


def file_behind(named: Path) -> Path:
    """Return the file that a name leads to, through links; it need not be there.

    Raises:
        UsageError: something else is there, a device or a pipe.
    """
    if _is_special(named):
        raise UsageError(f"{named} is no file: what is written takes the place of one, once it is whole")
    return Path(os.path.realpath(named))


def refuse_unwritable(named: Path) -> None:
    """Find out before the work, not after it, and without a trace. Raises DataError."""
    if named.is_dir():
        raise DataError(f"cannot write {named}: it is a folder", code="unwritable")
    if _is_special(named):
        return
    file = Path(os.path.realpath(named))
    if not file.parent.is_dir():
        raise DataError(f"cannot write {named}: {file.parent} is not a folder", code="no_folder")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise DataError(f"cannot write {named}: {os.strerror(errno.EACCES)}", code="unwritable")


def write_whole(named: Path, content: bytes) -> None:
    """Write a whole file or none: what was there stays until the new one is complete.

    A pipe gets it as it comes, and so does a file whose folder takes no other.
    """
    if _is_special(named):
        _write(named, content)
        return
    file = Path(os.path.realpath(named))
    try:
        _replace(file, content)
    except OSError as error:
        if error.errno not in _CANNOT_BE_REPLACED or not file.exists():
            raise
        _write(file, content)


def _replace(file: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=".ratchet-", suffix=".part", dir=file.parent)
    try:
        with open(descriptor, "wb") as opened:
            opened.write(content)
        Path(name).chmod(_mode(file))
        Path(name).replace(file)
    finally:
        Path(name).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as opened:
        opened.write(content)


def _mode(file: Path) -> int:
    """Return the mode that the file has, or a new one's."""
    if file.exists():
        return file.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _is_special(named: Path) -> bool:
    return named.exists() and not named.is_file() and not named.is_dir()
