"""The script of simulated devices: what they are, how noisy, and what goes wrong with them when.

A JSON list of devices, in the file that `RATCHET_SIMULATED` names:

    [{"class": "sim-a100", "hardware_id": "sim-0", "model": "Simulated A100",
      "noise_sd": 0.01, "drift": 0.0, "seed": 1,
      "power": {"idle_w": 60, "busy_w": 280, "limit_w": 300},
      "faults": [{"kind": "slow", "factor": 1.1, "arm": "head"},
                 {"kind": "crash", "pair": 3},
                 {"kind": "power", "factor": 1.15, "arm": "head"},
                 {"kind": "slow", "factor": 1.3, "pairs": [4, 7], "share": 0.5, "control": 1.3,
                  "telemetry": {"foreign_pids": [4242]}}],
      "fingerprint": {"machine": {"driver": "1.2.3"}}, "telemetry": {"temp_c": 45.0},
      "between": [{"temp_c": 45.0}, {"temp_c": 70.0}],
      "ticks": [{"temp_c": 45.0}, {"temp_c": 60.0, "foreign_pids": [7]}, {"temp_c": 45.0}]}]

Only `class` and `hardware_id` are required. Times are drawn by the harness around each benchmark's nominal time, with
a standard deviation of `noise_sd` and a shift of `drift` per pair (both in ln units).

A fault strikes the arm, the pair or the pairs from first to last that it names, or every one; of those, the `share`
that its draws hit. `slow` multiplies times by `factor`; `power` multiplies what the device draws while it is busy, and
slows it down as far as that is over its limit; `telemetry` is what it reads meanwhile: of a counter, how much it rises
in each invocation; `control` multiplies the times of the control workload, as a fault of the machine does and one of
the code does not. A fault of kind `stall` freezes the telemetry. `between` changes the telemetry from one invocation
to the next (the first entry holds until the first one has ended), `ticks` from one reading to the next; the last of
either stays.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workers.errors import UsageError
from workers.protocol import Arm, Name
from workers.readings.record import FACTS, READINGS

COUNTERS = frozenset(
    "energy_j_total ecc_corrected ecc_uncorrected remapped_rows xid_count over_current swap_in_b".split()
)
"""Readings that only rise."""


class Part(BaseModel):
    """Base of everything in a script: what is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Fault(Part):
    """What goes wrong, and where; no `arm`, `pair` or `pairs` means everywhere."""

    kind: Literal["crash", "hang", "slow", "power", "stall"]
    factor: float = Field(default=1.0, gt=0)
    arm: Arm | None = None
    pair: int | None = None
    pairs: tuple[int, int] | None = None
    share: float = Field(default=1.0, ge=0, le=1)
    telemetry: dict[str, Any] = Field(default_factory=dict)
    control: float = Field(default=1.0, gt=0)

    def strikes(self, seed: int, arm: Arm | None, pair: int) -> bool:
        """Tell whether it strikes an invocation, or with no `arm` the control before the pair."""
        here = (
            self.arm in (None, arm)
            and self.pair in (None, pair)
            and (self.pairs is None or self.pairs[0] <= pair <= self.pairs[1])
        )
        return here and random.Random(f"{seed}/{self.kind}/{pair}").random() < self.share


class Power(Part):
    """What a device draws [W]: idle, while it is busy, and the limit that it keeps to."""

    idle_w: float = Field(default=50.0, ge=0)
    busy_w: float = Field(gt=0)
    limit_w: float | None = Field(default=None, gt=0)


class FingerprintParts(Part):
    """Values that replace or join those of the host."""

    machine: dict[str, Any] = Field(default_factory=dict)
    identity: dict[str, Any] = Field(default_factory=dict)
    soft: dict[str, Any] = Field(default_factory=dict)


class Script(Part):
    """One simulated device."""

    device_class: Name = Field(alias="class")
    hardware_id: Name
    model: str = "simulated"
    noise_sd: float = Field(default=0.0, ge=0)
    drift: float = 0.0
    seed: int | None = None
    """Of the draws; without one it follows from the hardware id."""
    power: Power | None = None
    faults: list[Fault] = Field(default_factory=list)
    facts: dict[str, Any] = Field(default_factory=dict)
    fingerprint: FingerprintParts = Field(default_factory=FingerprintParts)
    telemetry: dict[str, Any] = Field(default_factory=dict)
    between: list[dict[str, Any]] = Field(default_factory=list)
    """What readings have in place of `telemetry` before the first invocation's end, after it, and so on."""
    ticks: list[dict[str, Any]] = Field(default_factory=list)
    """What readings after each other have in place of `telemetry`; the last one stays."""


SCRIPTS = TypeAdapter(list[Script])


def read_scripts(path: Path) -> list[Script]:
    """Return the devices that the script describes.

    Raises:
        UsageError: it cannot be read, or something in it is wrong: file, place, and what would be right.
    """
    try:
        scripts = SCRIPTS.validate_python(json.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"RATCHET_SIMULATED: {path} is no readable JSON: {error}") from error
    except ValidationError as error:
        raise UsageError(f"RATCHET_SIMULATED: {path}: {_sentences(error)}") from error
    for problem in _problems(scripts):
        raise UsageError(f"RATCHET_SIMULATED: {path}: {problem}")
    return scripts


def _problems(scripts: list[Script]) -> list[str]:
    ids = [script.hardware_id for script in scripts]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    readings = [
        part
        for script in scripts
        for part in (
            script.telemetry,
            *script.between,
            *script.ticks,
            *(fault.telemetry for fault in script.faults),
        )
    ]
    no_reading = sorted({name for part in readings for name in part} - set(READINGS))
    no_fact = sorted({name for script in scripts for name in script.facts} - set(FACTS))
    found = {
        "the list is empty": not ids,
        f"two devices have the hardware_id {twice!r}": twice is not None,
        f"telemetry has no reading named {', '.join(no_reading)}": no_reading,
        f"there is no fact named {', '.join(no_fact)}": no_fact,
    }
    return [problem for problem, holds in found.items() if holds]


def _sentences(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the script'}: {e['msg']}" for e in error.errors())
