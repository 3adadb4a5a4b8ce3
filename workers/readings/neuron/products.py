"""What the tools of AWS Neuron share: the words for Inferentia and Trainium, and reports on a whole instance.

`neuron-monitor` and the exporter that ships with it tell the same in JSON and as Prometheus series: utilisation by
NeuronCore, memory by runtime (a process that uses the devices), memory errors by device. `records` gives each device
what is its own. Cores are numbered through an instance, so device i has the cores from i * n on, n being the number
that the report tells for a device. Where it tells none, and there may be several devices, one record stands for all of
them: the instance, without an index.

`util` of a device is the mean over those of its cores that the report tells; those that no runtime holds are not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workers.readings.quantities import quantity, whole
from workers.readings.record import DeviceRecord, Tick, facts, tick

KIND = "neuron"

FAMILY = re.compile(r"\b(inf|trn)(\d+)", re.IGNORECASE)
PRODUCT = re.compile(r"\b(inferentia|trainium)(\d*)\b", re.IGNORECASE)
BUS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
MOST_CORES = 8
"""Physical cores of the largest devices (Trainium2 and 3): what would be more has been counted as physical cores."""
IMPLAUSIBLE_CORES = 1024
MOST_DEVICES = 1024
"""More than any instance has; what tells more is broken."""


def device_class(*names: str | None) -> str:
    """Return the class of a device from the first of its names that tells one: `trn2` of `trn2u.48xlarge`.

    Args:
        names: types of instances, as `inf2.xlarge` or the driver's `Inf2`, or products, as `trainium2`.
    """
    for name in names:
        if match := FAMILY.search(name or ""):
            return (match[1] + match[2]).lower()
        if match := PRODUCT.search(name or ""):
            return f"{'inf' if match[1].lower() == 'inferentia' else 'trn'}{match[2] or 1}"
    return KIND


def word(value: object) -> str | None:
    """Return what is a word; None for what is none, or tells nothing."""
    text = value.strip() if isinstance(value, str) else ""
    return None if text.upper() in ("", "NA", "N/A", "UNKNOWN") else text


def count(value: object) -> int | None:
    """Return a whole number of something, bytes too; None for what is none, and below 0."""
    number = whole(value)
    return number if number is not None and number >= 0 else None


def pci_bus_id(text: object) -> str | None:
    """Return a place on the PCI bus with its domain, which is 0000 where the tool leaves it out."""
    match = BUS.fullmatch(str(text or "").strip())
    return f"{match[1] or '0000'}:{match[2]}".lower() if match else None


def numa_node(text: object) -> int | None:
    """Return the number of a NUMA node; the driver's -1 means that there are none."""
    word = str(text).strip()
    return int(word) if word.isdecimal() else None


def share(value: object, *, unit: str = "%") -> float | None:
    """Return a share from 0 to 1; None for what is none. Rounding may take a period a little over its end."""
    number = quantity(value, unit=unit)
    return None if number is None or not 0 <= number <= 1.01 else min(number, 1.0)


class Hardware(NamedTuple):
    """What a report tells of the instance and its devices, which are all alike; None is not told."""

    instance_id: str | None = None
    instance_type: str | None = None
    product: str | None = None
    architecture: str | None = None
    devices: int | None = None
    cores: int | None = None
    memory_b: int | None = None
    logical: int | None = None
    """Physical cores that make one logical core, as programs count them."""

    def cores_of(self, index: int) -> range | None:
        """Return the numbers of a device's logical cores, or None where that is not told."""
        if not self.cores or self.cores > IMPLAUSIBLE_CORES:
            return None
        logical = self.logical or 1
        number = self.cores // logical if self.cores * logical > MOST_CORES else self.cores
        return range(index * number, (index + 1) * number)


class Errors(NamedTuple):
    """Memory errors of one device, counters; those of its DRAM and its SRAM together."""

    corrected: int | None
    uncorrected: int | None


@dataclass
class Runtime:
    """What one process that uses the devices tells of itself; None is not told."""

    pid: int | None = None
    cores: dict[int, float] | None = None
    """Utilisation of its cores, from 0 to 1."""
    memory_b: int | None = None
    core_memory_b: dict[int, int] | None = None


@dataclass
class Report:
    """One period of one instance."""

    hardware: Hardware
    runtimes: list[Runtime] | None = None
    errors: dict[int, Errors] = field(default_factory=dict)
    time: str | None = None


def errors(counts: Iterable[tuple[str, int | None]]) -> Errors:
    """Return a device's memory errors from its counters by the vendor's names, as `sram_ecc_uncorrected`."""
    known = [(name, number) for name, number in counts if number is not None]
    corrected = [number for name, number in known if name.endswith("_ecc_corrected")]
    uncorrected = [number for name, number in known if re.search(r"_ecc_(?:repairable_)?uncorrected$", name)]
    return Errors(sum(corrected) if corrected else None, sum(uncorrected) if uncorrected else None)


def records(reports: Sequence[Report]) -> list[DeviceRecord]:
    """Return one record a device of every instance that the reports are about, or one of all its devices."""
    instances: dict[str | None, list[Report]] = {}
    for report in reports:
        instances.setdefault(report.hardware.instance_id, []).append(report)
    return [record for found in instances.values() for record in _instance(found)]


def _instance(reports: Sequence[Report]) -> list[DeviceRecord]:
    hardware = next((report.hardware for report in reports if report.hardware.devices), reports[0].hardware)
    listed = sorted({index for report in reports for index in report.errors})
    number = hardware.devices or 0
    indexes: list[int | None] = list(range(number)) if 0 < number <= MOST_DEVICES else [*listed]
    if not indexes and any(report.runtimes for report in reports):
        indexes = [None]
    return [_device(hardware, index, len(indexes) == 1, reports) for index in indexes]


def _device(hardware: Hardware, index: int | None, alone: bool, reports: Sequence[Report]) -> DeviceRecord:
    known = facts(
        index=index,
        model=hardware.product,
        architecture=hardware.architecture,
        cores=None if index is None else hardware.cores,
        memory_b=None if index is None else hardware.memory_b,
        instance_type=hardware.instance_type,
    )
    mine = None if alone or index is None else hardware.cores_of(index)
    whole = alone or index is None
    readings = tuple(_reading(report, index, mine, whole=whole) for report in reports)
    return DeviceRecord(KIND, device_class(hardware.instance_type, hardware.product), known, readings)


def _reading(report: Report, index: int | None, cores: range | None, *, whole: bool) -> Tick:
    """Return what one report tells of a device; `whole` if everything in it is about this one record."""
    found = report.errors.get(index) if index is not None else None
    return tick(
        time=report.time,
        util=_util(report, cores, whole=whole),
        mem_used_b=_memory(report, cores, whole=whole),
        foreign_pids=_pids(report, cores, whole=whole),
        ecc_corrected=found.corrected if found else None,
        ecc_uncorrected=found.uncorrected if found else None,
    )


def _util(report: Report, cores: range | None, *, whole: bool) -> float | None:
    """Return the mean over a device's cores; a core that several runtimes tell is as busy as they say together."""
    busy: dict[int, float] = {}
    for runtime in report.runtimes or []:
        for core, used in (runtime.cores or {}).items():
            if whole or (cores is not None and core in cores):
                busy[core] = min(1.0, busy.get(core, 0.0) + used)
    return sum(busy.values()) / len(busy) if busy else None


def _memory(report: Report, cores: range | None, *, whole: bool) -> int | None:
    """Return the memory that all runtimes use of a device; None where one of them does not tell its own."""
    if not report.runtimes:
        return None
    if whole:
        used = [_own(runtime) for runtime in report.runtimes]
    elif cores is None or any(runtime.core_memory_b is None for runtime in report.runtimes):
        return None
    else:
        told = [runtime.core_memory_b or {} for runtime in report.runtimes]
        used = [used for memory in told for core, used in memory.items() if core in cores]
    known = [value for value in used if value is not None]
    return sum(known) if known and len(known) == len(used) else None


def _own(runtime: Runtime) -> int | None:
    if runtime.memory_b is not None or runtime.core_memory_b is None:
        return runtime.memory_b
    return sum(runtime.core_memory_b.values())


def _pids(report: Report, cores: range | None, *, whole: bool) -> list[int] | None:
    """Return the processes on a device; None where one of them does not tell itself or its cores."""
    pids = set()
    for runtime in report.runtimes or []:
        held = {*(runtime.cores or {}), *(runtime.core_memory_b or {})}
        if runtime.pid is None or not (whole or (held and cores)):
            return None
        if whole or (cores is not None and any(core in cores for core in held)):
            pids.add(runtime.pid)
    return None if report.runtimes is None else sorted(pids)
