"""What an examination of a series says: plain values, in the unit of the series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal["step", "ramp"]
Standing = Literal["suspected", "confirmed"]


@dataclass(frozen=True)
class ChangePoint:
    """A lasting change of level.

    `index` is the 0-based row of the first point of the new regime. A ramp slides from row `start` to `end`, the first
    point of the level that it reaches, and its `index` is where a quarter of the way is passed, as its start hardly
    shows; a step's `start` and `end` are its `index`. `before` and `after` are the typical values of both regimes.
    `change` is after/before − 1, and `ci_low` to `ci_high` its 95 % interval; they are None in a series with values
    that are not positive. `p_value` is corrected for having chosen the place. `standing` is `suspected` while few
    points have been seen of the new regime, or the evidence is little.
    """

    index: int
    start: int
    end: int
    before: float
    after: float
    change: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float
    kind: ChangeKind
    standing: Standing


@dataclass(frozen=True)
class Episode:
    """What happened and is no lasting change of level; rows `start` to `end`, half-open, 0-based.

    A `spike` reverted: `size` is its level over the one around it, − 1 (None without a ratio). A `variance` change
    lasts from `start` on: `size` is the noise's standard deviation after over before, − 1.
    """

    start: int
    end: int
    kind: Literal["spike", "variance"]
    size: float | None


@dataclass(frozen=True)
class Examination:
    """Change points and episodes of one series, both in ascending order.

    `noise` is the standard deviation of single runs around their level, relative to it where `relative` holds, else in
    the series' unit; 0 for a constant series, None where too few values tell nothing.
    """

    change_points: tuple[ChangePoint, ...] = ()
    episodes: tuple[Episode, ...] = ()
    noise: float | None = None
    relative: bool = True
