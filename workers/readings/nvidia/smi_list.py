"""`nvidia-smi -L`: a line a GPU, and a line a MIG device below it."""

from __future__ import annotations

import re
from itertools import takewhile

from workers.readings.nvidia.products import KIND, device_class
from workers.readings.nvidia.smi import TOOL, is_capture
from workers.readings.nvidia.smi_devices import Instance, with_instances
from workers.readings.reader import AFTERWARDS, Reader
from workers.readings.record import DeviceRecord, facts

GPU = re.compile(r"GPU (\d+): (\S.*?) \(UUID: (\S+)\)\s*")
MIG = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-\S+)\)\s*")


def recognises(text: str) -> bool:
    """Say whether a text is such a list: warnings may stand before it; what follows is of it, a prompt, or is cut."""
    lines = [line for line in text.splitlines() if line.strip()]
    start = next((number for number, line in enumerate(lines) if GPU.fullmatch(line)), None)
    if start is None or is_capture(text):
        return False
    complete = lines[start:] if text.endswith(("\n", "\r")) else lines[start:-1]
    listed = takewhile(lambda line: not AFTERWARDS.fullmatch(line), complete)
    return all(GPU.fullmatch(line) or MIG.fullmatch(line) for line in listed)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs and MIG instances, without readings.

    Of the last GPU of a text that ends within a line it is not known how it is divided: more may have followed.
    """
    found: list[tuple[re.Match[str], list[Instance]]] = []
    for line in text.splitlines():
        if gpu := GPU.fullmatch(line):
            found.append((gpu, []))
        elif (part := MIG.fullmatch(line)) and found:
            found[-1][1].append(Instance(number=int(part[2]), profile=part[1], uuid=part[3]))
    last = len(found) if text.endswith(("\n", "\r")) else len(found) - 1
    return [
        record
        for number, (gpu, instances) in enumerate(found)
        for record in _devices(gpu, instances, whole=number < last)
    ]


def _devices(gpu: re.Match[str], instances: list[Instance], *, whole: bool) -> list[DeviceRecord]:
    names = [instance.profile for instance in instances]
    known = facts(
        index=int(gpu[1]),
        model=gpu[2],
        uuid=gpu[3],
        partition_mode="enabled" if instances else None,
        partitions=names if instances and whole else None,
    )
    return with_instances(DeviceRecord(KIND, device_class(gpu[2], None), known), instances)


LIST = Reader(TOOL, "list", recognises, read)
