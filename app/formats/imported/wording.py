"""How what an import tells puts numbers and names, which may hold anything."""

from __future__ import annotations

import json
import re
from unicodedata import combining

_ESCAPES = re.compile(r"(?:\\u[0-9a-f]{4})+|\\.")


def counted(n: int, what: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def on_one_line(text: str) -> str:
    """Return a text with escapes for line breaks and whatever else would act on a terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def readable(message: str) -> str:
    """Return a message with the characters for which it has escapes of JSON.

    What cannot be printed stays escaped, and so do accents apart from their letter, which are what a message is about.
    """
    return _ESCAPES.sub(_unescaped, message)


def _unescaped(found: re.Match[str]) -> str:
    written = found.group()
    text = json.loads(f'"{written}"') if len(written) > len(r"\n") else ""
    return text if text.isprintable() and text and not any(map(combining, text)) else written
