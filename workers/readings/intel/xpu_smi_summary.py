"""`xpu-smi` without a word more, from version 2.0 on: a table of all GPUs and of the processes that use them.

Described in the overview of the tool's documentation. It looks like NVIDIA's: two lines a GPU, in the order of the head
above them. `GPU-Util` is how long the busiest engine had work. Names of the width of their column may have been cut, so
such a one is not told. The processes are told once the table of them has ended.
"""

from __future__ import annotations

import re

from workers.readings.intel.xpu_smi_discovery import class_of
from workers.readings.quantities import quantity, whole
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts, tick

BANNER = re.compile(r"^[ \t]*\|.*\bXPU-SMI v?\d[\w.]*.*\|", re.MULTILINE)
DRIVER = re.compile(r"\bDriver: *(\S+)")
GPU = re.compile(
    r"^[ \t]*\| *(?P<index>\d+)  +(?P<name>\S.{0,80}?) +\S+ *"
    r"\| *(?P<bus>[0-9A-Fa-f:.]+) +\S+ *\| *(?P<ecc>\S.*?) *\|[ \t]*\r?\n"
    r"[ \t]*\| *(?P<fan>\S+) +(?P<temp>\S+) +(?P<power>\S+) */ *(?P<limit>\S+) *"
    r"\| *(?P<used>\S+) */ *(?P<size>\S+) *\| *(?P<util>\S+) +\S.*?\|",
    re.MULTILINE,
)
PROCESSES = re.compile(r"^[ \t]*\| *Processes:.*\n(?P<head>.*\n)?[ \t]*\+[-=+]+\+[ \t]*\r?\n", re.MULTILINE)
PROCESS = re.compile(r"[ \t]*\| *(\d+) +(\d+) ")
RULE = re.compile(r"[ \t]*\+[-=+]+\+")
NAME_WIDTH = 22
"""Letters from which on a name may have been cut."""


def recognises(text: str) -> bool:
    """Tell whether the table's first line is in the text."""
    return BANNER.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs, each with the one reading that a table is."""
    driver, users = DRIVER.search(text), _users(text)
    found = {int(gpu["index"]): gpu for gpu in GPU.finditer(text)}
    return [
        _record(gpu, driver[1] if driver else None, None if users is None else users.get(index, []))
        for index, gpu in sorted(found.items())
    ]


def _users(text: str) -> dict[int, list[int]] | None:
    """Return the processes on each GPU by its number; None where the table of them is not there as a whole."""
    head = PROCESSES.search(text)
    if head is None:
        return None
    users: dict[int, list[int]] = {}
    for line in text[head.end() :].splitlines():
        if RULE.match(line):
            return {index: sorted(pids) for index, pids in users.items()}
        if process := PROCESS.match(line):
            users.setdefault(int(process[1]), []).append(int(process[2]))
    return None


def _record(gpu: re.Match[str], driver: str | None, users: list[int] | None) -> DeviceRecord:
    model = gpu["name"] if len(gpu["name"]) < NAME_WIDTH else None
    known = facts(
        index=int(gpu["index"]),
        pci_bus_id=gpu["bus"].lower(),
        model=model,
        memory_b=whole(gpu["size"]) or None,
        driver=driver,
        ecc_mode={"enabled": True, "disabled": False}.get(gpu["ecc"].lower()),
    )
    return DeviceRecord("intel", class_of(model), known, (_reading(gpu, users),))


def _reading(gpu: re.Match[str], users: list[int] | None) -> Tick:
    return tick(
        util=quantity(gpu["util"]),
        power_w=quantity(gpu["power"]),
        power_limit_w=quantity(gpu["limit"]) or None,
        temp_c=quantity(gpu["temp"]),
        fan=quantity(gpu["fan"]),
        mem_used_b=whole(gpu["used"]),
        ecc_uncorrected=int(gpu["ecc"]) if gpu["ecc"].isdecimal() else None,
        foreign_pids=users,
    )


READERS = (Reader("xpu-smi", "summary", recognises, read),)
