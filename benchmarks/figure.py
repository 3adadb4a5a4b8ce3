"""One line of `make bench`."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
