"""What a run of the control kit showed, from the lines that its process wrote: complete ones, of what it reached."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workers.control.probes import GEMM_BF16, GEMM_FP32, OF_MODE, Mode, named
from workers.protocol import ControlResult

Line = dict[str, Any]
KEPT = ("seconds", "cv", "n", "rate", "unit")


def read_lines(path: Path) -> list[Line]:
    """Return the complete JSON objects of a result file; none where there is no such file."""
    try:
        content = path.read_bytes()
    except OSError:
        return []
    whole = content.split(b"\n")[:-1]  # what no line end follows was cut off
    return [line for text in whole if isinstance(line := _read(text), dict)]


def _read(text: bytes) -> object:
    """Return what a line holds; None for one that is no JSON: a kit that dies may leave anything."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def result_of(
    lines: Sequence[Line], *, mode: Mode, kind: str, n_devices: int, reason: str, duration_s: float
) -> ControlResult:
    """Return what the kit showed; a probe that it said nothing of is unavailable for `reason`.

    Devices that are measured on together work in step, so that of several the slowest counts, and `of_devices` has
    what each took [s], in the group's order. A probe that one of them lacks is one that the group lacks.
    """
    probes: dict[str, Line] = {}
    unavailable: dict[str, str] = {}
    for probe in OF_MODE[mode]:
        shown = [_shown(lines, probe, device) for device in range(n_devices)]
        complete = [line for line in shown if line is not None]
        if len(complete) == n_devices and len({line["name"] for line in complete}) == 1:
            probes[complete[0]["name"]] = _slowest(complete)
        else:
            name = next((line["name"] for line in complete), named(probe, kind))
            unavailable[name] = next(_reasons(lines, probe), reason)
    return ControlResult(
        version=_told(lines, "header", "control_version"),
        backend=_told(lines, "backend", "name"),
        probes=probes,
        unavailable=unavailable,
        duration_s=duration_s,
    )


def _shown(lines: Sequence[Line], probe: str, device: int) -> Line | None:
    """Return the line with a device's numbers of a probe, if there are any."""
    of_device = (line for line in lines if line.get("type") == "probe" and line.get("device") == device)
    return next((line for line in of_device if line["name"] in _names(probe) and _is_time(line)), None)


def _reasons(lines: Sequence[Line], probe: str) -> Iterator[str]:
    return (
        line["reason"]
        for line in lines
        if line.get("type") == "unavailable" and line["name"] in _names(probe)
    )


def _names(probe: str) -> tuple[str, ...]:
    """Return the names that a probe may have in results."""
    return (GEMM_BF16, GEMM_FP32) if probe == "gemm" else (probe,)


def _is_time(line: Line) -> bool:
    return isinstance(line["seconds"], float) and 0 < line["seconds"] < math.inf


def _slowest(shown: Sequence[Line]) -> dict[str, Any]:
    slowest = max(shown, key=lambda line: float(line["seconds"]))
    result = {key: slowest[key] for key in KEPT}
    return {**result, "of_devices": [line["seconds"] for line in shown]} if len(shown) > 1 else result


def _told(lines: Sequence[Line], kind: str, field: str) -> str:
    return next((str(line[field]) for line in lines if line.get("type") == kind), "")
