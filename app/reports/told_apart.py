"""Names in little room: what all of them have in common is said once, so that each keeps what is its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

_LAST_WORD = re.compile(r"([^.\[\], /:]|(?<=\d)\.)*\Z")
"""What follows the last mark between the words of a name: neither a word nor a number is cut in two."""

_LEAST = 4
"""Characters that have to be saved at the front or at the back for a cut to be worth its mark."""


@dataclass(frozen=True)
class ToldApart:
    """Names without what all have in common, which `common` has, with `…` where they differ."""

    names: tuple[str, ...]
    common: str


def told_apart(names: Sequence[str]) -> ToldApart | None:
    """Return the names without what all of them begin and end with; None where that is nothing, or all there is."""
    if len(set(names)) < 2:
        return None
    front = _front(names)
    back = _front([name[len(front) :][::-1] for name in names])[::-1]
    front, back = _with_both_brackets(front, back)
    if not front and not back:
        return None
    cut = (name[len(front) : len(name) - len(back)] for name in names)
    marks = "…" if front else "", "…" if back else ""
    return ToldApart(tuple(name.join(marks) for name in cut), f"{front}…{back}")


def _front(names: Sequence[str]) -> str:
    """Return the whole words that all names begin with; something is left of each."""
    same = takewhile(lambda chars: len(set(chars)) == 1, zip(*names, strict=False))
    common = _LAST_WORD.sub("", "".join(chars[0] for chars in same))
    return common if _LEAST <= len(common) < min(map(len, names)) else ""


def _with_both_brackets(front: str, back: str) -> tuple[str, str]:
    """Return both cuts, smaller where only one of them would take a bracket away from the other."""
    opened, closed = front.rfind("[") > front.rfind("]"), "]" in back.partition("[")[0]
    if opened and not closed:
        return front[: front.rfind("[")], back
    if closed and not opened:
        return front, back[back.find("]") + 1 :]
    return front, back
