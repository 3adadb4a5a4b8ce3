"""How long the processor was held back: by heat, as Intel's kernel driver counts it, and by a quota of control groups.

The counters of heat are in `thermal_throttle` of each thread (the kernel's ABI documentation,
`sysfs-devices-system-cpu`); there are none on other makers' processors and in most virtual machines. A quota is in
`cpu.stat` of any group that this process is in ("Control Group v2"; `cpu.cfs_quota_us` of v1).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from workers.host.fingerprint import CPU, read_int, read_text

CGROUPS = Path("/sys/fs/cgroup")
CORE, PACKAGE, QUOTA = "thermal", "hw_thermal", "cgroup_quota"
"""Names of the reasons: heat of a core, heat of a whole package, and a quota of processor time."""


class Throttling:
    """Counters of the processors that may be used."""

    def __init__(
        self, cpus: Iterable[int], cpu: Path = CPU, cgroups: Path = CGROUPS, proc: Path = Path("/proc")
    ):
        """Find the counters: of each core and each package once, of each control group above this process."""
        wanted = sorted(cpus)
        self._folders = {
            CORE: _one_each(cpu, wanted, "core_cpus_list", "thread_siblings_list"),
            PACKAGE: _one_each(cpu, wanted, "package_cpus_list", "core_siblings_list"),
        }
        self._groups = groups_above(cgroups, proc)

    def times_ns(self) -> dict[str, int] | None:
        """Return the time held back by each reason [ns], of the mean core and package; None where none is told."""
        times = {
            CORE: self._heat_ns(CORE, "core"),
            PACKAGE: self._heat_ns(PACKAGE, "package"),
            QUOTA: self._quota_ns(),
        }
        return {reason: ns for reason, ns in times.items() if ns is not None} or None

    def counts(self) -> dict[str, int] | None:
        """Return how often heat held the processor back, by reason; older kernels tell that alone."""
        counts = {
            CORE: self._sum(CORE, "core_throttle_count"),
            PACKAGE: self._sum(PACKAGE, "package_throttle_count"),
        }
        return {reason: count for reason, count in counts.items() if count is not None} or None

    def _heat_ns(self, reason: str, word: str) -> int | None:
        read = [read_int(folder / f"{word}_throttle_total_time_ms") for folder in self._folders[reason]]
        known = [ms for ms in read if ms is not None]
        return round(fmean(known) * 1e6) if known else None

    def _sum(self, reason: str, name: str) -> int | None:
        known = [count for folder in self._folders[reason] if (count := read_int(folder / name)) is not None]
        return sum(known) if known else None

    def _quota_ns(self) -> int | None:
        known = [ns for group in self._groups if (ns := throttled_ns(group)) is not None]
        return sum(known) if known else None


def _one_each(cpu: Path, wanted: list[int], *siblings: str) -> list[Path]:
    """Return the counters' folder of the first wanted thread of each set of siblings."""
    first: dict[str, Path] = {}
    for number in wanted:
        folder = cpu / f"cpu{number}"
        if (folder / "thermal_throttle").is_dir():
            names = (read_text(folder / "topology" / name) for name in siblings)
            first.setdefault(next(filter(None, names), str(number)), folder / "thermal_throttle")
    return list(first.values())


def groups_above(cgroups: Path = CGROUPS, proc: Path = Path("/proc")) -> list[Path]:
    """Return the folders of the control groups with processor time that this process is in, the nearest first."""
    found: list[Path] = []
    for line in (read_text(proc / "self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            found += _up_from(cgroups, path)
        elif "cpu" in controllers.split(","):
            found += _up_from(cgroups / "cpu", path)
    return found


def _up_from(mount: Path, path: str) -> list[Path]:
    """Return the group's folder and those above it that tell of processor time; a container sees its own as the top."""
    group = mount if ".." in path else mount / path.lstrip("/")
    return [
        folder
        for folder in (group, *group.parents)
        if folder.is_relative_to(mount) and (folder / "cpu.stat").exists()
    ]


def throttled_ns(group: Path) -> int | None:
    """Return how long a group's quota kept its programs waiting [ns]; None where it has none."""
    text = read_text(group / "cpu.stat") or ""
    words = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) == 2)
    if "throttled_usec" in words:
        return int(words["throttled_usec"]) * 1000
    return int(words["throttled_time"]) if "throttled_time" in words else None
