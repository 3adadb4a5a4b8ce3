"""Series with known truth: steps, flat ones, ramps, reverting spikes; seeded, in three families that share nothing.

    for s in corpus("tuning", seed=1, per_cell=1):
        s.values, s.changes, s.visible, s.kind, s.noise

A series is `base · exp(signal + noise)`; the signal is what changed, the noise comes from `families.MODELS`. Every
series has a random stream of its own, made from seed, family and name: a new model or kind leaves the others as they
were.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.families import MODELS, stream
from benchmarks.detection.noise import Noise, Rng
from benchmarks.detection.visibility import change_z

FAMILIES = tuple(MODELS)
STEPS = (0.005, 0.01, 0.02, 0.05, 0.10, 0.30)
"""Sizes of steps, as shares; upwards and downwards alike."""
CVS = (0.003, 0.01, 0.03)
"""Standard deviations of the noise's core, as shares."""
LENGTHS = (30, 60, 125, 250, 500, 1000, 2000)
VISIBLE_Z = 6.0
"""A change is visible if a clairvoyant sees it at this many standard errors."""
MAX_CHANGES = 5
MIN_DISTANCE = 5
"""Fewest points between two changes."""


@dataclass(frozen=True, eq=False)
class Signal:
    """What truly happened, ln units. `level` has shape (n,); ramps and spikes are half-open (start, end).

    `changes` are first points of new regimes. A spike's end is the first point that is normal again; a ramp's end
    the first point of the new level.
    """

    level: Array
    changes: tuple[int, ...] = ()
    ramps: tuple[tuple[int, int], ...] = ()
    spikes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Series:
    """One series and its truth.

    `x` (ascending integers) and `values` (positive, any unit) have shape (n,). `z` and `visible` go with `changes`, or,
    for a ramp, with `ramps`. `level` and `realised` are for the oracle only.
    """

    name: str
    family: str
    kind: str
    noise: str
    cv: float
    x: Array
    values: Array
    changes: tuple[int, ...]
    ramps: tuple[tuple[int, int], ...]
    spikes: tuple[tuple[int, int], ...]
    z: tuple[float, ...]
    level: Array = field(repr=False)
    realised: Noise = field(repr=False)
    base: float = 1.0

    @property
    def visible(self) -> tuple[bool, ...]:
        """Say of each change (of a ramp series: of each ramp) whether a clairvoyant sees it."""
        return tuple(z >= VISIBLE_Z for z in self.z)

    @property
    def visible_changes(self) -> tuple[int, ...]:
        """Return the changes that count."""
        return tuple(at for at, seen in zip(self.changes, self.visible, strict=False) if seen)


# --- kinds of signals ----------------------------------------------------------------------------------------------


def flat(rng: Rng, n: int) -> Signal:
    """Return no change."""
    return Signal(np.zeros(n))


def _jump(rng: Rng, size: float) -> float:
    return math.log1p(size) * rng.choice((-1, 1))


def steps(rng: Rng, n: int) -> Signal:
    """Return 0 to 5 steps at a random distance of at least 5 points; one series in six has one near an end."""
    count = min(int(rng.integers(0, MAX_CHANGES + 1)), n // (2 * MIN_DISTANCE) - 1)
    distance = int(rng.integers(MIN_DISTANCE, max(MIN_DISTANCE + 1, n // (2 * (count + 1)))))
    changes = _places(rng, n, count, distance)
    if changes and rng.random() < 1 / 6:
        changes = _move_to_end(rng, n, changes)
    level = np.zeros(n)
    for at in changes:
        level[at:] += _jump(rng, float(rng.choice(STEPS)))
    return Signal(level, changes=tuple(changes))


def _places(rng: Rng, n: int, count: int, distance: int) -> list[int]:
    """Return `count` places, uniform among those whose segments all have at least `distance` points."""
    free = n - (count + 1) * distance
    return [
        int(at) + (i + 1) * distance for i, at in enumerate(np.sort(rng.integers(0, free + 1, size=count)))
    ]


def _move_to_end(rng: Rng, n: int, changes: list[int]) -> list[int]:
    near = int(rng.integers(3, 8))
    if rng.random() < 0.7:
        return changes if changes[-1] > n - near else [*changes[:-1], n - near]
    return changes if changes[0] < near else [near, *changes[1:]]


def ramp(rng: Rng, n: int) -> Signal:
    """Return a slow slide of 3 to 20 % over 10 to 100 points, which then stays."""
    width = int(rng.integers(10, min(100, n // 3) + 1))
    start = int(rng.integers(20, n - width - 19))
    slide = np.clip((np.arange(n) - start + 1) / width, 0, 1)
    return Signal(slide * _jump(rng, float(rng.uniform(0.03, 0.20))), ramps=((start, start + width),))


def reverting_spike(rng: Rng, n: int) -> Signal:
    """Return 1 to 4 neighbouring points that are 5 to 50 % off, then all as before."""
    width, start = int(rng.integers(1, 5)), int(rng.integers(15, n - 18))
    level = np.zeros(n)
    level[start : start + width] = _jump(rng, float(rng.uniform(0.05, 0.50)))
    return Signal(level, spikes=((start, start + width),))


def one_step(size: float) -> Callable[[Rng, int], Signal]:
    """Return the kind that has one step of `size` in its second half, at least 30 points before the end."""

    def draw(rng: Rng, n: int) -> Signal:
        at = int(rng.integers(n // 2, n - 30))
        return Signal(np.where(np.arange(n) >= at, _jump(rng, size), 0.0), changes=(at,))

    return draw


@dataclass(frozen=True)
class Kind:
    """A kind of series: how its signal is drawn, and which lengths it has."""

    draw: Callable[[Rng, int], Signal]
    lengths: tuple[int, ...]


KINDS: dict[str, Kind] = {
    "steps": Kind(steps, LENGTHS),
    "flat": Kind(flat, LENGTHS),
    "ramp": Kind(ramp, (125, 250, 500, 1000)),
    "spike": Kind(reverting_spike, (60, 125, 250, 500)),
    "delay_5": Kind(one_step(0.05), (125, 200)),
    "delay_2": Kind(one_step(0.02), (125, 200)),
}
"""name -> kind. `delay_5` and `delay_2` are for the online rows: one step of 5 or 2 %."""

CORPUS = ("steps", "flat", "ramp", "spike")


# --- the corpus ----------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """What names one series; `make` makes it."""

    family: str
    kind: str
    noise: str
    cv: float
    n: int
    copy: int = 0
    seed: int = 1

    @property
    def name(self) -> str:
        """Return the series' name, which the seed is no part of."""
        return f"{self.family}/{self.path}"

    @property
    def path(self) -> str:
        """Return the series' name within its family."""
        return f"{self.kind}/{self.noise}/cv{100 * self.cv:g}/n{self.n}/{self.copy}"


def cells(
    family: str,
    seed: int = 1,
    per_cell: int = 1,
    kinds: tuple[str, ...] = CORPUS,
    lengths: tuple[int, ...] | None = None,
    cvs: tuple[float, ...] = CVS,
    noises: tuple[str, ...] | None = None,
) -> Iterator[Cell]:
    """Yield `per_cell` cells for every noise model × coefficient of variation × length of each kind.

    Args:
        family: a name in `families.MODELS`.
        seed: another seed gives other series of the same cells.
        per_cell: series of each combination.
        kinds: names in `KINDS`.
        lengths: only these, in points, for every kind; default: the kind's own.
        cvs: standard deviations of the core.
        noises: only these models of the family; default all.

    Raises:
        KeyError: a family or kind has no such name.
    """
    for kind in kinds:
        sizes = lengths or KINDS[kind].lengths
        for noise, cv, n, copy in itertools.product(noises or MODELS[family], cvs, sizes, range(per_cell)):
            yield Cell(family, kind, noise, cv, n, copy, seed)


def corpus(
    family: str, seed: int = 1, per_cell: int = 1, kinds: tuple[str, ...] = CORPUS, **which: Any
) -> Iterator[Series]:
    """Yield the series of `cells(...)`, which has the same arguments."""
    return map(make, cells(family, seed, per_cell, kinds, **which))


def make(cell: Cell) -> Series:
    """Return one series; the same cell gives the same series."""
    rng = stream(cell.family, cell.path, cell.seed)
    entry = MODELS[cell.family][cell.noise]
    x = entry.positions(rng, cell.n)
    signal = KINDS[cell.kind].draw(rng, cell.n)
    realised = entry.draw(rng, x, cell.cv).under(signal.level)
    base = float(10 ** rng.uniform(-4, 4))
    return Series(
        name=cell.name,
        family=cell.family,
        kind=cell.kind,
        noise=cell.noise,
        cv=cell.cv,
        x=x,
        values=base * readings(signal.level, realised),
        changes=signal.changes,
        ramps=signal.ramps,
        spikes=signal.spikes,
        z=tuple(change_z(signal.level, realised, signal.changes, signal.ramps)),
        level=signal.level,
        realised=realised,
        base=base,
    )


def readings(level: Array, noise: Noise) -> Array:
    """Return what is read, relative to the first level: signal and noise, rounded to the timer's step."""
    values = np.exp(level + noise.core + noise.nuisance)
    return np.maximum(np.round(values / noise.quantum), 1) * noise.quantum if noise.quantum else values
