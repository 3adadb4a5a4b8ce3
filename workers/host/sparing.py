"""Kernel files that are slow to read on a big machine, read no more often than their cost allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

SHARE = 0.0003
"""How much of one processor's time a source may take, unless it is told: all together have to stay below 1 %."""

T = TypeVar("T")


class Sparing(Generic[T]):
    """Asks a function, and gives its last answer again until what that cost is a small enough share of the time."""

    def __init__(
        self,
        question: Callable[[], T],
        *,
        share: float = SHARE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._question = question
        self._share = share
        self._clock = clock
        self._answer: T | None = None
        self._again_s: float | None = None

    @property
    def is_due(self) -> bool:
        """Whether the next call asks anew."""
        return self._again_s is None or self._clock() >= self._again_s

    def __call__(self) -> T:
        """Return the answer, new where it is time for one."""
        if self._again_s is None or self.is_due:
            begun = self._clock()
            self._answer = self._question()
            ended = self._clock()
            self._again_s = ended + (ended - begun) / self._share
        assert self._again_s is not None
        return self._answer  # type: ignore[return-value]  # asked at least once
