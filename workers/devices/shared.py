"""What several devices of one host are read with together: one tool for all of them, one look at the processes.

It begins with the first question and ends with the last device that uses it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from workers.devices.base import Lack
from workers.devices.tools import Poller
from workers.host import processes
from workers.host.fingerprint import read_text

LOOK_S = 2.0
"""How often processes are looked at; all their open files are read for it [s]."""

HIDDEN = Lack(
    "foreign_pids",
    "the agent's user may not see which files other users' processes have open",
    "run the agent as root, or give it CAP_SYS_PTRACE",
)


class Source(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Let go of what was opened."""


class Answering(Protocol):
    """A tool that is asked, or listened to, in a thread."""

    def latest(self) -> object | None:
        """Return the newest answer, or None."""

    @property
    def trouble(self) -> str:
        """Why there is no answer."""


def await_answer(source: Answering, longest_s: float) -> None:
    """Return when a source has an answer, or has failed anew to give one, or the time is over."""
    first, end_s = source.trouble, time.monotonic() + longest_s
    while source.latest() is None and source.trouble == first and time.monotonic() < end_s:
        time.sleep(0.05)


class Shared:
    """Sources in use by several devices; closed when each of these has left."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._users: set[int] = set()

    def join(self, user: object) -> None:
        """Count a device in."""
        self._users.add(id(user))

    def leave(self, user: object) -> None:
        """Count a device out, once; the last one closes the sources."""
        if id(user) in self._users:
            self._users.remove(id(user))
            if not self._users:
                for source in self._sources:
                    source.close()


class Holders:
    """Who has device files open, of those who are not this agent's; looked up every `LOOK_S`, in a thread.

    Args:
        files: the device files of all devices.
        tools: names of programs that only look at devices, as the vendor's monitors do, and disturb nobody.
    """

    def __init__(self, files: Sequence[Path], tools: Iterable[str] = ()) -> None:
        self._files = tuple(files)
        self._tools = frozenset(tools)
        self._looks: Poller[dict[Path, list[int]]] = Poller(
            lambda: processes.holders(self._files), period_s=LOOK_S, oldest_s=3 * LOOK_S
        )

    def latest(self, files: Iterable[Path]) -> list[int] | None:
        """Return who holds one of these files; None before the first look, and where nobody may be seen to."""
        found = self._looks.latest()
        if found is None:
            return None
        pids = self._foreign(found, files)
        return pids if pids or sees_others() else None

    def all_of(self, file: Path) -> tuple[int, ...]:
        """Return everybody who holds a file, this agent's own processes, too, as far as known by now."""
        return tuple((self._looks.latest() or {}).get(file, ()))

    def now(self, files: Iterable[Path]) -> list[int]:
        """Return who holds one of these files, looked up at once."""
        return self._foreign(processes.holders(self._files), files)

    def _foreign(self, found: dict[Path, list[int]], files: Iterable[Path]) -> list[int]:
        pids = {pid for file in files for pid in found.get(file, ())}
        return processes.foreign(pid for pid in pids if self._name(pid) not in self._tools)

    def _name(self, pid: int) -> str | None:
        return read_text(processes.PROC / str(pid) / "comm") if self._tools else None

    def close(self) -> None:
        """Look no more."""
        self._looks.close()


def sees_others() -> bool:
    """Tell whether the agent may look at what other users' processes have open."""
    return os.geteuid() == 0
