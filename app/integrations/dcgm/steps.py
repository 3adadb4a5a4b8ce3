"""What many GPUs did over days, in steps of some minutes: a few range queries, each of some devices by their UUIDs.

Prometheus does the sums, so that a week of a hundred GPUs is some megabytes. A step is known where a sample is in it.
Labels that come and go with pods, and two exporters of one GPU, are one: means are over all samples of a device.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan, nan

from app.domain.device_use import Power, Seen, Told
from app.domain.errors import UnavailableError
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.fields import FIELDS, Field
from app.integrations.dcgm.series import MALFORMED, UUID_LABELS, Row, samples_of
from app.integrations.dcgm.server import LookUp, Prometheus

STEP_S = 300.0
"""As long as one sample stands for at the most in Prometheus; a week has 2 016 of them [s]."""
AT_ONCE = 20
"""Devices of one query: their UUIDs fit into an address."""

BUSY, COUNTER, POWER = ("util", "gr_engine_active"), "energy_j", "power_w"

log = logging.getLogger(__name__)

Column = Sequence[float]
"""A number a step; NaN where there is none."""


def seen_in_steps(
    prometheus: Prometheus, gpus: Sequence[Gpu], start: float, end: float, *, step_s: float = STEP_S
) -> Told:
    """Return what DCGM told of each device, by its UUID; what was told before the server gave up is not lost.

    An instance of a GPU has shares of its own and no energy. Of a device that is not known to be one whole GPU or one
    whole instance nothing is told. Nothing is raised for a server that is away: `reason` says it.

    Args:
        prometheus: the server.
        gpus: the devices.
        start: when the first step begins [s since 1970].
        end: from when on nothing is asked [s since 1970].
        step_s: how long a step is [s].
    """
    grid = _Grid(start, step_s, max(0, int((end - start) // step_s)))
    known = [gpu for gpu in _distinct(gpus) if gpu.is_well_named and gpu.is_located]
    seen: dict[str, Seen] = {}
    if not grid.n or not known:
        return Told(seen)
    try:
        with prometheus.look_up() as look_up:
            for some in _batches(known):
                seen |= _seen(_Asker(look_up, grid, some))
    except UnavailableError as error:
        log.info("what GPUs did is not told: %s", error)
        return Told(seen, str(error), is_unanswered=True)
    if not seen:
        return Told(
            seen, "Prometheus has nothing of these GPUs from this time: not scraped, or no longer kept"
        )
    return Told(seen)


@dataclass(frozen=True)
class _Grid:
    """The steps."""

    start: float
    step_s: float
    n: int

    def column(self, row: Row, field: Field) -> Column:
        """Return a row's values step by step, in the field's unit, without what is none."""
        column = array("d", [nan]) * self.n
        for moment, value in samples_of(row):
            at = round((moment - self.start) / self.step_s) - 1
            if 0 <= at < self.n and field.is_value(value):
                column[at] = value * field.factor
        return column


def _distinct(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Return the devices but those that share an instance: its numbers are of all of them."""
    n = Counter(map(_key, gpus))
    return [gpu for gpu in gpus if n[_key(gpu)] == 1]


def _key(gpu: Gpu) -> tuple[str, str]:
    return gpu.gpu_uuid, str(gpu.instance) if gpu.is_instance else ""


def _batches(gpus: Sequence[Gpu]) -> Iterator[Sequence[Gpu]]:
    for are_instances in (False, True):
        alike = [gpu for gpu in gpus if gpu.is_instance is are_instances]
        yield from (alike[n : n + AT_ONCE] for n in range(0, len(alike), AT_ONCE))


Over = Callable[[str, str], str]
"""What is asked of a field, by its range selector and the labels that tell devices apart."""


@dataclass(frozen=True)
class _Asker:
    """Asks of some devices, all whole or all instances."""

    look_up: LookUp
    grid: _Grid
    gpus: Sequence[Gpu]

    def columns(self, metrics: Sequence[str], over: Over, gpus: Sequence[Gpu]) -> dict[str, Column]:
        """Return by UUID the first of these metrics that is told of a device, under whichever name and label."""
        fields = [FIELDS[metric] for metric in metrics]
        names = [(field, name) for field in fields for name in field.names if self._has(field)]
        told: dict[str, Column] = {}
        for label, (field, name) in product(UUID_LABELS, names):
            left = [gpu for gpu in gpus if gpu.uuid not in told]
            if left:
                told |= self._ask(name, field, label, over, left)
        return told

    def _has(self, field: Field) -> bool:
        return field.of_instance or not self.gpus[0].is_instance

    def _ask(self, name: str, field: Field, label: str, over: Over, gpus: Sequence[Gpu]) -> dict[str, Column]:
        uuids = "|".join(sorted({gpu.gpu_uuid for gpu in gpus}))
        parts = "|".join(sorted({_key(gpu)[1] for gpu in gpus}))
        selector = f'{name}{{{label}=~"{uuids}",GPU_I_ID=~"{parts}"}}[{self.grid.step_s:g}s]'
        grid = self.grid
        rows = self.look_up.steps(
            over(selector, f"{label}, GPU_I_ID"),
            grid.start + grid.step_s,
            grid.start + grid.n * grid.step_s,
            grid.step_s,
        )
        try:
            by_key = {
                (row["metric"].get(label), row["metric"].get("GPU_I_ID", "")): grid.column(row, field)
                for row in rows
            }
        except MALFORMED as error:
            raise UnavailableError(f"Prometheus answers in a form that is not its own: {error!r}") from error
        found = {gpu.uuid: by_key.get(_key(gpu)) for gpu in gpus}
        return {uuid: column for uuid, column in found.items() if column is not None and _tells(column)}


def _tells(column: Column) -> bool:
    return not all(map(isnan, column))


def _mean(selector: str, by: str) -> str:
    return f"sum by ({by}) (sum_over_time({selector})) / sum by ({by}) (count_over_time({selector}))"


def _lowest(selector: str, by: str) -> str:
    return f"min by ({by}) (min_over_time({selector}))"


def _highest(selector: str, by: str) -> str:
    return f"max by ({by}) (max_over_time({selector}))"


def _newest(selector: str, by: str) -> str:
    highest = f"{FIELDS[COUNTER].highest:g}"
    return f"max by ({by}) (last_over_time({selector}) <= {highest})"


def _seen(asker: _Asker) -> dict[str, Seen]:
    busy = asker.columns(BUSY, _mean, asker.gpus)
    found = [gpu for gpu in asker.gpus if gpu.uuid in busy]
    counters, powers = _energies(asker, found)
    return {
        gpu.uuid: Seen(
            asker.grid.start,
            asker.grid.step_s,
            busy[gpu.uuid],
            counters.get(gpu.uuid),
            powers.get(gpu.uuid),
        )
        for gpu in found
    }


def _energies(asker: _Asker, gpus: Sequence[Gpu]) -> tuple[Mapping[str, Column], Mapping[str, Power]]:
    """Return energy counters, and of devices that have none the power."""
    counters = {
        uuid: column
        for uuid, column in asker.columns((COUNTER,), _newest, gpus).items()
        if len({value for value in column if not isnan(value)}) > 1  # one that stands still counts nothing
    }
    rest = [gpu for gpu in gpus if gpu.uuid not in counters]
    mean, low, high = (asker.columns((POWER,), over, rest) for over in (_mean, _lowest, _highest))
    powers = {
        uuid: Power(mean[uuid], low[uuid], high[uuid]) for uuid in mean.keys() & low.keys() & high.keys()
    }
    return counters, powers
