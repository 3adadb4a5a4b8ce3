"""What `ratchet doctor` says: the grade of each device, then what is wrong, its cost, and the command that mends it.

Works on the document of `ratchet doctor --json` (docs/devices.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from app.reports.device_telemetry import lack_lines, names, safe, wrapped
from app.reports.grid import Paint
from app.reports.quantities import percent
from app.reports.words import GRADES, QUARANTINE_ENDS, count

Document = Mapping[str, Any]

HOW_TO_BE_GRADED = (
    "a service grades the devices of its agents every night, by a commit measured against itself: keep `ratchet up`"
    " running, or set RATCHET_URL to the address of one"
)
ONE_GPU = re.compile(r"nvidia-smi -i (\d+)(?= )")
INDENT = "  "


def doctor_lines(document: Document, room: int | None, paint: Paint) -> list[str]:
    """Return the lines of the document; `room` is the width of the terminal, None without limit."""
    document = safe(document)
    wheres = {device["hardware_id"]: device for device in document["devices"]}
    parts = [
        _grades(document, room, paint),
        _verdict(document, room, paint),
        *_entries(document["ailments"], wheres, paint("✗", "red"), room, paint),
        *_entries(document["advice"], wheres, paint("?", "yellow"), room, paint),
        *(lack_lines(f"{lack['kind']}: {lack['what']}", lack, room, paint) for lack in document["absent"]),
        _sandbox(document.get("sandbox"), room),
    ]
    lines = [line for part in parts if part for line in ("", *part)]
    return lines[1:]


def _sandbox(told: Document | None, room: int | None) -> list[str]:
    """Return whether an agent here could measure strangers' commits."""
    if told is None:
        return []
    if told["reason"] is None:
        return wrapped(
            f"Sandbox of level {told['level']}: an agent here can measure strangers' commits.", room
        )
    return wrapped(f"Sandbox of level {told['level']}, no strangers' commits: {told['reason']}", room)


# --- grades -----------------------------------------------------------------------------------------------------


def _grades(document: Document, room: int | None, paint: Paint) -> list[str]:
    lines: list[str] = []
    told = zip(document["devices"], document["grades"], strict=True)
    for key, group in groupby(told, key=lambda one: _alike(*one)):
        devices = [device for device, _ in group]
        lines += _device(names(devices), key[1], room, paint)
    ungraded = [known for known in document["grades"] if not (known and known["self_check"])]
    if ungraded and document["service"]["trouble"]:
        lines += _wrapped(f"No grades: {document['service']['trouble']}. → {HOW_TO_BE_GRADED}", room)
    return lines


def _alike(device: Document, known: Document | None) -> tuple[str, Document | None]:
    """Return what devices are told of together by: their class, where there is nothing else to tell."""
    told = known if known and (known["self_check"] or _is_off(known)) else None
    return device["device_class"] if told is None else device["hardware_id"], told


def _device(name: str, known: Document | None, room: int | None, paint: Paint) -> list[str]:
    check = known and known["self_check"]
    if not (known and check):
        lines = [f"{paint(name, 'bold')}  no grade yet"]
    else:
        grade = known["grade"]
        tone = "yellow" if grade == "C" else "cyan"
        first, *more = wrapped(f"{name}  grade {grade}: {GRADES[grade][3:]}", room)
        lines = [
            paint(first, tone),
            *(paint(line, tone) for line in more),
            *_wrapped(_self_check(check), room),
        ]
    if known and known["health"] == "quarantined":
        lines += [paint(line, "yellow") for line in _wrapped(_quarantine(known.get("quarantine")), room)]
    elif known and (moved := known.get("moved")):
        told = f"not what it was: {moved['why']}; it goes on measuring"
        lines += [paint(line, "yellow") for line in _wrapped(told, room)]
    return lines


def _is_off(known: Document) -> bool:
    """Return whether the device is in quarantine, or not what it was; an older service tells of the first alone."""
    return known["health"] == "quarantined" or bool(known.get("moved"))


def _quarantine(told: Document | None) -> str:
    if told is None:
        return "in quarantine: it takes no jobs"
    return f"in quarantine: {told['why']}; {QUARANTINE_ENDS[told['ends_by']]}"


def _self_check(check: Document) -> str:
    """Return what the last A/A showed."""
    told = [f"measured against itself {check['measured_at'][:16].replace('T', ' ')} UTC"]
    if check["sigma_pair"] is not None:
        told.append(f"pairs agree within {percent(check['sigma_pair'])}")
    if not check["clocks_locked"]:
        told.append("its clock moved by over 1 %")
    if not check["exclusive"]:
        told.append("somebody else was there, too")
    if check["mde"]:
        told.append(f"finds changes from {percent(check['mde'])} on in 32 pairs")
    if "verdicts" in check:  # not told to a token that is bound to a project
        told.append(f"{count(check['false_alarms'], 'false alarm')} in {count(check['verdicts'], 'result')}")
    return ", ".join(told)


# --- what is wrong ----------------------------------------------------------------------------------------------


def _verdict(document: Document, room: int | None, paint: Paint) -> list[str]:
    if not document["ailments"]:
        return wrapped("Nothing was found that makes this machine a bad place to measure.", room)
    n = len({_same(ailment) for ailment in document["ailments"]})
    verb = "makes" if n == 1 else "make"
    return [
        paint(line, "bold")
        for line in wrapped(f"{count(n, 'thing')} {verb} this machine a bad place to measure:", room)
    ]


def _same(ailment: Document) -> tuple[str, str, str]:
    return ailment["code"], ailment["what"], ailment["cost"]


def _entries(
    ailments: Sequence[Document], devices: Mapping[str, Document], mark: str, room: int | None, paint: Paint
) -> Iterable[list[str]]:
    """Yield the lines of each ailment, once for all the devices that have it."""
    groups: dict[tuple[str, str, str], list[Document]] = {}
    for ailment in ailments:
        groups.setdefault(_same(ailment), []).append(ailment)
    for group in groups.values():
        where = ", ".join(_names(devices[one["where"]] for one in group if one["where"] in devices))
        first, *more = wrapped(f"{group[0]['what']}{f'  [{where}]' if where else ''}", _less(room, 2))
        lines = [f"{mark} {paint(first, 'bold')}", *(f"{INDENT}{paint(line, 'bold')}" for line in more)]
        lines += _wrapped(f"costs  {group[0]['cost']}", room)
        yield lines + [
            f"{INDENT}mend   {paint(mend, 'cyan')}" for mend in together(one["mend"] for one in group)
        ]


def _names(devices: Iterable[Document]) -> list[str]:
    return [names(list(group)) for _, group in groupby(devices, key=lambda device: device["device_class"])]


def together(mends: Iterable[str]) -> list[str]:
    """Return commands, each once; those that differ in nvidia-smi's number of a GPU as one for all of them."""
    numbers: dict[str, list[str]] = {}
    for mend in dict.fromkeys(mends):
        found = ONE_GPU.search(mend)
        numbers.setdefault(ONE_GPU.sub("nvidia-smi -i {}", mend, count=1), []).append(
            found[1] if found else ""
        )
    return [
        text.replace("{}", ",".join(of_text), 1) if any(of_text) else text
        for text, of_text in numbers.items()
    ]


def _wrapped(text: str, room: int | None) -> list[str]:
    return [f"{INDENT}{line}" for line in wrapped(text, _less(room, len(INDENT)))]


def _less(room: int | None, columns: int) -> int | None:
    return None if room is None else max(room - columns, 20)
