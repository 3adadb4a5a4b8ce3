"""`powermetrics` of macOS: the GPU of an Apple chip, as property lists (`-f plist`) or as text.

Described in powermetrics(1). Both forms are a stream of samples; property lists follow each other after a NUL byte.

- The device is the GPU: its power is `GPU Power`, in the list `processor.gpu_power` [mW], or `gpu_energy` [mJ] of the
  GPU's part or the processor's over the time of the sample. `Package Power` and `Combined Power` hold the processors,
  too, and are not read.
- The GPU's `freq_hz` is in MHz in spite of its name; a number too high for that is taken at its word. It is the mean
  clock while the GPU worked, 0 where it did not. The states of its clock are all that it can have.
- A GPU is busy for as long as it is not idle. Macs with an Intel processor name engines instead, which tell no such
  share, and temperatures of sensors.
"""

from __future__ import annotations

import plistlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from workers.readings.quantities import quantity, valid_time
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, Facts, Tick, facts, slug, tick

HIGHEST_MHZ = 1e5
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

SAMPLE = re.compile(
    r"^[ \t]*\*\*\* Sampled system activity(?: \((.*?)\) \(([\d.]+)ms elapsed\))? \*\*\*[ \t]*\r?$",
    re.MULTILINE,
)
MODEL = re.compile(r"^[ \t]*Machine model: *(\S.*?)[ \t]*\r?\n", re.MULTILINE)
DATE = re.compile(r"\w{3} (\w{3}) +(\d+) (\d\d:\d\d:\d\d) (\d{4}) ([+-]\d\d)(\d\d)")
POWER = re.compile(r"^[ \t]*GPU Power: *([\d.]+ *[mk]?W)[ \t]*\r?$", re.MULTILINE)
CLOCK = re.compile(r"^[ \t]*GPU (?:HW )?active frequency: *([\d.]+ *MHz)\b", re.MULTILINE)
ACTIVE = re.compile(r"^[ \t]*GPU (?:HW )?active residency: *([\d.]+%)", re.MULTILINE)
STATES = re.compile(r"^[ \t]*GPU (?:HW )?active residency: *[\d.]+% \(([^()\n]*)\)", re.MULTILINE)
TEMPERATURE = re.compile(r"^[ \t]*GPU die temperature: *([\d.]+ *C)\b", re.MULTILINE)
PRESSURE = re.compile(r"^[ \t]*Current pressure level: *(\w+)[ \t]*\r?\n", re.MULTILINE)


# --- property lists ---


def is_plist(text: str) -> bool:
    """Tell whether a property list of samples begins in the text."""
    return "<plist" in text[:4096] and "<key>elapsed_ns</key>" in text[:65536]


def read_plist(text: str) -> list[DeviceRecord]:
    """Return the GPU with a reading of each whole sample.

    Raises:
        UnreadableError: not one sample is whole.
    """
    samples = list(_plists(text))
    if not samples:
        raise UnreadableError("powermetrics: the text ends within its first property list")
    model = str(samples[0].get("hw_model") or "") or None
    highest = _highest(_clock_hz(state.get("freq")) for state in _states(samples[0]))
    return _record(
        facts(model=model, sm_clock_max_hz=highest), [_plist_reading(sample) for sample in samples]
    )


def _plists(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield whole samples; some tools that record them put all into one list."""
    for part in re.split(r"\0|(?=<\?xml)", text):
        start, end = part.find("<plist"), part.find("</plist>")
        if start < 0 or end < 0:
            continue
        found = _loaded(part[start : end + len("</plist>")])
        yield from (
            sample for sample in (found if isinstance(found, list) else [found]) if isinstance(sample, dict)
        )


def _loaded(text: str) -> object:
    try:
        return plistlib.loads(text.encode())
    except Exception:  # of a broken list the library raises whatever its own code runs into
        return None


def _plist_reading(sample: Mapping[str, Any]) -> Tick:
    gpu, idle = _gpu(sample), quantity(_gpu(sample).get("idle_ratio"))
    moment = sample.get("timestamp")
    return tick(
        time=f"{moment.isoformat()}+00:00" if isinstance(moment, datetime) else None,
        util=None if idle is None else min(max(round(1 - idle, 9), 0.0), 1.0),
        sm_clock_hz=_clock_hz(gpu.get("freq_hz")),
        power_w=_plist_power_w(sample),
        throttle_reasons=_pressure(sample.get("thermal_pressure")),
    )


def _gpu(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a sample tells of the GPU; the key was in capitals once, and the value a list."""
    found = sample.get("gpu", sample.get("GPU"))
    found = found[0] if isinstance(found, list) and found else found
    return found if isinstance(found, Mapping) else {}


def _states(sample: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    states = _gpu(sample).get("dvfm_states")
    return [state for state in states if isinstance(state, Mapping)] if isinstance(states, list) else []


def _plist_power_w(sample: Mapping[str, Any]) -> float | None:
    found = sample.get("processor")
    processor: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    power = quantity(processor.get("gpu_power"), unit="mW")
    if power is not None:
        return power
    energy = quantity(_gpu(sample).get("gpu_energy", processor.get("gpu_energy")), unit="mJ")
    elapsed_s = quantity(sample.get("elapsed_ns"), unit="ns")
    return energy / elapsed_s if energy is not None and elapsed_s else None


def _clock_hz(value: object) -> float | None:
    """Return a clock [Hz]; None where it is 0: nothing ran."""
    number = quantity(value)
    if not number:
        return None
    return number * 1e6 if number < HIGHEST_MHZ else number


# --- text ---


def is_text(text: str) -> bool:
    """Tell whether a sample begins in the text."""
    return SAMPLE.search(text) is not None


def read_text(text: str) -> list[DeviceRecord]:
    """Return the GPU with a reading of each sample; of one that was cut, with what it tells until there."""
    model = MODEL.search(text)
    states = STATES.search(text)
    highest = (
        _highest(quantity(clock) for clock in re.findall(r"([\d.]+ ?MHz):", states[1])) if states else None
    )
    _, *parts = SAMPLE.split(text)
    samples = zip(parts[::3], parts[2::3], strict=True)
    known = facts(model=model[1] if model else None, sm_clock_max_hz=highest)
    return _record(known, [_text_reading(date, sample) for date, sample in samples])


def _text_reading(date: str | None, sample: str) -> Tick:
    pressure = PRESSURE.search(sample)
    return tick(
        time=_iso(date),
        util=_first(ACTIVE, sample),
        sm_clock_hz=_first(CLOCK, sample) or None,
        power_w=_first(POWER, sample),
        temp_c=_first(TEMPERATURE, sample),
        throttle_reasons=_pressure(pressure[1] if pressure else None),
    )


def _first(pattern: re.Pattern[str], sample: str) -> float | None:
    found = pattern.search(sample)
    return quantity(found[1]) if found else None


def _iso(date: str | None) -> str | None:
    """Return `Sun Feb 28 00:17:04 2021 -0800` as ISO 8601; the tool writes English everywhere."""
    found = DATE.match(date or "")
    if found is None or found[1] not in MONTHS:
        return None
    day = f"{found[4]}-{MONTHS.index(found[1]) + 1:02}-{int(found[2]):02}"
    return valid_time(f"{day}T{found[3]}{found[5]}:{found[6]}")


# --- both ---


def _record(known: Facts, readings: list[Tick]) -> list[DeviceRecord]:
    return [DeviceRecord("apple", slug("apple", known["model"]), known, tuple(readings))]


def _highest(clocks: Iterator[float | None]) -> float | None:
    return max((clock for clock in clocks if clock), default=None)


def _pressure(level: object) -> list[str] | None:
    """Return the pressure of heat as a reason, none where it is nominal."""
    if not isinstance(level, str) or not level:
        return None
    return [] if level.lower() == "nominal" else [f"thermal_pressure_{level.lower()}"]


READERS = (
    Reader("powermetrics", "plist", is_plist, read_plist),
    Reader("powermetrics", "text", is_text, read_text),
)
