"""What the Neuron driver tells of one device in sysfs (Neuron Sysfs User Guide): its names and its counters.

Driver 2.31 moved files to other folders. A file that is not where the guide of the drivers before put it is looked for
by its name in all of the device's folder, once, so that names and counters that only moved are still found.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from workers.host.fingerprint import read_int, read_text

UNCORRECTED = ("mem_ecc_uncorrected", "sram_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
DEVICE_MEMORY = "device_mem/total"


class Sysfs:
    """The folder of one device."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def serial(self) -> str | None:
        """The unique number of the device."""
        return self._text("info", "serial_number")

    @property
    def device_name(self) -> str | None:
        """The product, as `Trainium2`."""
        return self._text("info/architecture", "device_name")

    @property
    def instance_type(self) -> str | None:
        """The family of instances that the device is made for, as `Trn2`."""
        return self._text("info/architecture", "instance_type")

    @property
    def core_architecture(self) -> str | None:
        """The generation of the device's cores, as `NCv3`."""
        place = next(iter(_found(self._folder / "neuron_core0", "info/architecture", "arch_type")), None)
        return read_text(place) if place else None

    def uncorrected(self) -> int | None:
        """Return the memory errors that were not corrected; None where the driver does not count them."""
        known = [count for place in self._errors if (count := read_int(place)) is not None]
        return sum(known) if known else None

    def memory_b(self) -> int | None:
        """Return the device memory that is in use on all cores [B]; None where one of them does not tell."""
        used = [read_int(place) if place else None for place in self._memory]
        known = [value for value in used if value is not None]
        return sum(known) if known and len(known) == len(used) else None

    @cached_property
    def _errors(self) -> list[Path]:
        places = [place for name in UNCORRECTED for place in _found(self._folder, "stats/hardware", name)[:1]]
        return [place / "total" if place.is_dir() else place for place in places]

    @cached_property
    def _memory(self) -> list[Path | None]:
        """Where each core's memory is told; None for a core that tells it nowhere, or in several places."""
        cores = sorted(self._folder.glob("neuron_core[0-9]*"))
        found = [_found(core, "stats/memory_usage", DEVICE_MEMORY) for core in cores]
        return [places[0] if len(places) == 1 else None for places in found]

    def _text(self, usual: str, name: str) -> str | None:
        place = next(iter(_found(self._folder, usual, name)), None)
        return read_text(place) if place else None


def _found(folder: Path, usual: str, name: str) -> list[Path]:
    """Return where a file is: in its usual folder, else wherever it is below."""
    return [folder / usual / name] if (folder / usual / name).exists() else sorted(folder.rglob(name))
