"""Who else measures on this host: the agents that hold a device's lock, as the kernel tells.

An agent holds its device by `flock` on a file that all agents of the host share; /proc/locks (proc(5)) names
the process, and that one's command line its service and its data folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEVICE_IN_USE = 75
"""Exit status of an agent whose device or data folder another one has."""

_LOCKS = Path("/proc/locks")
_FOLDERS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 (where agents of all users share their locks)
_FILES = "ratchet-*.agent"


@dataclass(frozen=True)
class OtherAgent:
    """A process that holds a device; `data_dir` and `url` are empty where its command line does not say."""

    pid: int
    data_dir: str
    url: str

    def __str__(self) -> str:
        words = [f"process {self.pid}"]
        words += [f"the agent of {self.url}"] if self.url else []
        words += [f"with the data folder {self.data_dir}"] if self.data_dir else []
        return ", ".join(words)


def agents_of_this_host(environ: Mapping[str, str] = os.environ) -> list[OtherAgent]:
    """Return the agents that hold a device of this host, by process; none where the kernel does not tell."""
    named = environ.get("RATCHET_WORKER_LOCKS")
    folders = [Path(named)] if named else _FOLDERS
    files = {_inode(path) for folder in folders for path in folder.glob(_FILES)}
    return [_agent(pid) for pid in sorted(_holders(files))]


def _holders(inodes: set[int]) -> set[int]:
    """Return the processes that hold a `flock` on one of these files."""
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return set()
    # 1: FLOCK ADVISORY WRITE 4242 fe:00:123456 0 EOF; a row of a waiting process has an arrow in the second place.
    held = [row for row in rows if len(row) > 5 and row[1] == "FLOCK"]
    return {int(row[4]) for row in held if int(row[5].rpartition(":")[2]) in inodes and int(row[4]) > 0}


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _agent(pid: int) -> OtherAgent:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    return OtherAgent(pid, _option(words, "--data-dir"), _option(words, "--url"))


def _option(words: list[str], name: str) -> str:
    """Return an option's value, given as a word of its own or behind an equals sign."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""
