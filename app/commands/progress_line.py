"""How far something is, in a line: drawn again and again on a terminal, else written every few seconds."""

from __future__ import annotations

import sys
import time

_EVERY_S, _DRAWN_EVERY_S = 5.0, 0.1


class ProgressLine:
    """Tells on standard error how far something is, as often as a reader can want it."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()

    def tell(self, text: str, *, is_last: bool = False) -> None:
        """Say it, if it is time to; what is said last is said on a terminal in any case."""
        now = time.monotonic()
        is_due = now - self._last > (_DRAWN_EVERY_S if self._is_terminal else _EVERY_S)
        if not (is_due or (is_last and self._is_terminal)):
            return
        self._last = now
        if self._is_terminal:
            print(f"\r\x1b[2K{text}", end="\n" if is_last else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)
