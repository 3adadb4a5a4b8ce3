"""How messages about a settings file show what was found in it, and what was probably meant."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime, time
from difflib import get_close_matches

_MAX_SHOWN = 60
_MAX_SHOWN_BITS = 256


def shown(found: object) -> str:
    """Return a value of a file as it may stand in a message: as TOML writes it, short and printable."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, int) and found.bit_length() > _MAX_SHOWN_BITS:
        return "a number of too many digits"
    if isinstance(found, str):
        return quoted(found)
    if isinstance(found, date | datetime | time):
        return found.isoformat()
    if isinstance(found, dict | list):
        kind = "table" if isinstance(found, dict) else "list"
        return f"a {kind}" if found else f"an empty {kind}"
    return str(found)


def quoted(text: str) -> str:
    """Return `text` in double quotes as TOML writes it, cut at 60 characters and printable."""
    return _printable(json.dumps(_cut(text), ensure_ascii=False))


def backticked(text: str) -> str:
    """Return a piece of a settings file in backticks, cut at 60 characters and printable."""
    return f"`{_printable(_cut(text))}`"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _printable(text: str) -> str:
    """Escape what a terminal would act on, and what would reorder the text around it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def nearest(word: str, words: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the one of `words` that `word` was probably meant to be, if any is as like it (0 to 1)."""
    by_folded = {known.casefold(): known for known in words}
    near = get_close_matches(word[:_MAX_SHOWN].casefold(), by_folded, n=1, cutoff=likeness)
    return by_folded[near[0]] if near else None
