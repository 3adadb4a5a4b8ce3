"""The pairs of one metric of one case, and which of them count.

A pair counts when no gate voided it and both arms gave a value that can be compared. Nothing is thrown away:
pairs that do not count are named with the judgement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from app.analysis.effect import INVALID_VALUE
from app.analysis.validity import Arm, Standing, Stop, first_stop


class Pair(NamedTuple):
    """One base and one head invocation, with one metric's value of each.

    A value is None where its invocation failed or did not report the metric. `void` is the gates' word, and
    `void_arm` the arm whose invocation triggered it.
    """

    pair_index: int
    block: int
    base: float | None
    head: float | None
    void: bool = False
    void_reason: str | None = None
    base_failed: bool = False
    head_failed: bool = False
    void_arm: Arm | None = None

    @property
    def value_missing(self) -> bool:
        """Whether an invocation that ended well did not report the metric."""
        return (self.base is None and not self.base_failed) or (self.head is None and not self.head_failed)


@dataclass(frozen=True)
class Evidence:
    """Pairs in time order with what became of them.

    `voids` says of each pair why it is void, None where it is not. `base` and `head` are the values that count,
    `blocks` the blocks they come from, all shape (n_valid,). None of them is from the block at which `stop` ended
    the measurement, or later.
    """

    pairs: tuple[Pair, ...]
    voids: tuple[str | None, ...]
    blocks: tuple[int, ...]
    base: tuple[float, ...]
    head: tuple[float, ...]
    stop: Stop | None

    @property
    def n_void(self) -> int:
        """How many pairs are void, by a gate or by an invalid value."""
        return len(self.voids) - self.voids.count(None)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know about the pairs."""
        if len(self.base) == len(self.pairs):
            return ()
        lost = [
            pair
            for pair, void in zip(self.pairs, self.voids, strict=True)
            if void is None and (pair.base is None or pair.head is None)
        ]
        holds = {
            INVALID_VALUE: INVALID_VALUE in self.voids,
            "base_failed": any(pair.base_failed for pair in lost),
            "head_failed": any(pair.head_failed for pair in lost),
            "value_missing": any(pair.value_missing for pair in lost),
        }
        return tuple(flag for flag, is_so in holds.items() if is_so)

    def at(self, n: int) -> Evidence:
        """Return the evidence as it was at the end of the block that brought the `n`-th counting pair."""
        last = self.blocks[n - 1]
        seen = sum(pair.block <= last for pair in self.pairs)
        return replace(
            self,
            pairs=self.pairs[:seen],
            voids=self.voids[:seen],
            blocks=self.blocks[:n],
            base=self.base[:n],
            head=self.head[:n],
        )


def gather(pairs: Iterable[Pair], is_valid: Callable[[float], bool]) -> Evidence:
    """Return the evidence in `pairs`, in any order; `is_valid` tells which values can be compared."""
    in_order = tuple(sorted(pairs, key=attrgetter("pair_index")))
    if (undisturbed := _undisturbed(in_order, is_valid)) is not None:
        return undisturbed
    voids = tuple([_why_void(pair, is_valid) for pair in in_order])
    stop = _stop(in_order, voids)
    counted = [
        (pair.block, pair.base, pair.head)
        for pair, void in zip(in_order, voids, strict=True)
        if void is None
        and pair.base is not None
        and pair.head is not None
        and (stop is None or pair.block < stop.block)
    ]
    blocks, base, head = zip(*counted, strict=True) if counted else ((), (), ())
    return Evidence(in_order, voids, blocks, base, head, stop)


def _undisturbed(pairs: tuple[Pair, ...], is_valid: Callable[[float], bool]) -> Evidence | None:
    """Return the evidence where all pairs count, as nearly always, without looking at them one by one; else None."""
    if not pairs:
        return None
    _, blocks, base, head, void, *_ = zip(*pairs, strict=True)
    values = (*base, *head)
    # A sum is not finite when a value is not; that of values too large to add up is no loss but of time.
    if any(void) or None in values or not math.isfinite(sum(values)):
        return None
    if not (is_valid(min(values)) and is_valid(max(values))):
        return None
    return Evidence(pairs, (None,) * len(pairs), blocks, base, head, None)


def _why_void(pair: Pair, is_valid: Callable[[float], bool]) -> str | None:
    if pair.void:
        return pair.void_reason or "void"
    if (pair.base is None or is_valid(pair.base)) and (pair.head is None or is_valid(pair.head)):
        return None
    return INVALID_VALUE


def _stop(pairs: tuple[Pair, ...], voids: tuple[str | None, ...]) -> Stop | None:
    if not any(voids):
        return None
    return first_stop(
        [
            Standing(pair.block, void, pair.void_arm if pair.void else None)
            for pair, void in zip(pairs, voids, strict=True)
        ]
    )
