"""Energy of the processor's packages, from the kernel's power capping framework (RAPL, on Intel and AMD).

Described in the kernel's "Power Capping Framework". Only whole packages count: `core`, `uncore` and `dram` are parts of
one or beside it, and `psys` holds them all. Most systems let only root read the counters.
"""

from __future__ import annotations

import re
from pathlib import Path

from workers.host.fingerprint import read_int, read_text

POWERCAP = Path("/sys/class/powercap")


def packages(powercap: Path = POWERCAP) -> list[Path]:
    """Return the folders of the processor's packages, of each die where they are counted apart."""
    zones = [zone for zone in powercap.glob("intel-rapl:*") if re.fullmatch(r"intel-rapl:\d+", zone.name)]
    return sorted(zone for zone in zones if (read_text(zone / "name") or "").startswith("package"))


class EnergyCounter:
    """All packages' energy as one counter that never wraps, as long as it is read before a package's wraps twice.

    That takes a quarter of an hour or more at full load.
    """

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self.packages = packages(powercap)
        self._ranges_uj = [read_int(zone / "max_energy_range_uj") for zone in self.packages]
        self._last_uj: list[int] | None = None
        self._total_uj = 0

    def read(self) -> float | None:
        """Return the energy since the counters began [J]; None where one of them may not be read, or there is none."""
        if not self.packages:
            return None
        read = [read_int(zone / "energy_uj") for zone in self.packages]
        now = [uj for uj in read if uj is not None]
        if not now or len(now) < len(read):
            return None
        before = self._last_uj or [0] * len(now)
        self._total_uj += sum(map(grown, before, now, self._ranges_uj))
        self._last_uj = now
        return self._total_uj / 1e6


def grown(before: int, now: int, largest: int | None) -> int:
    """Return by how much a counter has grown that begins at 0 again after `largest`."""
    if now >= before:
        return now - before
    return now if largest is None else largest - before + now


def power_limit_w(powercap: Path = POWERCAP) -> float | None:
    """Return what all packages together may draw for long [W]; None where one does not tell."""
    return _sum_w(powercap, "power_limit_uw")


def power_limit_max_w(powercap: Path = POWERCAP) -> float | None:
    """Return the highest limit that all packages together can be given [W]; None where one does not tell."""
    return _sum_w(powercap, "max_power_uw")


def _sum_w(powercap: Path, name: str) -> float | None:
    limits = [_long_term(zone, name) for zone in packages(powercap)]
    known = [limit for limit in limits if limit]
    return sum(known) / 1e6 if known and len(known) == len(limits) else None


def _long_term(zone: Path, name: str) -> int | None:
    for path in sorted(zone.glob("constraint_*_name")):
        if read_text(path) == "long_term":
            return read_int(zone / path.name.replace("_name", f"_{name}"))
    return None
