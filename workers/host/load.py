"""What other programs did to this host: how busy they kept it, what the hypervisor took, what came back from swap.

Work that is not ours is all work less that of our family: the agent, its keepers and whatever they run
(`processes.family`). All of it comes from `/proc/stat`, which shows the whole host in a container, too. The service is
another program, also where it runs on the same host. Interrupts are nobody's work and are left out; threads of the
kernel are not ours, though some work for us.

The kernel counts in ticks of 10 ms, so over a tenth of a second a share is coarse. Nothing is lost by that: what one
look counted too little the next one makes up for, so that the mean of many looks is exact. Over an invocation take
that mean, or the difference of two `totals`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from workers.host.fingerprint import read_int
from workers.host.kernel_files import read_raw
from workers.host.processes import PROC, Status, family, status
from workers.host.sparing import Sparing

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_B = os.sysconf("SC_PAGE_SIZE")
SHORTEST_S = 0.015
"""Looks that are nearer to each other are one look: the kernel's ticks tell nothing between them."""

SUSPICIOUS_CPU = 0.25
"""With so many processors at foreign work, our family is looked up anew: it may have grown."""

REFRESH_S = 1.0
LOAD_SHARE, FAMILY_SHARE = 0.004, 0.0005
"""What counting, and looking up our family, may take of one processor's time."""

PAGE_CLUSTER = 3
"""The kernel's default for how many pages one fault reads back from swap, as a power of two."""


class CpuTimes(NamedTuple):
    """Time that all processors spent since boot, in the kernel's ticks."""

    busy: int
    idle: int
    steal: int
    interrupts: int = 0
    """The part of `busy` that was spent on interrupts, for no program."""

    def __sub__(self, other: CpuTimes) -> CpuTimes:
        return CpuTimes(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def share(self, part: int) -> float | None:
        """Return `part` of all the time, or None where no time has passed."""
        total = self.busy + self.idle + self.steal
        return part / total if total > 0 else None


NO_TIMES = CpuTimes(0, 0, 0)


def parse_cpu_times(line: str) -> CpuTimes:
    """Return what a line `cpu…` of `/proc/stat` says, guests' time left in what it is counted in (proc(5))."""
    words = [int(word) for word in line.split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = words + [0] * (8 - len(words))
    busy = user + nice + system + irq + softirq
    return CpuTimes(busy=busy, idle=idle + iowait, steal=steal, interrupts=irq + softirq)


def cpu_times(stat: str = f"{PROC}/stat") -> CpuTimes:
    """Return the first line of `/proc/stat`; nothing where it cannot be read."""
    line = (read_raw(stat) or b"").partition(b"\n")[0]
    return parse_cpu_times(line.decode(errors="replace")) if line.startswith(b"cpu ") else NO_TIMES


class Totals(NamedTuple):
    """Counters since the load of the host was first looked at; None for what this host does not tell."""

    t_s: float
    """Moment on the host's monotonic clock [s]."""

    foreign_cpu_s: float | None
    """Processor time that programs other than ours used [s]; may be a few ticks below 0."""

    own_cpu_s: float
    """Processor time that our family used [s]."""

    steal_s: float | None
    """Processor time that the hypervisor took [s]."""

    processors_s: float
    """All processors' time [s]."""

    swap_in_b: int | None
    """Memory that surely was read back from swap for other programs, since boot [B]."""


def between(first: Totals, last: Totals) -> dict[str, object]:
    """Return the readings of the time between two totals, by name."""
    span_s = last.t_s - first.t_s
    foreign = _difference(first.foreign_cpu_s, last.foreign_cpu_s)
    steal = _difference(first.steal_s, last.steal_s)
    processors_s = last.processors_s - first.processors_s
    return {
        "host_cpu_foreign": max(foreign, 0.0) / span_s if foreign is not None and span_s > 0 else None,
        "host_steal": steal / processors_s if steal is not None and processors_s > 0 else None,
        "swap_in_b": last.swap_in_b,
    }


def _difference(first: float | None, last: float | None) -> float | None:
    return None if first is None or last is None else last - first


class OwnWork:
    """What our family has used since it was first looked at: ticks of the processors, and faults that read a disk.

    A child that has ended and was waited for lives on in its parent's counters, where what it was counted for while it
    lived must not be counted again. One that nobody waited for takes its last moments with it.
    """

    def __init__(
        self,
        agent: int | None = None,
        proc: Path = PROC,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proc, self._clock = proc, clock
        self._find = Sparing(lambda: family(agent, proc), share=FAMILY_SHARE, clock=clock)
        self._members = self._find()
        self._found_s = clock()
        self._waiting = (0, 0)
        """Of children that ended: what may come back with their parents' counters at this look or the next."""
        self.ticks = 0
        self.faults = 0

    @property
    def can_refresh(self) -> bool:
        """Whether the family may be looked up anew without costing too much."""
        return self._find.is_due

    def look(self) -> None:
        """Count what the family has used since the last look; now and then, look up who belongs to it."""
        if self.can_refresh and self._clock() - self._found_s >= REFRESH_S:
            self.refresh()
        else:
            self._count({pid: known for pid in self._members if (known := status(pid, self._proc))})

    def refresh(self) -> None:
        """Look up who belongs to the family, and count what they have used since the last look."""
        self._found_s = self._clock()
        self._count(self._find())

    def _count(self, now: dict[int, Status]) -> None:
        before, self._members = self._members, now
        last = {
            pid: before[pid]
            for pid, known in now.items()
            if pid in before and before[pid].started_ticks == known.started_ticks
        }
        ended = [known for pid, known in before.items() if pid not in last]
        new = [(known, last.get(pid)) for pid, known in now.items()]
        ticks, waiting_ticks = _used(new, ended, self._waiting[0], "ticks", "children_ticks")
        faults, waiting_faults = _used(new, ended, self._waiting[1], "faults", "children_faults")
        self.ticks += ticks
        self.faults += faults
        self._waiting = (waiting_ticks, waiting_faults)


def _used(
    new: list[tuple[Status, Status | None]], ended: list[Status], waiting: int, own: str, children: str
) -> tuple[int, int]:
    """Return what was used since the last look, and what of the ended ones has not come back yet."""

    def grown(name: str) -> int:
        return sum(getattr(now, name) - (getattr(last, name) if last else 0) for now, last in new)

    just_ended = sum(getattr(known, own) + getattr(known, children) for known in ended)
    returned = grown(children)
    known_already = min(waiting + just_ended, returned)
    return grown(own) + returned - known_already, max(just_ended - max(returned - waiting, 0), 0)


class SwapIn:
    """Memory that was read back from swap for other programs.

    The kernel counts pages for all programs together, and for each process the faults that read a disk, whatever they
    read. A fault of ours reads at most one cluster of pages from swap, so what came beyond that came for others. It is
    told one look late, as a page is counted before the fault that it came for.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._vmstat = str(proc / "vmstat")
        self._cluster = read_int(proc / "sys/vm/page-cluster")
        self._first = self._last = self._pages()
        self._others = 0

    def read(self, own_faults: int) -> int | None:
        """Return the counter [B]; None where the kernel tells nothing of swap.

        Args:
            own_faults: faults of our family that read a disk, since this was made.
        """
        last, self._last = self._last, self._pages()
        if last is None or self._first is None:
            return None
        ours_at_most = own_faults << (PAGE_CLUSTER if self._cluster is None else self._cluster)
        self._others = max(self._others, last - self._first - ours_at_most)
        return (self._first + self._others) * PAGE_B

    def _pages(self) -> int | None:
        _, _, behind = (b"\n" + (read_raw(self._vmstat) or b"")).partition(b"\npswpin ")
        number = behind.partition(b"\n")[0]
        return int(number) if number.isdigit() else None


class HostLoad:
    """What other programs did to this host since the last look; cheap enough for ten looks a second.

    May be asked by several threads. On a host where looking is slow it is done less often, and the last answer is
    given again.
    """

    def __init__(
        self, *, agent: int | None = None, proc: Path = PROC, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin to count.

        Args:
            agent: the process whose family's work is not foreign; this one where it is None.
            proc: where the kernel shows processes and counters.
            clock: the host's monotonic clock [s].
        """
        self._stat, self._clock = str(proc / "stat"), clock
        self._lock = threading.Lock()
        self._own = OwnWork(agent, proc, clock)
        self._swap = SwapIn(proc)
        self._first_times = self._times = cpu_times(self._stat)
        self._totals = self._told = self._counted(self._swap.read(0))
        self._sample = Sparing(self._sampled, share=LOAD_SHARE, clock=clock)
        self._debt_s = 0.0
        self._answer = between(self._totals, self._totals)

    def look(self) -> dict[str, object]:
        """Return `host_cpu_foreign` and `host_steal` since the last look, and `swap_in_b`; None what is not told."""
        with self._lock:
            self._advance()
            if self._totals is not self._told:
                self._answer = self._since_told()
                self._told = self._totals
            return dict(self._answer)

    @property
    def times(self) -> CpuTimes:
        """What all processors had done by the last look."""
        return self._times

    def totals(self) -> Totals:
        """Return the counters as they are now."""
        with self._lock:
            self._advance()
            return self._totals

    def _advance(self) -> None:
        if self._clock() - self._totals.t_s >= SHORTEST_S:
            self._totals = self._sample()

    def _since_told(self) -> dict[str, object]:
        """Return the readings since the last answer; what would be less than nothing is owed to the next one."""
        told, now = self._told, self._totals
        readings = between(told, now)
        foreign_s = _difference(told.foreign_cpu_s, now.foreign_cpu_s)
        if foreign_s is not None:
            foreign_s += self._debt_s
            self._debt_s = min(foreign_s, 0.0)
            readings["host_cpu_foreign"] = max(foreign_s, 0.0) / (now.t_s - told.t_s)
        return readings

    def _sampled(self) -> Totals:
        self._own.look()
        swap_in_b = self._swap.read(self._own.faults)
        now = self._counted(swap_in_b)
        if self._own.can_refresh and self._is_suspicious(now):
            self._own.refresh()
            now = self._counted(swap_in_b)
        return now

    def _is_suspicious(self, now: Totals) -> bool:
        foreign_s = _difference(self._totals.foreign_cpu_s, now.foreign_cpu_s)
        return foreign_s is not None and foreign_s > SUSPICIOUS_CPU * (now.t_s - self._totals.t_s)

    def _counted(self, swap_in_b: int | None) -> Totals:
        times = self._times = cpu_times(self._stat)
        is_known = NO_TIMES not in (times, self._first_times)
        spent = times - self._first_times
        work = spent.busy - spent.interrupts - self._own.ticks
        return Totals(
            t_s=self._clock(),
            foreign_cpu_s=work / TICKS_PER_S if is_known else None,
            own_cpu_s=self._own.ticks / TICKS_PER_S,
            steal_s=spent.steal / TICKS_PER_S if is_known else None,
            processors_s=(spent.busy + spent.idle + spent.steal) / TICKS_PER_S if is_known else 0.0,
            swap_in_b=swap_in_b,
        )
