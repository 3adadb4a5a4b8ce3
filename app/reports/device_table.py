"""What there is to measure on, as people read it on a terminal: a line a device, then what it tells and does not.

Works on the document of `ratchet devices --json` (docs/devices.md). Its words are other programs' and are made safe to
print first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from app.domain.units import ABSENT, format_quantity
from app.reports.device_telemetry import lack_lines, safe, telemetry_lines, wrapped
from app.reports.grid import GAP, Column, Paint, column, fitted, joined
from app.reports.quantities import display_unit, trim
from app.reports.text import columns, fit
from app.reports.words import count, listing

Document = Mapping[str, Any]

NO_THROTTLING = ("idle", "application_clocks", "display_clock")
"""Reasons for a clock that somebody chose, or that nobody needs higher."""

LEAST_DEVICE, MOST_PLACE = 18, 8
MOST_TROUBLES = 10
INDENT = "  "


def device_lines(document: Document, room: int | None, paint: Paint) -> list[str]:
    """Return the lines of the document; `room` is the width of the terminal, None without limit."""
    document = safe(document)
    parts = [
        _headline(document, room, paint),
        *_tables(document, room, paint),
        _without_accelerator(document, room),
        *([*lack_lines(f"{lack['kind']}: {lack['what']}", lack, room, paint)] for lack in document["absent"]),
        *telemetry_lines(document, room, paint),
        _unread(document, room, paint),
    ]
    lines = [line for part in parts if part for line in ("", *part)]
    return lines[1:]


def _headline(document: Document, room: int | None, paint: Paint) -> list[str]:
    """Return how many of the files that were read are outputs of which tools; nothing for a machine."""
    if document["source"] == "machine":
        return []
    known = {(device["source"]["file"], device["source"]["tool"]) for device in document["devices"]}
    known |= {(one["file"], one["tool"]) for one in document["unread"] if one["tool"]}
    files = {file for file, _ in known}
    every = files | {one["file"] for one in document["unread"]}
    tools = Counter(tool for _, tool in known)
    told = listing([f"{tool} ({n})" if n > 1 else tool for tool, n in sorted(tools.items())])
    verb = "is an output of" if len(files) == 1 else "are outputs of device tools:"
    first, *more = wrapped(f"{len(files)} of {count(len(every), 'file')} {verb} {told}", room)
    return [paint(first, "bold"), *(paint(line, "bold") for line in more)]


# --- the table ---------------------------------------------------------------------------------------------------


def _tables(document: Document, room: int | None, paint: Paint) -> Iterator[list[str]]:
    """Yield a table a tool, as each tells something else: a line a device, those of one output below its name."""
    for tool, of_tool in groupby(document["devices"], key=lambda device: _source(device)[1]):
        devices = list(of_tool)
        indent = INDENT if tool else ""
        every = _columns(devices)
        kept = fitted(every, None if room is None else room - len(indent), named=1, least=LEAST_DEVICE)
        lines = [paint(indent + joined(kept, None), "faint")]
        for source, of_source in groupby(enumerate(devices), key=lambda one: _source(one[1])):
            rows = list(of_source)
            if tool:
                lines += _source_lines(source, [device for _, device in rows], room, paint)
            for row, device in rows:
                lines += _row(indent + joined(kept, row), _notes(device), room, paint)
        gone = [one.title.lower() for one in every if one.title not in {left.title for left in kept}]
        if gone:
            left_out = wrapped(f"{indent}left out for want of room: {', '.join(gone)}", room)
            lines += [paint(line, "faint") for line in left_out]
        yield lines


def _columns(devices: Sequence[Document]) -> list[Column]:
    """Return the columns in which a device tells something."""
    table = [
        column("#", map(_place, devices), right=True),
        column("Device", (device["device_class"] for device in devices)),
        column("Memory", map(_memory, devices), right=True),
        column("Driver", (_text(device["facts"]["driver"]) for device in devices), expendable=4),
        column("Clock", map(_clock, devices)),
        column("Power", map(_power, devices)),
        column("Mode", map(_mode, devices), expendable=5),
        column("Temp", map(_temperature, devices), right=True, expendable=3),
        column("Use", map(_use, devices), right=True, expendable=3),
        column("Procs", map(_processes, devices), right=True, expendable=2),
        column("Model", (_text(device["facts"]["model"]) for device in devices), expendable=1),
    ]
    return [*table[:2], *(one for one in table[2:] if any(cell != ABSENT for cell in one.cells))]


def _source(device: Document) -> tuple[str, str, str]:
    source = device["source"]
    return (source["file"], source["tool"], source["form"]) if source else ("", "", "")


def _source_lines(
    source: tuple[str, str, str], devices: Sequence[Document], room: int | None, paint: Paint
) -> list[str]:
    file, tool, form = source
    n = max(len(device["samples"]) for device in devices)
    times = [sample["time"] for device in devices for sample in device["samples"] if sample.get("time")]
    which = f", the last of {n} readings" if n > 1 else ""
    when = f", {max(times)}" if times else ""
    name, *more = wrapped(file, room)
    beside = f"{tool} {form}{which}{when}"
    if room is None or (columns(name) + len(GAP) + columns(beside) <= room and not more):
        return [f"{paint(file, 'bold')}{GAP}{paint(beside, 'faint')}"]
    return [paint(line, "bold") for line in (name, *more)] + [
        paint(line, "faint") for line in wrapped(f"{INDENT}{beside}", room)
    ]


def _row(row: str, notes: str, room: int | None, paint: Paint) -> list[str]:
    if not notes:
        return [row]
    if room is None or columns(row) + len(GAP) + columns(notes) <= room:
        return [f"{row}{GAP}{paint(notes, 'yellow')}"]
    lines = wrapped(notes, max(room - 2 * len(INDENT), 20))
    return [row, *(f"{INDENT}{INDENT}{paint(line, 'yellow')}" for line in lines)]


def _place(device: Document) -> str:
    """Return the device's number, else its place on the bus without the domain."""
    index, bus = device["facts"]["index"], device["facts"]["pci_bus_id"]
    if index is not None:
        return fit(str(index), MOST_PLACE)
    return bus.partition(":")[2] if bus else ABSENT


def _memory(device: Document) -> str:
    used, memory = device["readings"]["mem_used_b"], device["facts"]["memory_b"]
    return _of(used, memory, "B", only_now="{} used") or ABSENT


def _clock(device: Document) -> str:
    facts = device["facts"]
    clock = _of(device["readings"]["sm_clock_hz"], facts["sm_clock_max_hz"], "Hz", only_most="max {}")
    policy = (facts["clock_policy"] or "").replace("automatic", "auto")
    return ", ".join(filter(None, (clock, policy))) or ABSENT


def _power(device: Document) -> str:
    readings, facts = device["readings"], device["facts"]
    limit = facts["power_limit_default_w"] if readings["power_limit_w"] is None else readings["power_limit_w"]
    return _of(readings["power_w"], limit, "W", only_most="limit {}") or ABSENT


def _of(
    now: float | None, most: float | None, unit: str, *, only_now: str = "{}", only_most: str = "{}"
) -> str:
    """Return what is used of what there is, in one unit: `1.2/80 GiB`; nothing where neither is known."""
    if now is not None and most:
        symbol, size = display_unit(most, unit)
        return f"{_short(now / size)}/{_short(most / size)} {symbol}"
    if now is not None:
        return only_now.format(format_quantity(now, unit))
    return "" if most is None else only_most.format(format_quantity(most, unit))


def _short(number: float) -> str:
    if number >= 1:
        return trim(f"{number:.0f}" if number >= 100 else f"{number:.3g}")
    digits = trim(f"{number:.3f}")
    return "<0.001" if digits == "0" and number > 0 else digits


def _temperature(device: Document) -> str:
    degrees = device["readings"]["temp_c"]
    return ABSENT if degrees is None else f"{degrees:.0f} °C"


def _use(device: Document) -> str:
    share = device["readings"]["util"]
    return ABSENT if share is None else f"{100 * share:.0f} %"


def _processes(device: Document) -> str:
    pids = device["readings"]["foreign_pids"]
    return ABSENT if pids is None else str(len(pids))


def _mode(device: Document) -> str:
    """Return how the device is divided, its board's power mode, and whether memory errors are corrected."""
    facts = device["facts"]
    told = [
        _division(facts["partition_mode"], facts["partitions"] or []),
        facts["power_mode"],
        {True: "ECC", False: "no ECC"}.get(facts["ecc_mode"]),
    ]
    return ", ".join(word for word in told if word) or ABSENT


def _division(mode: str | None, partitions: Sequence[str]) -> str:
    """Return the mode with the one part that a device is, or with the number of its parts."""
    parts = partitions[0] if len(partitions) == 1 else f"in {len(partitions)}" if partitions else ""
    word = {"enabled": "MIG", "disabled": ""}.get(mode or "", mode or "")
    return f"{word} {parts}".strip()


def _notes(device: Document) -> str:
    """Return what of a device deserves a look: what holds its clock down, errors of its memory, what is pending."""
    return ", ".join(_attention(device))


def _attention(device: Document) -> Iterator[str]:
    facts, readings = device["facts"], device["readings"]
    held = [reason for reason in readings["throttle_reasons"] or () if reason not in NO_THROTTLING]
    if held:
        yield f"held back: {', '.join(reason.replace('_', ' ') for reason in held)}"
    if errors := readings["ecc_uncorrected"]:
        yield count(errors, "memory error") + " not corrected"
    if facts["remap_pending"]:
        yield "memory rows wait to be replaced"
    if facts["ecc_mode_pending"] is not None and facts["ecc_mode_pending"] != facts["ecc_mode"]:
        yield "ECC changes with the next reset"


def _text(value: object) -> str:
    return ABSENT if value is None else str(value)


# --- what is not in it -------------------------------------------------------------------------------------------


def _without_accelerator(document: Document, room: int | None) -> list[str]:
    kinds = {device["kind"] for device in document["devices"]}
    if document["source"] != "machine" or kinds - {"cpu"}:
        return []
    if document["absent"]:
        return wrapped("No accelerator can be used on this machine, though something points to one:", room)
    return wrapped("No accelerator was found on this machine, and nothing points to one.", room)


def _unread(document: Document, room: int | None, paint: Paint) -> list[str]:
    """Return the files of which more was expected, with the reason; others are in the headline's number."""
    expected = [one for one in document["unread"] if not one["why"].startswith("not an output")]
    lines: list[str] = []
    for one in expected[:MOST_TROUBLES]:
        tool = f"{one['tool']} {one['form']}: " if one["tool"] else ""
        lines += [paint(line, "yellow") for line in wrapped(one["file"], room)]
        lines += wrapped(f"{INDENT}{tool}{one['why']}", room)
    if len(expected) > MOST_TROUBLES:
        lines += wrapped(f"and {len(expected) - MOST_TROUBLES} more, which --json lists", room)
    return lines
