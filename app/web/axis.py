"""The vertical axis of a small picture: where values are, and its labels, which need more or less room to the left."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from app.reports import svg
from app.web.picture_scale import shown_range
from app.web.ticks import share_labels, tick_labels

_LETTER = 5.6
"""Width of a letter of a label, about."""

_EDGE = 0.06
"""Share of the range that the outer labels keep from its ends."""


class Axis:
    """An axis from `bottom` up to `top` that shows these values; `left` is where the picture beside it begins.

    Where they are shares, of which 1 is all, they are told in percent.
    """

    def __init__(
        self,
        values: Sequence[float],
        unit: str,
        *,
        top: int,
        bottom: int,
        labels: int = 3,
        are_shares: bool = False,
    ) -> None:
        self.low, self.high = shown_range(values)
        self.top, self.bottom = top, bottom
        edge = (self.high - self.low) * _EDGE
        step = (self.high - self.low - 2 * edge) / (labels - 1)
        self._marks = [self.low + edge + i * step for i in range(labels)]
        self._labels = share_labels(self._marks) if are_shares else tick_labels(self._marks, unit)
        self.left = round(max(map(len, self._labels)) * _LETTER) + 14

    def share(self, value: float) -> float:
        """Return how far up a value is, from 0 to 1; what lies outside is at the edge."""
        return max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))

    def y(self, value: float) -> float:
        """Return the height of a value."""
        return self.bottom - self.share(value) * (self.bottom - self.top)

    @property
    def labels(self) -> Markup:
        """The labels, as shapes."""
        told = zip(self._marks, self._labels, strict=True)
        return Markup("").join(
            svg.text(self.left - 6, round(self.y(mark)) + 4, label) for mark, label in told
        )
