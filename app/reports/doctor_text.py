"""What `ratchet doctor` says: the grade of each device, then what is wrong, its cost, and the command that mends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.reports.grid import Paint, wrapped
from app.reports.quantities import percent
from app.reports.words import GRADES

Document = Mapping[str, Any]


def doctor_lines(
    examined: Document, grades: Mapping[str, Document] | None, room: int | None, paint: Paint
) -> list[str]:
    """Return the lines.

    Args:
        examined: what was found on this machine.
        grades: the service's device documents by hardware id; None where no service answered.
        room: columns of the terminal, None without limit.
        paint: colours.
    """
    lines: list[str] = []
    for device in examined["devices"]:
        lines += _device(device, grades, room, paint)
    lines += ["", *_ailments(examined["ailments"], room, paint)]
    for lack in examined["absent"]:
        lines += ["", paint(f"{lack['kind']}: {lack['what']}", "yellow"), *_part("", lack["why"], room)]
        lines += _part("→ ", lack["how"], None)
    return lines


def _device(
    device: Document, grades: Mapping[str, Document] | None, room: int | None, paint: Paint
) -> list[str]:
    known = (grades or {}).get(device["hardware_id"])
    check = known and known["self_check"]
    if known is None or not check:
        why = "no service was asked" if grades is None else "it was not measured against itself so far"
        return [f"{paint(device['device_class'], 'bold')}  no grade yet: {why}"]
    grade = known["grade"]
    tone = {"A": "cyan", "B": "cyan", "C": "yellow"}[grade]
    lines = [f"{paint(device['device_class'], 'bold')}  {paint(f'grade {grade}', tone)}  {GRADES[grade][3:]}"]
    return [*lines, *_part("", _self_check(check), room)]


def _self_check(check: Document) -> str:
    told = [f"measured against itself {check['measured_at'][:16].replace('T', ' ')} UTC"]
    if check["sigma_pair"] is not None:
        told.append(f"pairs agree within {percent(check['sigma_pair'])}")
    if check["mde"]:
        told.append(f"finds changes from {percent(check['mde'])} on in 32 pairs")
    told.append(f"{check['false_alarms']} false alarms in {check['verdicts']} results")
    return ", ".join(told)


def _ailments(ailments: Sequence[Document], room: int | None, paint: Paint) -> list[str]:
    if not ailments:
        return ["Nothing was found that makes this machine a bad place to measure."]
    lines: list[str] = []
    for ailment in ailments:
        where = "" if ailment["where"] == "host" else f"  {ailment['where']}"
        lines += [f"{paint('✗', 'red')} {paint(ailment['what'], 'bold')}{paint(where, 'faint')}"]
        lines += _part("costs  ", ailment["cost"], room)
        lines += [f"  mend   {paint(ailment['mend'], 'cyan')}", ""]
    return lines[:-1]


def _part(label: str, text: str, room: int | None) -> list[str]:
    return [f"  {line}" for line in wrapped(f"{label}{text}", None if room is None else max(20, room - 2))]
