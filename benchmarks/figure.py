"""One line of `make bench`."""

from __future__ import annotations

import math
from dataclasses import dataclass


class SkippedError(Exception):
    """What a module measures against is not there; the message says what, and why."""


@dataclass(frozen=True)
class Figure:
    """A measured number and the limit that it is held against; a ratio of at most 1 keeps it. Only 0 keeps one of 0."""

    name: str
    value: float
    limit: float
    unit: str

    def line(self) -> str:
        """Return the figure as a line of text."""
        ratio = self.value / self.limit if self.limit else math.inf if self.value else 0.0
        mark = "kept" if ratio <= 1 else "OVER"
        return f"{self.name:<58} {self.value:>10.4g} {self.unit:<4} limit {self.limit:<6g} ratio {ratio:5.2f}  {mark}"


@dataclass(frozen=True)
class Beside:
    """Our number and a peer's of the same run, less being better, and how many times less ours has to be.

    The machine's own speed is in both, and so not in what they are to each other.
    """

    name: str
    ours: float
    peers: float
    wanted: float
    unit: str

    def line(self) -> str:
        """Return both and their ratio as a line of text."""
        times = self.peers / self.ours
        mark = "kept" if times >= self.wanted else "UNDER"
        both = f"{self.ours:>9.4g} {self.unit:<3} peer {self.peers:>9.4g} {self.unit:<3}"
        return f"{self.name:<46} {both} {times:>7.1f} times less, wanted {self.wanted:<4g} {mark}"


@dataclass(frozen=True)
class Note:
    """What has to be known to read the figures beside it."""

    text: str

    def line(self) -> str:
        """Return the note."""
        return f"  {self.text}"
