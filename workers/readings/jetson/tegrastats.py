"""`tegrastats` of NVIDIA's Jetson boards: a line a sample, whose fields differ by board and by JetPack, 2 to 7.

Described in the Jetson Linux Developer Guide, "tegrastats Utility", and its chapters on each board's power monitors:

- `MB` is MiB: the tool divides the kernel's kB by 1024. Memory is the host's; the GPU shares it.
- A load without a clock is the GPU's real load, but of the memory (`EMC_FREQ 0%`) it is what a user that may not look
  is told. A clock of 0 is a GPU that is switched off. `GR3D_FREQ` gives a clock for each cluster; the highest counts.
- Of `NAME now/average[/highest]` only the first number is of the moment. Numbers without a unit are mW. A line may have
  a logger's time before it, which is taken where it is the only one and in ISO 8601.
- A sensor that is off reads -256 C. `PMIC` is a fixed number on most boards, and is not read at all.
- Power is that of the board's one input where it measures one, else of the rails that add up to the module. On AGX
  Orin `VDDQ_VDD2_1V8AO` is part of `VIN_SYS_5V0`. Thor tells its input only with some releases, and then as the last
  rail. A board that is not known here tells no power.
"""

from __future__ import annotations

import re

from workers.readings.quantities import quantity, valid_time, whole
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts, tick

LINE = re.compile(
    r"^(?=[^\n]{0,128}?RAM \d)[ \t]*(?:[^\n]{0,64}?\d\d:\d\d:\d\d[^\n]{0,48}?[ \t])?RAM \d+/\d+[kMG]B\b.*"
    r"\b(?:CPU|cpu) \[",
    re.MULTILINE,
)
DATE = re.compile(r"\b(\d\d)-(\d\d)-(\d{4}) (\d\d:\d\d:\d\d) RAM ")
LOGGED = re.compile(r"\b(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)(?=[^\n]*\bRAM )")
MEMORY = re.compile(r"\bRAM (\d+)/(\d+)([kMG])B\b")
CLOCKS = r"(?:@(?:\[(?P<clocks>[^\]]*)\]|(?P<clock>\d+)(?=\s)))?"
LOAD = r"(?:(?P<load>\d+)%)?" + CLOCKS + r"(?=\s)"
GPU = re.compile(r"\bGR3D\d?(?:_FREQ)? " + LOAD)
EMC = re.compile(r"\bEMC(?:_FREQ)? " + LOAD)
TEMPERATURE = re.compile(r"(?<=\s)(\w+)@(-?\d+(?:\.\d+)?)C(?=[\s/])")
RAIL = re.compile(r"(?<=\s)([A-Za-z]\w*) (-?\d+)(?:(?:mW)?/-?\d*|mW(?=\s|$))")

INPUTS = ("VDD_IN", "POM_5V_IN", "VIN")
"""Rails that hold all others: of the module, and on Thor of the module and its carrier."""

THOR = ("VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0")
SUMS = (
    THOR,
    ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"),  # AGX Orin
    ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"),  # AGX Xavier
)
"""Rails that add up to a module that measures no input."""

COLDEST_C = -40.0


def recognises(text: str) -> bool:
    """Tell whether a line begins with memory, with or without a date, and has the processors' loads."""
    return LINE.search(text) is not None


def read(text: str) -> list[DeviceRecord]:
    """Return the board with a reading for each whole line; the last one is left out where it was cut."""
    lines = [line for line in complete_lines(text) if LINE.match(line)]
    if not lines:
        return []
    memory = MEMORY.search(lines[0])
    assert memory is not None, "a line has memory, or it would not have been recognised"
    known = facts(memory_b=whole(f"{memory[2]}{memory[3]}iB"))
    return [DeviceRecord("jetson", "jetson", known, tuple(map(read_line, lines)))]


def complete_lines(text: str) -> list[str]:
    """Return the lines with their ends; the last one without, and only where it is as whole as the one before it."""
    *lines, last = [line.rstrip("\r") for line in text.split("\n")]
    whole_lines = [f"{line}\n" for line in lines]
    before = next((line for line in reversed(whole_lines) if LINE.match(line)), None)
    if last and (before is None or _names(last) == _names(before)):
        whole_lines.append(last)  # without an end: a number there may have been cut
    return whole_lines


def _names(line: str) -> list[str]:
    """Return the names of a line's rails and sensors."""
    return [found[1] for found in RAIL.finditer(line)] + [
        found[1] for found in TEMPERATURE.finditer(f"{line} ")
    ]


def read_line(line: str) -> Tick:
    """Return the reading of one line."""
    memory = MEMORY.search(line)
    emc_load, emc_clock_hz = _load(EMC, line)
    load, clock_hz = _load(GPU, line)
    return tick(
        time=_time(line),
        util=load,
        sm_clock_hz=clock_hz,
        mem_util=emc_load if emc_clock_hz or emc_load else None,
        mem_clock_hz=emc_clock_hz,
        temp_c=temperature_c(_sensors(line)),
        power_w=_power_w(line),
        mem_used_b=whole(f"{memory[1]}{memory[3]}iB") if memory else None,
    )


def _time(line: str) -> str | None:
    if date := DATE.search(line):
        return valid_time(f"{date[3]}-{date[1]}-{date[2]}T{date[4]}")
    logged = LOGGED.search(line)
    return valid_time(f"{logged[1]}T{logged[2]}") if logged else None


def _power_w(line: str) -> float | None:
    """Return the module's power [W]; of a line of Thor's that ends among the rails, None: the input may be missing."""
    rails = {rail[1]: float(rail[2]) / 1000 for rail in RAIL.finditer(line)}
    cut = not line.endswith("\n") and rails.keys() >= set(THOR) and rails.keys().isdisjoint(INPUTS)
    return None if cut else power_w(rails)


def _load(pattern: re.Pattern[str], line: str) -> tuple[float | None, float | None]:
    """Return the load as a share, and the highest of the clocks [Hz], of all fields of one engine."""
    found = list(pattern.finditer(line))
    loads = [load for field in found if (load := quantity(field["load"], unit="%")) is not None]
    texts = [text for field in found for text in (field["clocks"] or field["clock"] or "").split(",")]
    clocks = [clock for text in texts if (clock := quantity(text, unit="MHz"))]
    return (min(loads[0], 1.0) if loads else None), max(clocks, default=None)


def _sensors(line: str) -> dict[str, float]:
    """Return all sensors' temperatures; of a line that ends among them, the GPU's alone: another may stand for it."""
    found = list(TEMPERATURE.finditer(line))
    sensors = {sensor[1].lower(): float(sensor[2]) for sensor in found}
    if line.endswith("\n") or (found and RAIL.search(line, found[-1].end())):
        return sensors
    return {name: celsius for name, celsius in sensors.items() if name == "gpu"}


def temperature_c(sensors: dict[str, float]) -> float | None:
    """Return the GPU's temperature, else that of the chip's junction, by sensors' names in lower case [degrees C]."""
    known = (sensors.get(name) for name in ("gpu", "tj"))
    return next((celsius for celsius in known if celsius is not None and celsius > COLDEST_C), None)


def power_w(rails: dict[str, float]) -> float | None:
    """Return what the whole module draws, from its rails by name [W]; None for an unknown set of rails."""
    for name in INPUTS:
        if name in rails:
            return rails[name]
    for names in SUMS:
        if rails.keys() >= set(names):
            return sum(rails[name] for name in names)
    return None


READERS = (Reader("tegrastats", "lines", recognises, read),)
