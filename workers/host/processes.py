"""Which processes are this agent's own, and which have a device's file open (proc(5)).

Measured programs run under a keeper (`workers.keeper`), a child of the agent that adopts whatever they leave behind,
so a process belongs to the agent exactly as long as the agent is among its ancestors. Everything else is foreign: other
users' work, the service when it runs on the same host, and what a container cannot see.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from workers.host.kernel_files import read_raw

PROC = Path("/proc")
REMEMBERED_S = 60.0
"""For how long a process of ours that has ended is not foreign to a list that still has it."""

_seen_s: dict[int, float] = {}
"""When each process was last seen to be ours; drivers and their tools list processes after they have ended."""


class Status(NamedTuple):
    """Some of one line of `/proc/PID/stat`: processor times in the kernel's ticks, page faults that read a disk.

    What children used that have ended and were waited for is counted apart, with all that they waited for themselves.
    """

    parent: int
    faults: int
    children_faults: int
    ticks: int
    children_ticks: int
    started_ticks: int


def status(pid: int, proc: Path = PROC) -> Status | None:
    """Return what the kernel tells of a process, or None where there is none that can be seen."""
    try:
        words = (read_raw(f"{proc}/{pid}/stat") or b"").rpartition(b")")[2].split()  # names may hold ") S 1"
        numbers = [int(word) for word in words[1:20]]
        return Status(
            parent=numbers[0],
            faults=numbers[8],
            children_faults=numbers[9],
            ticks=numbers[10] + numbers[11],
            children_ticks=numbers[12] + numbers[13],
            started_ticks=numbers[18],
        )
    except (IndexError, ValueError):
        return None


def foreign(pids: Iterable[int], proc: Path = PROC, agent: int | None = None) -> list[int]:
    """Return those of `pids` that neither are the agent nor descend from it, sorted, each once.

    A process that cannot be seen is foreign, unless it was seen to be ours a short while ago. So is, most likely, a
    number that a driver tells from another namespace of processes than ours; it cannot be told apart.

    Args:
        pids: numbers of processes, as a driver lists them.
        proc: where the kernel shows the processes.
        agent: the process that ours descend from; this one where it is None.
    """
    top = os.getpid() if agent is None else agent
    strange = [pid for pid in set(pids) if not _is_ours(pid, top, proc)]
    # A parent may end between two looks, and its child passes to ours: it is looked at once more.
    return sorted(pid for pid in strange if not _is_ours(pid, top, proc))


def _is_ours(pid: int, agent: int, proc: Path) -> bool:
    now = time.monotonic()
    if _descends(pid, agent, proc):
        _remember(pid, now)
        return True
    seen = _seen_s.get(pid)
    return seen is not None and now - seen < REMEMBERED_S and status(pid, proc) is None


def _descends(pid: int, agent: int, proc: Path) -> bool:
    passed: set[int] = set()
    while pid != agent:
        known = None if pid <= 0 or pid in passed else status(pid, proc)
        if known is None:
            return False
        passed.add(pid)
        pid = known.parent
    return True


def _remember(pid: int, now: float) -> None:
    _seen_s[pid] = now
    if len(_seen_s) > 4096:
        for old in [old for old, seen in list(_seen_s.items()) if now - seen >= REMEMBERED_S]:
            _seen_s.pop(old, None)


def family(agent: int | None = None, proc: Path = PROC) -> dict[int, Status]:
    """Return the agent and all that descend from it, parents before their children, and what the kernel tells of each.

    Found from parent to child, in the time that the family takes; a kernel without lists of children
    (CONFIG_PROC_CHILDREN) makes it look at every process.
    """
    top = os.getpid() if agent is None else agent
    listed = os.path.exists(f"{proc}/{top}/task/{top}/children")
    by_parent = {} if listed else _children_of_all(proc)
    members: dict[int, Status] = {}
    waiting = [top]
    while waiting:
        pid = waiting.pop(0)
        known = None if pid in members else status(pid, proc)
        if known is not None:
            members[pid] = known
            waiting += _children(pid, proc) if listed else by_parent.get(pid, [])
    now = time.monotonic()
    for pid in members:
        _remember(pid, now)
    return members


def _children(pid: int, proc: Path) -> list[int]:
    """Return the children of a process; each of its threads lists its own."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it ended meanwhile, and its children are somebody else's
        for thread in os.listdir(f"{proc}/{pid}/task"):
            with open(f"{proc}/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def _children_of_all(proc: Path) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for pid in all_pids(proc):
        known = status(pid, proc)
        if known is not None:
            children.setdefault(known.parent, []).append(pid)
    return children


def all_pids(proc: Path = PROC) -> list[int]:
    """Return the ids of all processes that can be seen, the highest first: mostly the newest."""
    try:
        return sorted((int(name) for name in os.listdir(proc) if name.isdigit()), reverse=True)
    except OSError:
        return []


def holders(paths: Sequence[Path], proc: Path = PROC, within_s: float = 1.0) -> dict[Path, list[int]]:
    """Return for each device file the processes that have it open, as far as this user may look, sorted.

    A file is known by its name and, below `/dev`, by its device number, as containers have files of their own for one
    device. What was not looked at when the time is over is left out; the newest processes are looked at first.

    Args:
        paths: the device files.
        proc: where the kernel shows the processes.
        within_s: how long the search may take [s].
    """
    names = {str(path): path for path in paths}
    numbers = {number: path for path in paths if (number := _device_number(str(path)))}
    found: dict[Path, set[int]] = {path: set() for path in paths}
    deadline = time.monotonic() + within_s
    for pid in all_pids(proc):
        if time.monotonic() > deadline:
            break
        for link, target in _open_files(pid, proc):
            path = names.get(target)
            if path is None and numbers and target.startswith("/dev/"):
                path = numbers.get(_device_number(link))
            if path is not None:
                found[path].add(pid)
    return {path: sorted(pids) for path, pids in found.items()}


def _open_files(pid: int, proc: Path) -> Iterator[tuple[str, str]]:
    """Yield the links of a process's descriptors and what they lead to; none where it may not be looked at."""
    folder = f"{proc}/{pid}/fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return
    for descriptor in descriptors:
        link = f"{folder}/{descriptor}"
        try:
            yield link, os.readlink(link)
        except OSError:
            continue


def _device_number(path: str) -> int:
    """Return the number of a device file, 0 where it is none or is gone."""
    try:
        return os.stat(path).st_rdev
    except OSError:
        return 0
