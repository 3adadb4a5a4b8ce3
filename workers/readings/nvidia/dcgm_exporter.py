"""dcgm-exporter's metrics in Prometheus' text format: `DCGM_FI_DEV_*` and `DCGM_FI_PROF_*`, of any version.

A series with `GPU_I_ID` is of a MIG instance, which is a device of its own. What is measured for a whole GPU only, as
its power, stays with the GPU where a series is labelled with an instance all the same. Names of exporter 1.x are known,
too. What the fields mean is in `dcgm_exporter_fields`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from workers.readings.nvidia.dcgm_exporter_fields import (
    COMMON,
    FACTS,
    MEMORY_PARTS,
    OWN,
    SWITCHES,
    WHOLE_GPU,
    Amount,
    Values,
    amounts,
    field_value,
    memory_seen,
    replaced,
    switch,
    throttle_ns,
)
from workers.readings.nvidia.products import KIND, device_class, mig_class, mode_text, partition_mode
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts, throttle_reasons, tick

TOOL = "dcgm-exporter"

METRIC = re.compile(r"^[ \t]*(?:DCGM_FI_|dcgm_)\w+\{[^}\n]*\b(?:gpu|UUID|uuid)=", re.MULTILINE)
SERIES = re.compile(r"\s*(\w+)\{(.*)\}\s+(\S+)(?:\s+(-?\d+))?\s*")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
TYPE = re.compile(r"\s*# TYPE (\w+) (\w+)\s*")
OTHER_ENTITIES = ("nvswitch", "nvlink", "link", "cpu", "cpucore")
"""Labels of series that are not of a GPU, though they may name one."""

OLD_NAMES = {
    "dcgm_memory_clock": "DCGM_FI_DEV_MEM_CLOCK",
    "dcgm_gpu_utilization": "DCGM_FI_DEV_GPU_UTIL",
    "dcgm_mem_copy_utilization": "DCGM_FI_DEV_MEM_COPY_UTIL",
    "dcgm_ecc_sbe_volatile_total": "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
    "dcgm_ecc_dbe_volatile_total": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "dcgm_retired_pages_sbe": "DCGM_FI_DEV_RETIRED_SBE",
    "dcgm_retired_pages_dbe": "DCGM_FI_DEV_RETIRED_DBE",
    "dcgm_retired_pages_pending": "DCGM_FI_DEV_RETIRED_PENDING",
}
"""Names of exporter 1.x that are not the field's in lower case."""


class Series(NamedTuple):
    """One line; `moment` is the time that it carries [ms since 1970], `scrape` the number of its scrape."""

    field: str
    labels: dict[str, str]
    value: float | None
    moment: str | None
    scrape: int


class Entity:
    """A GPU, or one of its MIG instances, over the scrapes of a text."""

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.scrapes: dict[int, dict[str, float]] = {}
        self.moments: dict[int, str | None] = {}

    def add(self, series: Series) -> None:
        """Take a line; the first one on a field counts, as pods that share a GPU repeat it."""
        self.labels = {**series.labels, **self.labels}
        values = self.scrapes.setdefault(series.scrape, {})
        self.moments.setdefault(series.scrape, series.moment)
        if series.value is not None:
            values.setdefault(series.field, series.value)

    @property
    def latest(self) -> Values:
        """What is known of it, from all scrapes."""
        return {name: value for values in self.scrapes.values() for name, value in values.items()}


def recognises(text: str) -> bool:
    """Say whether a text holds such metrics."""
    return METRIC.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs, each with its MIG instances after it, and a reading a scrape.

    A last line without an end is left out: the format ends every line. How a GPU is divided is told where the series
    of a field that is not the last one show it, as those of the last one may be cut.
    """
    gpus: dict[str, dict[str, Entity]] = {}
    fields = []
    for series in _series(text):
        instance = series.labels.get("GPU_I_ID", "")
        gpus.setdefault(_gpu_name(series.labels), {}).setdefault(instance, Entity(series.labels)).add(series)
        fields.append((series.field, bool(instance)))
    whole = any(divided and field != fields[-1][0] for field, divided in fields)
    return [record for entities in gpus.values() for record in _devices(entities, whole=whole)]


def _series(text: str) -> Iterator[Series]:
    types: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    scrape = 0
    for line in text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]:
        if match := TYPE.fullmatch(line):
            types[match[1]] = match[2]
        elif (match := SERIES.fullmatch(line)) and (field := _field(match[1])) is not None:
            labels = {name: value for name, value in LABEL.findall(match[2]) if value}
            if not _gpu_name(labels) or any(label in labels for label in OTHER_ENTITIES):
                continue
            if (field, match[2]) in seen:
                scrape, seen = scrape + 1, set()
            seen.add((field, match[2]))
            yield Series(field, labels, field_value(field, match[3], types.get(match[1])), match[4], scrape)


def _field(metric: str) -> str | None:
    """Return the field of a metric's name, or None where it is none of DCGM's."""
    name = OLD_NAMES.get(metric, metric)
    if name.startswith(("DCGM_FI_", "dcgm_fi_")):
        return name[len("DCGM_FI_") :].upper()
    return f"DEV_{name.removeprefix('dcgm_').upper()}" if name.startswith("dcgm_") else None


def _label(labels: Mapping[str, str], *names: str) -> str | None:
    return next((labels[name] for name in names if name in labels), None)


def _gpu_name(labels: Mapping[str, str]) -> str:
    """Return what names a GPU in its text: its uuid, or its number on its host; nothing where a series is of none."""
    uuid, number = _label(labels, "UUID", "uuid", "gpu_uuid"), labels.get("gpu")
    host = _label(labels, "Hostname", "hostname") or ""
    return uuid or (f"{host} {number}" if number else "")


def _devices(entities: dict[str, Entity], *, whole: bool) -> list[DeviceRecord]:
    instances = {name: entity for name, entity in entities.items() if name}
    gpu = entities.get("") or Entity(next(iter(instances.values())).labels)
    for entity in instances.values():
        _give_back(entity, gpu)
    parts = sorted(instances, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0))
    profiles = [instances[part].labels.get("GPU_I_PROFILE") or part for part in parts]
    parent = _gpu(gpu, profiles if whole else None, divided=bool(instances))
    return [parent, *(_instance(instances[part], part, parent) for part in parts)]


def _give_back(instance: Entity, gpu: Entity) -> None:
    """Give a GPU what is labelled with an instance and measured for the GPU, where nothing else tells it.

    Memory errors may be counted for each instance, and are given to none.
    """
    own = {name for field in (*OWN.values(), FACTS["memory_b"]) for name in field.names} | set(MEMORY_PARTS)
    for scrape, values in instance.scrapes.items():
        whole = {name: value for name, value in values.items() if name not in own and "_ECC_" not in name}
        if whole:
            known = gpu.scrapes.setdefault(scrape, {})
            gpu.scrapes[scrape] = {**whole, **known}
            gpu.moments.setdefault(scrape, instance.moments[scrape])


def _gpu(entity: Entity, profiles: list[str] | None, *, divided: bool) -> DeviceRecord:
    values, labels = entity.latest, entity.labels
    mig = values.get("DEV_MIG_MODE")
    mode = partition_mode("enabled" if divided or mig == 1 else "disabled" if mig == 0 else None)
    numbers = amounts(values, FACTS)
    known = facts(
        **_words(labels),
        **{name: switch(values, names) for name, names in SWITCHES.items()},
        **numbers,
        index=int(labels["gpu"]) if labels.get("gpu", "").isdecimal() else None,
        uuid=_label(labels, "UUID", "uuid", "gpu_uuid"),
        serial=labels.get("DCGM_FI_DEV_SERIAL"),
        pci_bus_id=(labels.get("pci_bus_id") or "").lower() or None,
        partition_mode=mode,
        partitions=profiles if divided else [] if mode == "disabled" else None,
    )
    readings = [
        _tick(entity, scrape, {**OWN, **COMMON, **WHOLE_GPU}, mode) for scrape in sorted(entity.scrapes)
    ]
    name = device_class(known["model"], known["memory_b"] or memory_seen(values))
    return DeviceRecord(KIND, name, known, tuple(readings))


def _words(labels: Mapping[str, str]) -> dict[str, object]:
    cuda = labels.get("DCGM_FI_CUDA_DRIVER_VERSION", "")
    return {
        "model": _label(labels, "modelName", "model_name"),
        "driver": _label(labels, "DCGM_FI_DRIVER_VERSION", "driver_version"),
        "firmware": labels.get("DCGM_FI_DEV_VBIOS_VERSION"),
        "runtime": f"{int(cuda) // 1000}.{int(cuda) % 1000 // 10}" if cuda.isdecimal() else None,
    }


def _instance(entity: Entity, part: str, parent: DeviceRecord) -> DeviceRecord:
    """Return a MIG instance; its `index` is that of its GPU and its own id, as DCGM writes it: `0/7`."""
    profile = entity.labels.get("GPU_I_PROFILE")
    place = parent.facts["index"] if parent.facts["index"] is not None else parent.name
    known = facts(
        **{name: parent.facts[name] for name in ("model", "driver", "firmware", "runtime", "ecc_mode")},
        **amounts(entity.latest, {"memory_b": FACTS["memory_b"]}),
        index=f"{place}/{part}",
        partition_mode="enabled",
        partitions=[profile] if profile else None,
    )
    readings = [_tick(entity, scrape, {**OWN, **COMMON}, "enabled") for scrape in sorted(entity.scrapes)]
    return DeviceRecord(KIND, mig_class(parent.device_class, profile), known, tuple(readings))


def _tick(entity: Entity, scrape: int, wanted: Mapping[str, Amount], mode: str | None) -> Tick:
    values = entity.scrapes[scrape]
    numbers = amounts(values, wanted)
    if numbers.get("mem_temp_c") == 0:
        numbers["mem_temp_c"] = None
    whole_gpu = "throttle_mask" in wanted
    mask = numbers.get("throttle_mask")
    return tick(
        **numbers,
        time=_time(entity.moments[scrape]),
        throttle_reasons=throttle_reasons(None if mask is None else int(mask)),
        throttle_ns=throttle_ns(values) if whole_gpu else None,
        remapped_rows=replaced(values) if whole_gpu else None,
        mode=mode_text(mode),
    )


def _time(moment: str | None) -> str | None:
    """Return a time in milliseconds since 1970 as ISO 8601; None for one that is no time of a scrape."""
    if moment is None or not re.fullmatch(r"\d{10,13}", moment):
        return None
    return datetime.fromtimestamp(int(moment) / 1000, UTC).isoformat()


READERS: tuple[Reader, ...] = (Reader(TOOL, "prometheus", recognises, read),)
