"""The pairs of one metric of one case, and which of them count.

A pair counts when no gate voided it and both arms gave a value that can be compared. Nothing is thrown away:
pairs that do not count are named with the judgement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from app.analysis.effect import INVALID_VALUE
from app.analysis.validity import Arm, Standing, Stop, first_stop


@dataclass(frozen=True)
class Pair:
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

    `base` and `head` are the values that count, `blocks` the blocks they come from, all shape (n_valid,).
    None of them is from the block at which `stop` ended the measurement, or later.
    """

    pairs: tuple[Pair, ...]
    standings: tuple[Standing, ...]
    blocks: tuple[int, ...]
    base: tuple[float, ...]
    head: tuple[float, ...]
    stop: Stop | None

    @property
    def n_void(self) -> int:
        """How many pairs are void, by a gate or by an invalid value."""
        return sum(standing.void_reason is not None for standing in self.standings)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know about the pairs."""
        lost = [
            pair
            for pair, standing in zip(self.pairs, self.standings, strict=True)
            if standing.void_reason is None and (pair.base is None or pair.head is None)
        ]
        holds = {
            INVALID_VALUE: any(standing.void_reason == INVALID_VALUE for standing in self.standings),
            "base_failed": any(pair.base_failed for pair in lost),
            "head_failed": any(pair.head_failed for pair in lost),
            "value_missing": any(pair.value_missing for pair in lost),
        }
        return tuple(flag for flag, is_so in holds.items() if is_so)

    def at(self, n: int) -> Evidence:
        """Return the evidence as it was at the end of the block that brought the `n`-th counting pair."""
        seen = sum(pair.block <= self.blocks[n - 1] for pair in self.pairs)
        return replace(
            self,
            pairs=self.pairs[:seen],
            standings=self.standings[:seen],
            blocks=self.blocks[:n],
            base=self.base[:n],
            head=self.head[:n],
        )


def gather(pairs: Iterable[Pair], is_valid: Callable[[float], bool]) -> Evidence:
    """Return the evidence in `pairs`, in any order; `is_valid` tells which values can be compared."""
    in_order = tuple(sorted(pairs, key=attrgetter("pair_index")))
    standings = tuple(_standing(pair, is_valid) for pair in in_order)
    stop = first_stop(standings)
    counted = [
        (pair.block, pair.base, pair.head)
        for pair, standing in zip(in_order, standings, strict=True)
        if standing.void_reason is None
        and pair.base is not None
        and pair.head is not None
        and (stop is None or pair.block < stop.block)
    ]
    return Evidence(
        pairs=in_order,
        standings=standings,
        blocks=tuple(block for block, _, _ in counted),
        base=tuple(base for _, base, _ in counted),
        head=tuple(head for _, _, head in counted),
        stop=stop,
    )


def _standing(pair: Pair, is_valid: Callable[[float], bool]) -> Standing:
    if pair.void:
        return Standing(pair.block, pair.void_reason or "void", pair.void_arm)
    if (pair.base is None or is_valid(pair.base)) and (pair.head is None or is_valid(pair.head)):
        return Standing(pair.block)
    return Standing(pair.block, INVALID_VALUE)
