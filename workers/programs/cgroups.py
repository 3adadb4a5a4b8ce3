"""A control group (cgroup v2) for each program of a job, so that nothing of it is left whatever becomes of its keeper.

The keeper finds descendants as long as it lives; a control group holds them as long as they do. The kernel kills all
of one at once through `cgroup.kill` (5.14 and later). A group can be made where the agent may write the group that it
runs in: as root, or as a user to whom systemd delegated it (`Delegate=yes`). Elsewhere there are none, and the keeper
does what it can. No controller is switched on, so that a group changes nothing for what is measured in it; but for
programs of strangers: theirs bound memory and the number of processes, where the group above lends those controllers.

The files are described in the kernel's "Control Group v2", sections "Delegation" and "Core Interface Files".
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from workers.programs.sandbox.bubblewrap import Limits

log = logging.getLogger(__name__)

CONTROLLERS = ("memory", "pids")
JOIN_S = 10.0
REMOVE_S = 5.0
PAUSE_S = 0.01


class Cgroup:
    """One group; its folder is for the keeper of the program that runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kill(self) -> None:
        """Kill all processes in it, and in groups below it; they may fork as fast as they like."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")

    def limit(self, limits: Limits) -> None:
        """Bound what all processes in it may take together, where the kernel counts that for this group."""
        for name, most in (
            ("pids.max", limits.processes),
            ("memory.max", limits.memory_b),
            ("memory.oom.group", 1),
        ):
            if (self.folder / name).exists():
                with contextlib.suppress(OSError):
                    (self.folder / name).write_text(str(most))

    def remove(self, patience_s: float = REMOVE_S) -> bool:
        """Kill what is in it and remove it with all groups below it; False where something does not die in time."""
        deadline = time.monotonic() + patience_s
        while os.path.exists(self.folder):
            self.kill()
            for folder, _, _ in os.walk(self.folder, topdown=False):
                with contextlib.suppress(OSError):
                    remove_folder(Path(folder))
            if not os.path.exists(self.folder):
                break
            if time.monotonic() >= deadline:
                return False
            time.sleep(PAUSE_S)
        return True


class Cgroups:
    """An agent's own part of the tree of groups; as a context manager for the life of the agent.

    Entering finds out whether groups can be made, and removes what a former agent of the same data folder left in its.
    """

    def __init__(self, data_dir: Path, home: Path | None = None) -> None:
        """Name the agent's data folder, which only one agent has, and the group to make others in: its own if None."""
        self._name = "ratchet-" + hashlib.sha256(os.fsencode(data_dir.absolute())).hexdigest()[:16]
        self._home = home
        self._top: Cgroup | None = None
        self._numbers = itertools.count(1)

    @contextlib.contextmanager
    def new(self, limits: Limits | None = None) -> Iterator[Cgroup | None]:
        """Give a new group for one program, None where none can be made; it ends with the block, and all in it.

        `limits` are the group's as far as it has controllers for them.
        """
        if limits is not None:
            self._switch("+")
        group = self._made()
        if group is not None and limits is not None:
            group.limit(limits)
        try:
            yield group
        finally:
            if group is not None and not group.remove():
                log.warning("processes in %s do not die", group.folder)
            if limits is not None:
                self._switch("-")

    def _switch(self, sign: str) -> None:
        """Switch on or off, for the groups of programs, what bounds them; a group that lacks it goes without."""
        if self._top is None:
            return
        for controller in CONTROLLERS:
            with contextlib.suppress(OSError):
                (self._top.folder / "cgroup.subtree_control").write_text(f"{sign}{controller}")

    def _made(self) -> Cgroup | None:
        if self._top is None:
            return None
        group = Cgroup(self._top.folder / str(next(self._numbers)))
        try:
            make_folder(group.folder)
        except OSError as error:  # a limit on their number, say
            log.warning("no control group, going on without: %s", error)
            return None
        return group

    def __enter__(self) -> Self:
        home = self._home or own_group()
        if home is not None:
            top = Cgroup(home / self._name)
            top.remove()
            self._top = top if _is_usable(top) else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._top is not None and not self._top.remove():
            log.warning("processes in %s do not die", self._top.folder)
        self._top = None


def own_group(proc: Path = Path("/proc/self")) -> Path | None:
    """Return the folder of the group that this process is in, or None where there is no cgroup v2."""
    try:
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
        entries = (proc / "cgroup").read_text().splitlines()
    except OSError:
        return None
    own = next((entry[3:] for entry in entries if entry.startswith("0::")), None)
    # proc(5): … root, mount point, options, any further fields, "-", type of file system, …
    found = next(
        ((m[3], _unescaped(m[4])) for m in mounts if m[m.index("-") + 1 : m.index("-") + 2] == ["cgroup2"]),
        None,
    )
    if own is None or found is None or not Path(own).is_relative_to(found[0]):
        return None
    return Path(found[1]) / Path(own).relative_to(found[0])


def _unescaped(path: str) -> str:
    """Return a path of a list of mounts as it is: blanks in it are written in octal."""
    for character in " \t\n\\":
        path = path.replace(f"\\{ord(character):03o}", character)
    return path


def _is_usable(top: Cgroup) -> bool:
    """Make the agent's group; tell whether a process can join one below it, and could be killed there."""
    probe = Cgroup(top.folder / "probe")
    try:
        make_folder(top.folder)
        make_folder(probe.folder)
        if (probe.folder / "cgroup.kill").exists() and _can_be_joined(probe):
            return probe.remove()
    except OSError as error:
        log.debug("no control groups: %s", error)
    top.remove()
    return False


def _can_be_joined(group: Cgroup) -> bool:
    """Tell whether a new process can do what a keeper's does: enter the group by itself."""
    join = ["sh", "-c", 'echo 0 > "$0/cgroup.procs"', str(group.folder)]
    try:
        done = subprocess.run(join, capture_output=True, timeout=JOIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def make_folder(folder: Path) -> None:
    """Make a group: the kernel puts its files into the new folder."""
    folder.mkdir()


def remove_folder(folder: Path) -> None:
    """Remove a group: the kernel takes its files away with the folder, unless there is a process in it."""
    folder.rmdir()
