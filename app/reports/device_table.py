"""What a machine has to measure on, as people read it on a terminal: a line a device, and what it tells of itself.

Works on the document of `ratchet devices --json` (docs/devices.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from app.domain.units import format_quantity
from app.reports.grid import Paint, column, fitted, joined, wrapped

GROUPS: dict[str, tuple[str, ...]] = {
    "utilisation": ("util", "mem_util"),
    "activity of its units": ("sm_active", "sm_occupancy", "tensor_active", "dram_active"),
    "clocks": ("sm_clock_hz", "mem_clock_hz"),
    "power": ("power_w",),
    "energy": ("energy_j_total",),
    "temperature": ("temp_c", "mem_temp_c"),
    "memory in use": ("mem_used_b",),
    "throttling": ("throttle_reasons", "throttle_ns", "throttle_mask", "over_current"),
    "memory errors": ("ecc_corrected", "ecc_uncorrected", "remapped_rows"),
    "driver errors": ("xid_count",),
    "links": ("pcie_gen", "pcie_width", "pcie_tx_b_s", "nvlink_tx_b_s"),
    "processes": ("foreign_pids",),
    "load of the host": ("host_cpu_foreign", "host_steal", "swap_in_b"),
}
"""What telemetry is for, and the readings that give it."""

Document = Mapping[str, Any]


def device_lines(document: Document, room: int | None, paint: Paint) -> list[str]:
    """Return the lines of the document; `room` is the width of the terminal, None without limit."""
    devices = document["devices"]
    lines: list[str] = []
    for source, of_source in groupby(devices, key=_source):
        if source:
            lines += ["", paint(source, "bold")] if lines else [paint(source, "bold")]
        lines += _table(list(of_source), room, paint)
    if document["source"] == "machine":
        for device in devices:
            lines += ["", *_telemetry(device, room, paint)]
    for lack in document["absent"]:
        lines += ["", paint(f"{lack['kind']}: {lack['what']}", "yellow"), *_lack(lack, room)]
    return lines + _unread(document, room, paint)


def _source(device: Document) -> str:
    source = device["source"]
    return f"{source['file']}  {source['tool']}, {source['form']}" if source else ""


def _table(devices: Sequence[Document], room: int | None, paint: Paint) -> list[str]:
    table = [
        column("Device", (device["device_class"] for device in devices)),
        column("Model", (_text(device["facts"]["model"]) for device in devices), expendable=2),
        column("Memory", (_quantity(device["facts"]["memory_b"], "B") for device in devices), right=True),
        column("Driver", (_text(device["facts"]["driver"]) for device in devices), expendable=3),
        column("Clocks", map(_clocks, devices), expendable=5),
        column("Power", map(_power, devices), expendable=4),
        column("Mode", map(_mode, devices), expendable=1),
    ]
    told = [one for one in table if any(cell != "–" for cell in one.cells) or one.title == "Device"]
    kept = fitted(told, room)
    return [paint(joined(kept, None), "faint"), *(joined(kept, row) for row in range(len(devices)))]


def _clocks(device: Document) -> str:
    facts, readings = device["facts"], device["readings"]
    now, most = readings.get("sm_clock_hz"), facts["sm_clock_max_hz"]
    told = [_quantity(hz, "Hz") for hz in (now, most) if hz is not None]
    return ", ".join(filter(None, (" of ".join(told), facts["clock_policy"]))) or "–"


def _power(device: Document) -> str:
    readings, facts = device["readings"], device["facts"]
    limit = readings.get("power_limit_w") or facts["power_limit_default_w"]
    told = [_quantity(watts, "W") for watts in (readings.get("power_w"), limit) if watts is not None]
    if readings.get("power_w") is None and told:
        return f"limit {told[0]}"
    return " of ".join(told) or "–"


def _mode(device: Document) -> str:
    facts, told = device["facts"], []
    if facts["partition_mode"]:
        told.append(f"partition {facts['partition_mode']}")
    if facts["power_mode"]:
        told.append(str(facts["power_mode"]))
    if facts["ecc_mode"] is not None:
        told.append("ECC" if facts["ecc_mode"] else "no ECC")
    return ", ".join(told) or "–"


def _telemetry(device: Document, room: int | None, paint: Paint) -> list[str]:
    readings = device["readings"]
    works = [name for name, parts in GROUPS.items() if any(readings.get(part) is not None for part in parts)]
    lines = [
        paint(device["device_class"], "bold"),
        *wrapped(f"  tells   {', '.join(works) or 'nothing'}", room),
    ]
    missing = [name for name in GROUPS if name not in works]
    if missing:
        lines += wrapped(f"  not     {', '.join(missing)}", room)
    for lack in device["lacks"]:
        lines += [f"  {paint('missing', 'yellow')} {lack['what']}", *_lack(lack, room)]
    return lines


def _lack(lack: Document, room: int | None) -> list[str]:
    return [*_indented(lack["why"], room), *_indented(f"→ {lack['how']}", room)]


def _indented(text: str, room: int | None) -> list[str]:
    return [f"          {line}" for line in wrapped(text, None if room is None else max(20, room - 10))]


def _unread(document: Document, room: int | None, paint: Paint) -> list[str]:
    broken = [one for one in document["unread"] if not one["why"].startswith("not an output")]
    others = len(document["unread"]) - len(broken)
    lines: list[str] = []
    for one in broken:
        lines += ["", paint(one["file"], "yellow"), *_indented(one["why"], room)]
    if others:
        word = "file is" if others == 1 else "files are"
        lines += ["", *wrapped(f"{others} {word} no output of a device tool that is known", room)]
    return lines


def _quantity(value: float | None, unit: str) -> str:
    return format_quantity(value, unit)


def _text(value: object) -> str:
    return "–" if value is None else str(value)


def sources(document: Document) -> Iterable[str]:
    """Return the files that something was read from, each once."""
    return dict.fromkeys(device["source"]["file"] for device in document["devices"] if device["source"])
