"""AWS `neuron-monitor`: a report in JSON for every period, each a line, or several of them saved with line breaks.

Source: the Neuron Monitor User Guide of the AWS Neuron documentation, from its first version on, and what its own
Prometheus exporter reads. The first version called the instance `instance_data` and told errors by runtime, as
`hw_counters`, of the period alone: those are not read.

A group of metrics has an `error`, and so has a runtime; where it is not empty, what it belongs to is missing.
`neuroncore_utilization` is in percent and memory in bytes. Counts of executions, latencies, `flops` and
`effective_flops` (operations a second), and the host's memory and processors are no readings of a device. Reports carry
no time of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from workers.readings.neuron.products import (
    Errors,
    Hardware,
    Report,
    Runtime,
    count,
    errors,
    records,
    share,
    word,
)
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

TOOL = "neuron-monitor"

INSTANCE = ("instance_info", "instance_data")
PARTS = ("neuron_runtime_data", "system_data", "neuron_hardware_info", *INSTANCE)
OWN = re.compile(r'"(?:neuron_runtime_data|neuron_hardware_info|neuron_hw_counters|neuroncore_counters)"\s*:')
Json = Mapping[str, Any]


def recognises(text: str) -> bool:
    """Return whether a text is reports of neuron-monitor."""
    return "{" in text and OWN.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return one record a device, with one reading a report.

    Raises:
        UnreadableError: no report in it is whole.
    """
    found = [report(document) for document in documents(text)]
    if not found:
        end = text.count("\n") + 1
        raise UnreadableError(f"neuron-monitor: no whole report up to line {end}; a JSON object was expected")
    return records(found)


def documents(text: str) -> Iterator[Json]:
    """Yield every whole report in a text, whatever stands between them; one that was cut is left out."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            document, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            end = place + 1
        else:
            if isinstance(document, dict) and any(part in document for part in PARTS):
                yield document
        place = text.find("{", end)


def report(document: Json) -> Report:
    """Return what one report tells."""
    runtimes = document.get("neuron_runtime_data")
    told = [_runtime(runtime) for runtime in _list(runtimes) if isinstance(runtime, Mapping)]
    return Report(
        hardware=_hardware(
            next((part for name in INSTANCE if (part := _sound(document, name))), {}),
            _sound(document, "neuron_hardware_info"),
        ),
        runtimes=told if isinstance(runtimes, list) else None,
        errors=_errors(_sound(_sound(document, "system_data"), "neuron_hw_counters")),
    )


def _sound(parent: Json, name: str) -> Json:
    """Return a part of a report; an empty one where it is missing, or tells that it could not be had."""
    part = parent.get(name)
    return part if isinstance(part, Mapping) and not part.get("error") else {}


def _hardware(instance: Json, hardware: Json) -> Hardware:
    return Hardware(
        instance_id=word(instance.get("instance_id")),
        instance_type=word(instance.get("instance_type")),
        product=word(hardware.get("neuron_device_type")),
        architecture=word(hardware.get("neuroncore_version")) or word(hardware.get("neuron_device_version")),
        devices=count(hardware.get("neuron_device_count")),
        cores=count(hardware.get("neuroncore_per_device_count")),
        memory_b=count(hardware.get("neuron_device_memory_size")) or None,
        logical=count(hardware.get("logical_neuroncore_config")),
    )


def _errors(counters: Json) -> dict[int, Errors]:
    found = {}
    for device in _list(counters.get("neuron_devices")):
        index = count(_get(device, "neuron_device_index"))
        if index is not None and isinstance(device, Mapping):
            found[index] = errors((name, count(value)) for name, value in device.items())
    return found


def _runtime(entry: Json) -> Runtime:
    inner: Json = {} if entry.get("error") else entry
    told = _sound(inner, "report")
    return Runtime(
        pid=count(entry.get("pid")),
        cores=_utilisation(_sound(told, "neuroncore_counters").get("neuroncores_in_use")),
        memory_b=_used(_sound(told, "memory_used").get("neuron_runtime_used_bytes")),
        core_memory_b=_core_memory(_sound(told, "memory_used").get("neuron_runtime_used_bytes")),
    )


def _utilisation(cores: object) -> dict[int, float] | None:
    if not isinstance(cores, Mapping):
        return None
    shares = {core: share(_get(data, "neuroncore_utilization")) for core, data in cores.items()}
    return {int(core): used for core, used in shares.items() if used is not None and str(core).isdecimal()}


def _used(memory: object) -> int | None:
    """Return a runtime's memory on all devices [B]; newer versions leave `neuron_` out of its name."""
    value = _get(memory, "neuron_device")
    return count(_get(memory, "device") if value is None else value)


def _core_memory(memory: object) -> dict[int, int] | None:
    """Return a runtime's device memory by the core that it is for [B], the sum of its kinds."""
    cores = _get(_get(memory, "usage_breakdown"), "neuroncore_memory_usage")
    if not isinstance(cores, Mapping):
        return None
    found = {}
    for core, kinds in cores.items():
        sizes = [count(size) for size in kinds.values()] if isinstance(kinds, Mapping) else [None]
        known = [size for size in sizes if size is not None]
        if not str(core).isdecimal() or len(known) != len(sizes):
            return None
        found[int(core)] = sum(known)
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _get(parent: object, name: str) -> object:
    return parent.get(name) if isinstance(parent, Mapping) else None


NEURON_MONITOR = Reader(TOOL, "json", recognises, read)
READERS: tuple[Reader, ...] = (NEURON_MONITOR,)
