"""AWS `neuron-monitor-prometheus.py`: what neuron-monitor reports, as text for Prometheus.

Source: the exporter, which ships with the Neuron tools, and the Prometheus text format. `*_ratio` are shares from 0 to
1, `*_created` the client library's own times. A report's series of a runtime have its tag, which is the process's
number only where nobody chose another, so processes are not told. Several scrapes may follow each other: a series that
comes again begins the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

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
from workers.readings.quantities import quantity
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

TOOL = "neuron-monitor"

UTILISATION = "neuroncore_utilization_ratio"
HARDWARE = ("neuron_hardware_info", "neuron_hardware")
ECC = "hardware_ecc_events_total"
MEMORY = "neuron_runtime_memory_used_bytes"
CORE_MEMORY = "neuroncore_memory_usage_"
CORE_MEMORY_TOTAL = f"{CORE_MEMORY}total"

OWN = re.compile(
    r"^[ \t]*(?:neuroncore_utilization_ratio|neuron_hardware(?:_info)?|neuron_runtime_memory_used_bytes"
    r"|hardware_ecc_events_total|neuroncore_memory_usage_\w+|neuron_runtime_vcpu_usage_ratio)\{",
    re.MULTILINE,
)
SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+))?\s*")
LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


class Sample(NamedTuple):
    """One line: the series, its value as written, and its moment as ISO 8601 where it has one."""

    name: str
    labels: Mapping[str, str]
    value: str
    time: str | None


def recognises(text: str) -> bool:
    """Return whether a text has series of the exporter."""
    return OWN.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return one record a device, with one reading a scrape.

    Raises:
        UnreadableError: a line of the exporter's is no sample.
    """
    return records([_report(scrape) for scrape in scrapes(closed(samples(text)))])


def samples(text: str) -> list[Sample]:
    """Return every sample; where a text ends within a line, the metric that this line is about is left out.

    A line is whole only with its end, and a metric that lacks some of its cores would tell another mean.

    Raises:
        UnreadableError: a line of the exporter's is no sample.
    """
    lines = text.splitlines(keepends=True)
    cut = lines.pop() if lines and not lines[-1].endswith(("\n", "\r")) else ""
    found = [sample for number, line in enumerate(lines, 1) if (sample := _sample(number, line)) is not None]
    return [sample for sample in found if sample.name != re.split(r"[{\s]", cut)[0]]


def closed(found: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples without the last metric where a text may have been cut between two of its lines.

    That is where it tells some cores of a device only, or fewer counters of one device than of another. Of kinds of
    memory, which are summed, the last scrape has to tell as many as the one before it.
    """
    name = found[-1].name if found else ""
    cores = len(_hardware(found).cores_of(0) or (0,))
    if name.startswith(CORE_MEMORY):
        last = list(takewhile(lambda sample: sample.name.startswith(CORE_MEMORY), reversed(found)))
        others = found[: len(found) - len(last)]
        before = {sample.name for sample in others if sample.name.startswith(CORE_MEMORY)}
        kinds = Counter(sample.name for sample in last)
        return found if kinds.keys() == before and not any(n % cores for n in kinds.values()) else others
    last = list(takewhile(lambda sample: sample.name == name, reversed(found)))
    others = found[: len(found) - len(last)]
    if name == ECC:
        counts = Counter(sample.labels.get("neuron_device_index") for sample in last)
        return found if len(set(counts.values())) == 1 else others
    return others if name == UTILISATION and len(last) % cores else found


def _sample(number: int, line: str) -> Sample | None:
    """Return what a line tells; None for comments, and for lines of whatever else stands in the text."""
    match = None if line.lstrip().startswith("#") else SAMPLE.fullmatch(line.strip())
    if match is None and OWN.match(line):
        raise UnreadableError(f"neuron-monitor: line {number}: a name, labels and a value were expected")
    if match is None:
        return None
    labels = {name: re.sub(r"\\(.)", r"\1", value) for name, value in LABEL.findall(match[2] or "")}
    return Sample(match[1], labels, match[3], _time(match[4]))


def _time(milliseconds: str | None) -> str | None:
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC).isoformat() if milliseconds else None
    except (OverflowError, ValueError, OSError):
        return None


def scrapes(found: Sequence[Sample]) -> Iterator[list[Sample]]:
    """Yield the samples of one scrape after the other."""
    current: list[Sample] = []
    seen: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    for sample in found:
        series = (sample.name, frozenset(sample.labels.items()))
        if series in seen:
            yield current
            current, seen = [], set()
        current.append(sample)
        seen.add(series)
    if current:
        yield current


def _report(scrape: Sequence[Sample]) -> Report:
    return Report(
        hardware=_hardware(scrape),
        runtimes=_runtimes(scrape),
        errors=_errors(scrape),
        time=next((sample.time for sample in scrape if sample.time), None),
    )


def _hardware(scrape: Sequence[Sample]) -> Hardware:
    told = next((sample.labels for sample in scrape if sample.name in HARDWARE), {})
    instance = next((sample.labels for sample in scrape if sample.labels.get("instance_type")), {})
    return Hardware(
        instance_id=word(instance.get("instance_id")),
        instance_type=word(instance.get("instance_type")),
        product=word(told.get("neuron_device_type")),
        architecture=word(told.get("neuroncore_version")) or word(told.get("neuron_device_version")),
        devices=count(told.get("neuron_device_count")),
        cores=count(told.get("neuroncore_per_device_count")),
        memory_b=count(told.get("neuron_device_memory_size")) or None,
        logical=count(told.get("logical_neuroncore_config")),
    )


def _errors(scrape: Sequence[Sample]) -> dict[int, Errors]:
    counts: dict[int, list[tuple[str, int | None]]] = {}
    for sample in scrape:
        index = count(sample.labels.get("neuron_device_index"))
        if sample.name == ECC and index is not None:
            counts.setdefault(index, []).append((sample.labels.get("event_type", ""), count(sample.value)))
    return {index: errors(found) for index, found in counts.items()}


def _runtimes(scrape: Sequence[Sample]) -> list[Runtime] | None:
    """Return what each runtime tells; None where there is none, as the exporter shows those only that it has seen."""
    tags = dict.fromkeys(sample.labels["runtime_tag"] for sample in scrape if "runtime_tag" in sample.labels)
    found = [
        _runtime([sample for sample in scrape if sample.labels.get("runtime_tag") == tag]) for tag in tags
    ]
    return found or None


def _runtime(mine: Sequence[Sample]) -> Runtime:
    kinds = [s for s in mine if s.name.startswith(CORE_MEMORY) and s.name != CORE_MEMORY_TOTAL]
    return Runtime(
        cores=_by_core([s for s in mine if s.name == UTILISATION], lambda text: share(text, unit="")),
        memory_b=next((count(s.value) for s in mine if s.name == MEMORY and _on_device(s)), None),
        core_memory_b=_whole(_by_core(kinds, quantity)),
    )


def _on_device(sample: Sample) -> bool:
    return sample.labels.get("memory_location") in ("neuron_device", "device")


def _by_core(mine: Sequence[Sample], value: Callable[[str], float | None]) -> dict[int, float] | None:
    """Return the sum of each core's values, or None where there are none."""
    found: dict[int, float] = {}
    for sample in mine:
        core, number = count(sample.labels.get("neuroncore")), value(sample.value)
        if core is not None and number is not None:
            found[core] = found.get(core, 0.0) + number
    return found or None


def _whole(values: Mapping[int, float] | None) -> dict[int, int] | None:
    return None if values is None else {core: round(value) for core, value in values.items()}


NEURON_PROMETHEUS = Reader(TOOL, "prometheus", recognises, read)
READERS: tuple[Reader, ...] = (NEURON_PROMETHEUS,)
