"""Which user a server runs as, and what that user can reach.

Root hands its servers to an account without privileges: PostgreSQL refuses to run as root, and Redis has no
need to. Everybody else runs them as themselves.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import UnavailableError

CANDIDATES = ("ratchet", "postgres", "nobody")
ENTER = 0o1
"""The permission bit that lets one pass a folder, or run a file."""


@dataclass(frozen=True)
class Account:
    """A user of this machine, with all groups it belongs to."""

    name: str
    uid: int
    gid: int
    groups: frozenset[int]

    @property
    def is_self(self) -> bool:
        """Whether this is the user that we run as."""
        return self.uid == os.geteuid()

    def barrier(self, path: Path) -> Path | None:
        """Return the outermost part of `path` that this user cannot pass, or None when there is none.

        Mode bits decide. Access lists are not read, so that somebody they let in may be said to be shut out.
        """
        whole = path.resolve()
        return next((part for part in [*reversed(whole.parents), whole] if not self._passes(part)), None)

    def _passes(self, part: Path) -> bool:
        status = part.stat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid == self.uid:
            return bool(mode >> 6 & ENTER)
        return bool((mode >> 3 if status.st_gid in self.groups else mode) & ENTER)


def server_account(data: Path) -> Account:
    """Return the user for a server on the folder `data`: as root its present owner, else the first candidate.

    Raises UnavailableError when root finds none of the candidates on this machine.
    """
    if os.geteuid() != 0:
        return account_of(os.geteuid())
    if data.exists() and (owner := data.stat().st_uid) != 0:
        return account_of(owner)
    for name in CANDIDATES:
        try:
            return account_of(pwd.getpwnam(name).pw_uid)
        except KeyError:
            continue
    raise UnavailableError(
        f"the embedded servers do not run as root, and none of the users {', '.join(CANDIDATES)} exists: "
        "create one with: useradd --system ratchet"
    )


def account_of(uid: int) -> Account:
    """Return the account of a user id; a number without an account is a user and a group by itself."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, uid, frozenset({uid}))
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return Account(entry.pw_name, uid, entry.pw_gid, frozenset(groups))
