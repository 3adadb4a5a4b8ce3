"""Which telemetry of devices works, what is missing, and how to get it; works on the document of `ratchet devices`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from app.reports.grid import LEAST_WIDTH, Paint
from app.reports.text import fit, plain

Document = Mapping[str, Any]

GROUPS: dict[str, tuple[str, ...]] = {
    "utilisation": ("util", "mem_util"),
    "activity of its units": ("sm_active", "sm_occupancy", "tensor_active", "dram_active"),
    "clocks": ("sm_clock_hz", "mem_clock_hz"),
    "power": ("power_w",),
    "power limit": ("power_limit_w",),
    "energy": ("energy_j_total",),
    "temperature": ("temp_c", "mem_temp_c"),
    "memory in use": ("mem_used_b",),
    "throttling": ("throttle_reasons", "throttle_ns", "throttle_mask", "over_current"),
    "memory errors": ("ecc_corrected", "ecc_uncorrected", "remapped_rows"),
    "driver errors": ("xid_count",),
    "links": ("pcie_gen", "pcie_width", "pcie_tx_b_s", "nvlink_tx_b_s"),
    "processes": ("foreign_pids",),
    "mode": ("mode",),
    "load of the host": ("host_cpu_foreign", "host_steal", "swap_in_b"),
}
"""What telemetry is for, and the readings that give it."""

ONLY_OF = {"driver errors": ("nvidia", "simulated"), "load of the host": ("cpu", "simulated")}
NEVER_OF = {"cpu": ("activity of its units", "links", "processes"), "jetson": ("links",)}
"""What devices of a kind do not have, so that nobody misses it."""

LABEL = 10
UNIT = re.compile(r"(?<=\d) (?=(?:%|[kMGT]?Hz|W|MiB|UTC)\b|%)")
"""The space between a number and its unit."""


def telemetry_lines(document: Document, room: int | None, paint: Paint) -> Iterator[list[str]]:
    """Yield the lines of each group of devices that tell the same; of recordings, of each kind."""
    if document["source"] == "machine":
        for title, device in _alike(document["devices"]):
            yield _of_devices(title, device, room, paint)
        return
    for kind in dict.fromkeys(device["kind"] for device in document["devices"]):
        samples = [
            sample for device in document["devices"] if device["kind"] == kind for sample in device["samples"]
        ]
        told = {name for sample in samples for name in sample}
        yield [paint(kind, "bold"), *_works(kind, told, room), *_record_more(document, kind, room)]


def lack_lines(title: str, lack: Document, room: int | None, paint: Paint) -> list[str]:
    """Return what is missing, why, and how to get it."""
    lines = [paint(line, "yellow") for line in wrapped(title, room)]
    return [*lines, *_labelled("", lack["why"], room), *_labelled("", f"→ {lack['how']}", room)]


def safe(value: Any) -> Any:
    """Return a document whose words are safe to print: they are other programs'."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(key): safe(one) for key, one in value.items()}
    return [safe(one) for one in value] if isinstance(value, list | tuple) else value


def _alike(devices: Sequence[Document]) -> list[tuple[str, Document]]:
    """Return devices of one class that tell the same as one, with their numbers."""
    groups: dict[str, list[Document]] = {}
    for device in devices:
        told = [name for name, value in device["readings"].items() if value is not None]
        groups.setdefault(repr((device["device_class"], told, device["lacks"])), []).append(device)
    return [(names(group), group[0]) for group in groups.values()]


def names(group: Sequence[Document]) -> str:
    """Return what devices of one class are called: the class and their numbers; there is one processor only."""
    name = str(group[0]["device_class"])
    if group[0]["kind"] == "cpu":
        return name
    numbers = [device["facts"]["index"] for device in group if device["facts"]["index"] is not None]
    return f"{name} {', '.join(_runs(numbers))}".strip()


def _runs(numbers: Sequence[int | str]) -> list[str]:
    """Return numbers, those that follow each other as one run: `0-3`."""
    runs: list[list[int | str]] = []
    for number in numbers:
        before = runs[-1][-1] if runs else None
        if isinstance(number, int) and isinstance(before, int) and number == before + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]


def _of_devices(title: str, device: Document, room: int | None, paint: Paint) -> list[str]:
    told = [name for name, value in device["readings"].items() if value is not None]
    lines = [*(paint(line, "bold") for line in wrapped(title, room)), *_works(device["kind"], told, room)]
    for lack in device["lacks"]:
        first, *more = _labelled("missing", _words(lack["what"]), room)
        lines += [paint(first, "yellow"), *(paint(line, "yellow") for line in more)]
        lines += [*_labelled("", lack["why"], room), *_labelled("", f"→ {lack['how']}", room)]
    return lines


def _works(kind: str, told: Iterable[str], room: int | None) -> list[str]:
    known = frozenset(told)
    hidden = {*NEVER_OF.get(kind, ()), *(group for group, kinds in ONLY_OF.items() if kind not in kinds)}
    works = [group for group, readings in GROUPS.items() if not known.isdisjoint(readings)]
    missing = [group for group in GROUPS if group not in works and group not in hidden]
    return [
        *_labelled("tells", ", ".join(works) or "nothing", room),
        *(_labelled("not", ", ".join(missing), room) if missing else []),
    ]


def _record_more(document: Document, kind: str, room: int | None) -> list[str]:
    commands = [command for one in document["untold"] if one["kind"] == kind for command in one["how"]]
    return [line for command in commands for line in _labelled("", f"→ record as well: {command}", room)]


def wrapped(text: str, room: int | None) -> list[str]:
    """Return the text in lines of at most `room` columns, names of tools and their options in one piece."""
    if room is None:
        return [text]
    lines = wrap(UNIT.sub("\u00a0", text), room, subsequent_indent="  ", break_on_hyphens=False)
    return [fit(line.replace("\u00a0", " "), room) for line in lines]


def _words(what: str) -> str:
    """Return a list of readings by what they are for; other words as they are."""
    groups = {name: group for group, readings in GROUPS.items() for name in readings}
    return ", ".join(dict.fromkeys(groups.get(word, word) for word in what.split(", ")))


def _labelled(label: str, text: str, room: int | None) -> list[str]:
    """Return text beside a label, its later lines below its first."""
    width = None if room is None else max(room - LABEL, LEAST_WIDTH - LABEL)
    first, *more = wrapped(text, width) or [""]
    return [f"  {label:<{LABEL - 2}}{first}", *(f"{'':{LABEL}}{line}" for line in more)]
