"""The folders of an embedded server: the data folder, the server's own part of it, and the socket folder.

    <data dir>/            ours; as root others may pass it, so that the server's account reaches
        data/              the server's account's alone
        lock               held by every process of a running server
        server.log

The socket folder lies elsewhere, because the path of a Unix socket holds 107 bytes at most, and because data
folders may be on file systems without sockets. Its name follows from the data folder and the account, so that
every process of that data folder finds it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from app.domain.errors import UnavailableError
from app.embedded.accounts import Account

PASSABLE = 0o111


def make_folder(path: Path) -> None:
    """Create `path` with its parents; as root, others can pass it and new parents, whatever the umask."""
    if os.geteuid() != 0:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    missing = [part for part in [*reversed(path.parents), path] if not part.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for part in {*missing, path}:
        part.chmod(stat.S_IMODE(part.stat().st_mode) | PASSABLE)


def give_folder(path: Path, account: Account) -> None:
    """Make `path` a private folder of `account`, with all that root put there (a restored backup, say)."""
    path.mkdir(mode=0o700, exist_ok=True)
    if account.is_self or path.stat().st_uid != 0:
        return
    for folder, _, files in os.walk(path, topdown=False):  # `path` last: until then this is not done
        for part in [*(os.path.join(folder, name) for name in files), folder]:
            os.chown(part, account.uid, account.gid, follow_symlinks=False)


def socket_folder(data_dir: Path, account: Account) -> Path:
    """Return where the server of `data_dir` has its socket; the folder need not exist."""
    digest = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:16]
    return _socket_base() / f"ratchet-{account.uid}-{digest}"


def _socket_base() -> Path:
    """Return a folder with a short name that outlives log-ins; nobody but root can write to /run."""
    run = Path("/run")
    return run if os.geteuid() == 0 and os.access(run, os.W_OK) else Path("/tmp")  # noqa: S108 (checked below)


def claim_socket_folder(folder: Path, account: Account) -> None:
    """Create `folder` for `account` alone, or check that it is so, and empty it of what a crash left.

    Raises UnavailableError when somebody else made it: in /tmp anybody may.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        _refuse_foreign(folder, account)
    if not account.is_self:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    for left in folder.iterdir():
        left.unlink()


def _refuse_foreign(folder: Path, account: Account) -> None:
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid in {account.uid, os.geteuid()}
    if not ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise UnavailableError(
            f"{folder} is to hold the sockets of an embedded server, but it is not a private folder of "
            f"{account.name}: somebody else made it; remove it"
        )


def drop_socket_folder(folder: Path) -> None:
    """Remove `folder`, if it is there, with what a killed server left in it."""
    if folder.is_dir() and not folder.is_symlink():
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()
