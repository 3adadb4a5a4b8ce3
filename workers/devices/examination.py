"""Looks at this machine for `ratchet doctor`: its devices and its host, and what is wrong with them."""

from __future__ import annotations

import re
import time
from typing import Any

from workers.devices.ailments import Ailment, Patient, device_ailments, host_ailments
from workers.devices.base import Host
from workers.devices.survey import survey_machine
from workers.host.fingerprint import host_fingerprint, read_text
from workers.host.load import HostLoad

LOOK_S = 1.0
"""How long the load of the host is looked at."""


def examine(host: Host) -> dict[str, Any]:
    """Return `{devices, ailments, absent}` of this machine: the survey's devices, and each ailment as a mapping."""
    load = HostLoad()
    load.look()
    survey = survey_machine(host)
    time.sleep(LOOK_S)
    found = [
        ailment
        for device in survey["devices"]
        for ailment in device_ailments(
            Patient(device["kind"], device["device_class"], device["facts"], device["readings"])
        )
    ]
    found += host_ailments(host_fingerprint()["soft"], load.look(), swap_used_b())
    return {
        "devices": survey["devices"],
        "ailments": [_document(ailment) for ailment in found],
        "absent": survey["absent"],
    }


def _document(ailment: Ailment) -> dict[str, str]:
    return ailment._asdict()


def swap_used_b() -> int | None:
    """Return the memory that lies in swap [B]; None where the kernel does not tell."""
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE))
    if not {"SwapTotal", "SwapFree"} <= sizes.keys():
        return None
    return (int(sizes["SwapTotal"]) - int(sizes["SwapFree"])) * 1024
