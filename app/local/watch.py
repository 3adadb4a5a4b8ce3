"""Looks after the parts of a running service: whatever one part's start raises, the others are looked after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0

Revive = Callable[[], str | None]
"""Starts a part again if it has fallen, and returns what there is to say of it."""


@dataclass
class _Part:
    name: str
    revive: Revive
    pause_s: float = 0.0
    """How long it is left alone after its last start failed [s]; 0 while nothing is wrong."""
    again_at: float = 0.0
    trouble: str = ""


class Watch:
    """The parts by name, and how to revive each; what happens is said once, not at every try."""

    def __init__(self, parts: Mapping[str, Revive], say: Callable[[str], None]) -> None:
        self._parts = [_Part(name, revive) for name, revive in parts.items()]
        self._say = say

    def look(self, now: float) -> None:
        """Revive what has fallen; a part that cannot be started is left alone for a pause that grows.

        `now` is the monotonic time [s].
        """
        for part in self._parts:
            if now >= part.again_at:
                self._look_after(part, now)

    def _look_after(self, part: _Part, now: float) -> None:
        try:
            news = part.revive()
        except Exception as error:
            # The edge of the watching: our own refusals, a full disk, no more processes, no memory.
            part.pause_s = min(2 * part.pause_s, LONGEST_PAUSE_S) or FIRST_PAUSE_S
            part.again_at = now + part.pause_s
            trouble = f"cannot start {part.name} again, trying on: {str(error) or type(error).__name__}"
            if trouble != part.trouble:
                self._tell(trouble)
            part.trouble = trouble
            return
        if part.trouble:
            self._tell(f"{part.name} could be started again")
        elif news:
            self._tell(news)
        part.pause_s, part.trouble = 0.0, ""

    def _tell(self, text: str) -> None:
        with suppress(
            OSError, ValueError
        ):  # nobody listens any more, the disk of the log is full, or it is closed
            self._say(text)
