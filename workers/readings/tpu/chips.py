"""Google's TPU chips as every source tells them: names of their generations, and which readings are of which chip.

A chip of v2, v3 and 7x is two devices to programs, each with its own row of memory and cores in whatever tells them, so
that a chip's memory is the sum of its rows and its shares are their mean. Rows are numbered as the runtime counts,
which on one host of many does not begin with 0, so they are given to chips in order, and only where their number says
which chip each is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple

from workers.readings.record import Tick, slug, tick

KIND = "tpu"

GENERATION = re.compile(r"(?:^|v|tpu\s*v?)(\d+)[\s-]*(lite(?:pod)?|[a-z])?(?![a-z0-9])")
DEVICES = {"v2": 2, "v3": 2, "v4": 1, "v5e": 1, "v5p": 1, "v6e": 1, "v7x": 2}
"""Devices that programs see of a chip, by generation."""

ONE_DEVICE_OF_TWO_CORES = ("v4", "v5p")
"""Generations whose two TensorCores are one device, so that counting devices counts no cores."""


def generation(text: str | None) -> str | None:
    """Return a chip's generation from how any of Google's names for it writes it, or None.

    `TPU v6e chip`, `v6e-8` and `TPU v6 lite` are `v6e`; `v5litepod-4` is `v5e`; `TPU7x chip` and `7x` are `v7x`.
    """
    match = GENERATION.search((text or "").lower())
    if match is None or "…" in (text or ""):
        return None
    suffix = match[2] or ""
    return f"v{match[1]}{'e' if suffix.startswith('lite') else suffix}"


def device_class(name: str | None) -> str:
    """Return the class of a chip whose generation is `name`: `tpu-v6e`."""
    return slug("tpu", name)


def cores(name: str | None, devices: int) -> int | None:
    """Return a chip's TensorCores from the devices that programs see of it, where each of these is one."""
    return devices if name in DEVICES and name not in ONE_DEVICE_OF_TWO_CORES else None


class Chip(NamedTuple):
    """One chip as an output lists it; `devices` is what programs see of it, `pids` who holds it, None if not told."""

    number: int
    devices: int
    pids: tuple[int, ...] | None = None
    model: str | None = None
    generation: str | None = None


class Row(NamedTuple):
    """One line of a table of readings; what is None is not told, `blank` is told by the line above."""

    used_b: int | None = None
    total_b: int | None = None
    share: float | None = None
    blank: bool = False
    pids: tuple[int, ...] | None = None


class Column(NamedTuple):
    """One kind of readings of all devices; `whole` if its end was seen, as a text that was cut may have lost lines."""

    rows: Sequence[Row] = ()
    whole: bool = True


NOTHING = Column()


@dataclass
class Moment:
    """What one output, or one refresh, tells."""

    chips: list[Chip] = field(default_factory=list)
    runtime: str | None = None
    time: str | None = None
    memory: Column = NOTHING
    duty: Column = NOTHING
    tensor: Column = NOTHING
    bandwidth: Column = NOTHING
    duty_by_chip: bool = False
    """Whether the duty cycle has a table of its own, which has a row a chip."""

    def rows(self) -> int:
        """Return how many rows there are, of all kinds."""
        return sum(len(column.rows) for column in (self.memory, self.duty, self.tensor, self.bandwidth))

    def readings(self) -> list[tuple[Tick, int | None]]:
        """Return of each chip its tick and its memory [B], None for what no row surely is about."""
        memory = spread(self.memory, self.chips)
        duty = spread(self.duty, self.chips, by_chip=self.duty_by_chip)
        tensor = spread(self.tensor, self.chips, by_chip=True, evenly=True)
        bandwidth = spread(self.bandwidth, self.chips)
        return [
            (
                tick(
                    time=self.time,
                    util=_mean(duty[place]),
                    tensor_active=_mean(tensor[place]),
                    dram_active=_mean(bandwidth[place]),
                    mem_used_b=_total(row.used_b for row in memory[place]),
                    foreign_pids=None if chip.pids is None else list(chip.pids),
                ),
                _total(row.total_b for row in memory[place]),
            )
            for place, chip in enumerate(self.chips)
        ]


def spread(
    column: Column, chips: Sequence[Chip], *, by_chip: bool = False, evenly: bool = False
) -> list[list[Row]]:
    """Return of each chip the rows that are about it; none where their number does not say which these are.

    Args:
        column: readings in the order of the runtime's numbers.
        chips: the chips, in order.
        by_chip: whether there may be one row a chip although the chip is several devices.
        evenly: whether there may be the same number of rows for every chip, however many devices it is.
    """
    sizes = _sizes(len(column.rows), chips, by_chip=by_chip, evenly=evenly, whole=column.whole)
    return [list(column.rows[slice(*part)]) for part in pairwise([0, *accumulate(sizes)])]


def _sizes(rows: int, chips: Sequence[Chip], *, by_chip: bool, evenly: bool, whole: bool) -> list[int]:
    """Return how many rows each chip has; rows of the chips only that one process holds are those chips'."""
    all_of, one = [chip.devices for chip in chips], [1] * len(chips)
    held = [chip.devices if chip.pids else 0 for chip in chips]
    if rows == sum(all_of):
        return all_of
    if whole and by_chip and rows == len(chips):
        return one
    if whole and rows == sum(held) and len({chip.pids for chip in chips if chip.pids}) == 1:
        return held
    if whole and evenly and chips and rows % len(chips) == 0:
        return [rows // len(chips)] * len(chips)
    return [0] * len(chips)


def _mean(rows: Sequence[Row]) -> float | None:
    """Return the mean of a chip's shares; a blank row has that of the row above, as the chip was measured once."""
    shares = [row.share for row in rows if not row.blank]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known and len(known) == len(shares) else None


def _total(values: Iterable[int | None]) -> int | None:
    told = list(values)
    known = [value for value in told if value is not None]
    return sum(known) if known and len(known) == len(told) else None
