"""The devices of one lease as one thing to measure on; mostly there is one.

What is asked of the group is asked of each of its devices. Where they answer differently, the answer lists theirs in
the group's order, so that a group of one is exactly its device.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from workers.devices.base import Device
from workers.host.fingerprint import Fingerprint
from workers.protocol import Arm
from workers.readings.record import Tick

PARTS = ("machine", "identity", "soft")


class DeviceGroup:
    """At least one device, all of one kind, in the order in which measured code sees them."""

    def __init__(self, devices: Sequence[Device]) -> None:
        assert devices, "a group has a device"
        assert len({device.kind for device in devices}) == 1, "devices of one kind are measured on together"
        self.devices = tuple(devices)

    @property
    def addresses(self) -> list[str]:
        """What measured code is told to run on, as frameworks name the devices that it sees."""
        return list(type(self.devices[0]).addresses(self.devices))

    def visible_env(self) -> dict[str, str]:
        """Return the environment that shows a measured process these devices and no others."""
        return type(self.devices[0]).visible_env(self.devices)

    @contextmanager
    def locked(self) -> Iterator[tuple[int, ...]]:
        """Hold every device for a run; the value is the locks' descriptors, for measured processes to inherit.

        They are taken in one order by whoever takes several, and all given back if one cannot be had.

        Raises:
            InUseError: another agent of this host is measuring on one of them.
        """
        with ExitStack() as held:
            descriptors = []
            # Slices of one device have its lock: it is taken once.
            for _, device in sorted({device.lock_id: device for device in self.devices}.items()):
                descriptors.append(device.lock())
                held.callback(device.unlock)
            yield tuple(descriptors)

    def fingerprint(self) -> Fingerprint:
        """Return one fingerprint that covers all devices, read anew."""
        prints = [device.fingerprint() for device in self.devices]
        if len(prints) == 1:
            return prints[0]
        parts: Fingerprint = {part: _merged([found[part] for found in prints]) for part in PARTS}
        counts = [found["machine"].get("device_count") or 1 for found in prints]
        parts["machine"]["device_count"] = sum(counts)
        return {**parts, "unavailable": sorted({name for found in prints for name in found["unavailable"]})}

    def machines(self) -> list[dict[str, Any]]:
        """Return of several devices the `machine` part of each one's fingerprint; one device is the group."""
        several = self.devices if len(self.devices) > 1 else ()
        return [device.fingerprint()["machine"] for device in several]

    def sync(self) -> None:
        """Return only when all queued work of all devices is done."""
        for device in self.devices:
            device.sync()

    def telemetry(self) -> Tick:
        """Return the device's tick; of several devices, a list of theirs for each reading."""
        ticks = [device.reading() for device in self.devices]
        if len(ticks) == 1:
            return ticks[0]
        readings = {name: [tick[name] for tick in ticks] for name in ticks[0] if name != "unavailable"}
        return {**readings, "unavailable": [name for name, values in readings.items() if None in values]}

    def temperatures_c(self) -> list[float | None]:
        """Return each device's temperature [degrees C], None where it is unknown."""
        return [device.reading()["temp_c"] for device in self.devices]

    def processes(self) -> list[int]:
        """Return the ids of other processes on any of the devices, in order."""
        return sorted({pid for device in self.devices for pid in device.processes()})

    def flush_cache(self) -> bool:
        """Overwrite every device's last-level cache; False where one has an unknown size."""
        return all([device.flush_cache() for device in self.devices])

    def cache_env(self, folder: Path) -> dict[str, str]:
        """Return the environment that points every compile cache into `folder`."""
        return self.devices[0].cache_env(folder)

    def driver_files(self) -> list[Path]:
        """Return the device files and folders that a program needs to work on them, and that this host has."""
        patterns = type(self.devices[0]).driver_files
        return [Path(found) for pattern in patterns for found in sorted(glob.glob(pattern))]

    def begin(self, arm: Arm, pair: int) -> None:
        """Take note that an invocation begins on all of them."""
        for device in self.devices:
            device.begin(arm, pair)

    def end(self) -> None:
        """Take note that it has ended."""
        for device in self.devices:
            device.end()

    def control_simulation(self, pair: int) -> list[dict[str, Any]] | None:
        """Return how the control workload shall make up each device's times; None for devices that really measure."""
        scripts = [device.control_simulation(pair) for device in self.devices]
        return None if None in scripts else [script for script in scripts if script is not None]

    def simulation(self) -> list[dict[str, Any]] | None:
        """Return how the harness shall make up each device's times; None for devices that really measure."""
        scripts = [device.simulation() for device in self.devices]
        return None if None in scripts else [script for script in scripts if script is not None]


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the devices have in common as it is, and of what differs the list of all their values."""
    names = dict.fromkeys(name for part in parts for name in part)
    values = {name: [part.get(name) for part in parts] for name in names}
    return {name: found[0] if all(v == found[0] for v in found) else found for name, found in values.items()}
