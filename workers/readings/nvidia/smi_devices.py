"""The devices of nvidia-smi's outputs: a GPU and its MIG instances, and how several outputs unite."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

from workers.readings.nvidia.products import KIND, device_class, mig_class, mode_text
from workers.readings.nvidia.smi import (
    FACT_AMOUNTS,
    READING_AMOUNTS,
    Fields,
    amounts,
    gpu_facts,
    gpu_tick,
)
from workers.readings.record import DeviceRecord, Facts, facts, tick


class Instance(NamedTuple):
    """A MIG device as a form tells it; `number` is its number on its GPU."""

    number: int | None
    profile: str | None = None
    uuid: str | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    fields: Fields = MappingProxyType({})
    pids: list[int] | None = None

    @property
    def name(self) -> str | None:
        """Its profile, or GPU and compute instance as `3/0`."""
        ids = (self.gpu_instance, self.compute_instance)
        return self.profile or (None if None in ids else "/".join(map(str, ids)))


def devices(
    fields: Fields, pids: list[int] | None = None, instances: list[Instance] | None = None
) -> list[DeviceRecord]:
    """Return a whole GPU with one reading, and its MIG instances after it.

    Args:
        fields: what is told of the GPU.
        pids: its processes; None where they are not told.
        instances: its MIG instances; None where they are not told.
    """
    known = gpu_facts(fields, _names(instances))
    name = device_class(known["model"], known["memory_b"])
    parent = DeviceRecord(KIND, name, known, (gpu_tick(fields, pids),))
    return with_instances(parent, instances)


def _names(instances: list[Instance] | None) -> list[str] | None:
    names = [instance.name for instance in instances or ()]
    return None if instances is None or None in names else [name for name in names if name]


SHARED = ("model", "architecture", "driver", "runtime", "firmware", "persistence", "ecc_mode", "compute_mode")
"""Facts that a MIG instance has from its GPU."""


def instance_record(parent: DeviceRecord, instance: Instance, *, time: str | None) -> DeviceRecord:
    """Return a MIG instance as a device of its own, with what is told of it and no reading of the whole GPU.

    Its `index` is that of its GPU and its own, `0:1`, as container runtimes write it; where the GPU's number is not
    told the GPU's name takes its place. `partitions` holds its own profile.
    """
    known = parent.facts
    place = known["index"] if known["index"] is not None else parent.name
    numbers = amounts(instance.fields, {name: FACT_AMOUNTS[name] for name in ("memory_b", "cores")})
    own = facts(
        **{name: known[name] for name in SHARED},
        **numbers,
        index=None if instance.number is None else f"{place}:{instance.number}",
        uuid=instance.uuid,
        partition_mode="enabled",
        partitions=[instance.name] if instance.name else None,
    )
    used = amounts(instance.fields, {"mem_used_b": READING_AMOUNTS["mem_used_b"]})
    reading = tick(**used, time=time, foreign_pids=instance.pids, mode=mode_text("enabled"))
    readings = (reading,) if used["mem_used_b"] is not None or instance.pids is not None else ()
    return DeviceRecord(KIND, mig_class(parent.device_class, instance.profile), own, readings)


def with_instances(parent: DeviceRecord, instances: list[Instance] | None) -> list[DeviceRecord]:
    """Return a GPU and its MIG instances."""
    time = parent.readings[0]["time"] if parent.readings else None
    return [parent, *(instance_record(parent, instance, time=time) for instance in instances or ())]


class _Sighting:
    """A device as several outputs told it so far."""

    def __init__(self, record: DeviceRecord) -> None:
        self.kind = record.kind
        self.facts = record.facts
        self._names = {record.device_class}
        self._readings = list(record.readings)

    def add(self, record: DeviceRecord) -> None:
        """Take what one more output tells; the first word on a fact counts."""
        news = {name for name in self.facts["unavailable"] if record.facts[name] is not None}
        if news:
            known = {**self.facts, **{name: record.facts[name] for name in news}}
            self.facts = facts(**{name: value for name, value in known.items() if name != "unavailable"})
        self._names.add(record.device_class)
        self._readings += record.readings

    def record(self) -> DeviceRecord:
        """Return the device; of the names of its class the most exact one."""
        name = max(self._names, key=lambda name: ("unknown" not in name, len(name)))
        return DeviceRecord(self.kind, name, self.facts, tuple(self._readings))


def joined(records: Iterable[DeviceRecord]) -> list[DeviceRecord]:
    """Return records that are all of one device as that device; none of none."""
    device: _Sighting | None = None
    for record in records:
        if device is None:
            device = _Sighting(record)
        else:
            device.add(record)
    return [] if device is None else [device.record()]


def united(outputs: Iterable[list[DeviceRecord]]) -> list[DeviceRecord]:
    """Return the devices of several outputs of one host: facts united, readings in the order of the outputs.

    Devices are the same where their bus ids are; else their uuids, numbers, or serials. Two of one output never are,
    nor are two of different numbers: recordings have ids that were made alike so that nobody knows them.
    """
    known: list[_Sighting] = []
    for output in outputs:
        free = list(known)
        for record in output:
            same = next((device for device in free if _same(device.facts, record.facts)), None)
            if same is None:
                known.append(_Sighting(record))
            else:
                free.remove(same)
                same.add(record)
    return [device.record() for device in known]


def _same(one: Facts, other: Facts) -> bool:
    if None not in (one["index"], other["index"]) and one["index"] != other["index"]:
        return False
    for name in ("pci_bus_id", "uuid", "index", "serial"):
        if one[name] is not None and other[name] is not None:
            return bool(one[name] == other[name])
    return False
