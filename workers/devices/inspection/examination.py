"""Looks at this machine for `ratchet doctor`: its devices and its host, and what is wrong with them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.devices.base import Host
from workers.devices.inspection.ailments import Patient, device_advice, device_ailments
from workers.devices.inspection.host_ailments import INTEL_TURBO, Busy, HostFacts, host_ailments
from workers.devices.inspection.survey import VERSION, survey_machine
from workers.host.fingerprint import host_fingerprint, read_text
from workers.host.load import TICKS_PER_S, HostLoad
from workers.host.processes import PROC, family, status

LOOK_S = 1.0
"""How long the load of the host is looked at, at least."""

BUSY = 0.1
"""Programs that keep less than this of a processor busy are not named."""

NVPMODEL = Path("/etc/nvpmodel.conf")
POWER_MODEL = re.compile(r"^\s*<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=([^\s>]+)", re.MULTILINE)


def examine(host: Host) -> dict[str, Any]:
    """Return `{version, devices, ailments, advice, absent}` of this machine: the survey's devices and what is wrong.

    Raises:
        UsageError: the script of the simulated devices is wrong.
    """
    load, began_s, used = HostLoad(), time.monotonic(), _ticks()
    load.look()
    survey = survey_machine(host)
    time.sleep(max(LOOK_S - (time.monotonic() - began_s), 0.0))
    readings, busiest = load.look(), _busiest(used, time.monotonic() - began_s)
    patients = [_patient(device) for device in survey["devices"]]
    facts = HostFacts(
        soft=host_fingerprint()["soft"],
        load=readings,
        swap_used_b=swap_used_b(),
        threads=len(os.sched_getaffinity(0)),
        has_intel_turbo=os.path.exists(INTEL_TURBO),
        busiest=busiest,
    )
    found = [
        *(ailment for patient in patients for ailment in device_ailments(patient)),
        *host_ailments(facts),
    ]
    return {
        "version": VERSION,
        "devices": survey["devices"],
        "ailments": [ailment._asdict() for ailment in found],
        "advice": [advice._asdict() for patient in patients for advice in device_advice(patient)],
        "absent": survey["absent"],
    }


def _patient(device: dict[str, Any]) -> Patient:
    pids = (device["readings"]["foreign_pids"] or ()) if device["kind"] != "simulated" else ()
    names = {pid: name for pid in pids if (name := read_text(PROC / str(pid) / "comm"))}
    return Patient(
        device["kind"], device["hardware_id"], device["facts"], device["readings"], names, power_modes()
    )


def power_modes(file: Path = NVPMODEL) -> dict[str, int]:
    """Return the power modes that a Jetson's configuration has, by name, with their numbers; none elsewhere."""
    return {name: int(number) for number, name in POWER_MODEL.findall(read_text(file) or "")}


def _ticks() -> dict[int, int]:
    """Return the processor time of every program, in the kernel's ticks."""
    pids = [int(name) for name in os.listdir(PROC) if name.isdigit()]
    return {pid: known.ticks for pid in pids if (known := status(pid)) is not None}


def _busiest(before: dict[int, int], span_s: float) -> Sequence[Busy]:
    """Return the programs that kept processors busy since `before`, without our own, the busiest first."""
    ours = family()
    spent = {pid: ticks - before.get(pid, 0) for pid, ticks in _ticks().items() if pid not in ours}
    shares = {pid: ticks / TICKS_PER_S / span_s for pid, ticks in spent.items()}
    busy = sorted((pid for pid in shares if shares[pid] > BUSY), key=lambda pid: -shares[pid])
    return [Busy(pid, read_text(PROC / str(pid) / "comm") or "?", shares[pid]) for pid in busy]


def swap_used_b() -> int | None:
    """Return the memory that lies in swap [B]; None where the kernel does not tell."""
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE))
    if not {"SwapTotal", "SwapFree"} <= sizes.keys():
        return None
    return (int(sizes["SwapTotal"]) - int(sizes["SwapFree"])) * 1024
