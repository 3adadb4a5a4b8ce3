"""Locks between the agents of one host, by `flock` on files in a folder that all of them share.

The kernel releases them with the last process that holds them open, however that ends, so there are no stale locks.
They guard against accidents between agents; a lease guards a device against agents elsewhere.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from pathlib import Path
from types import TracebackType

from workers.errors import InUseError

SHARED_FOLDERS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 (a lock between users needs a folder of all users)


class LockFile:
    """An exclusive lock that can be taken without waiting; as a context manager it is held for the block."""

    def __init__(self, path: Path, busy: str) -> None:
        """Name the lock's file, and the sentence for when somebody else holds it."""
        self._path = path
        self._busy = busy
        self._fd: int | None = None

    @property
    def fd(self) -> int:
        """The open descriptor, for a child that shall hold the lock on when its parent is killed."""
        assert self._fd is not None, "the lock is not held"
        return self._fd

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            InUseError: somebody else holds it.
        """
        fd = _open_shared(self._path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise InUseError(self._busy) from None
        self._fd = fd

    def release(self) -> None:
        """Let go of the lock, if it is held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> LockFile:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_path(folder: Path, hardware_id: str, purpose: str) -> Path:
    """Return the file that stands for one device and purpose; ids can hold anything, so a digest names it."""
    digest = hashlib.sha256(hardware_id.encode()).hexdigest()[:16]
    return folder / f"ratchet-{digest}.{purpose}"


def shared_folder() -> Path:
    """Return the first folder in which users may create files beside each other's."""
    return next((folder for folder in SHARED_FOLDERS if _is_for_all(folder)), SHARED_FOLDERS[-1])


def _is_for_all(folder: Path) -> bool:
    wanted = stat.S_ISVTX | stat.S_IWOTH
    try:
        return folder.stat().st_mode & wanted == wanted
    except OSError:
        return False


def _open_shared(path: Path) -> int:
    """Open the file, or create it.

    Never both at once: a kernel with `fs.protected_regular` refuses that for another user's file in a sticky folder.
    Reading is enough for a lock.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                fd = os.open(path, flags | os.O_CREAT | os.O_EXCL)
                os.fchmod(fd, 0o444)  # whatever the umask is
                return fd
