"""What is wrong with a posted document, collected: every problem with its JSON path and a remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches

from app.domain.errors import PayloadError, Problem

Path = tuple[str | int, ...]
"""Keys and zero-based indices from the root of a document: `("results", 3, "values", 0)`."""

MAX_PROBLEMS = 50
"""A document with more problems is not read further."""

_MAX_SHOWN = 60
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Problems:
    """The problems of one document, in the order in which they are found."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: Path, code: str, message: str, *, line: int | None = None) -> None:
        """Note a problem at `path`; with the fiftieth, refuse the document at once."""
        self._found.append(Problem(json_path(path), code, message, line))
        if len(self._found) == MAX_PROBLEMS:
            self.refuse_if_any()

    def refuse_if_any(self) -> None:
        """Raise PayloadError when there is any problem."""
        if self._found:
            raise PayloadError(self._found)


def json_path(path: Path) -> str:
    """Return a path as people write it: `results[3].params["batch size"]`; the root is `body`."""
    return "".join(map(_step, path)).removeprefix(".") or "body"


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) and len(step) <= _MAX_SHOWN else f"[{shown(step)}]"


def shown(found: object) -> str:
    """Return a JSON value as it may stand in a message: short, and in ASCII, so that nothing acts on it."""
    if isinstance(found, dict):
        return "an object"
    if isinstance(found, list):
        return "a list"
    if isinstance(found, str):
        return json.dumps(found if len(found) <= _MAX_SHOWN else found[: _MAX_SHOWN - 1] + "…")
    written = json.dumps(found)
    return written if len(written) <= _MAX_SHOWN else f"a number of {len(written)} characters"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the end of a message about an unknown `word`: the nearest right one, or all of them."""
    known = list(words)
    near = get_close_matches(word[:_MAX_SHOWN].casefold(), known, n=1)
    return f"did you mean {shown(near[0])}?" if near else f"known are {', '.join(known)}"
