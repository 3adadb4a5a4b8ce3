"""The lines of an export that are no documents: marks, where one that broke off can go on, and its end.

An export is JSON Lines: documents as `POST /api/v1/results/batch` takes them, and then `{"end": {"documents": …,
"results": …, "sha256": …}}`, by which a whole one is told; the digest is of all documents' lines. Whoever asks for
marks gets `{"mark": CURSOR}` between runs: what goes on after that cursor is just what is behind the line.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

END, MARK = "end", "mark"


class Tally:
    """What went by of an export so far."""

    def __init__(self) -> None:
        self.documents = 0
        self.bytes = 0
        self._digest = hashlib.sha256()

    def add(self, line: bytes) -> None:
        """Take note of a document's line, its newline included."""
        self.documents += 1
        self.bytes += len(line)
        self._digest.update(line)

    def end(self, results: int) -> dict[str, Any]:
        """Return what ends an export of these documents, which hold so many results."""
        return {END: {"documents": self.documents, "results": results, "sha256": self._digest.hexdigest()}}

    def is_whole(self, end: dict[str, Any]) -> bool:
        """Tell whether an export that ends so consists of just these documents."""
        return self.end(end[END].get("results", 0)) == end


def mark(cursor: str) -> dict[str, str]:
    """Return what says that an export can go on here."""
    return {MARK: cursor}


def read_mark(line: bytes) -> str | None:
    """Return the cursor that the line tells, if it is a mark."""
    found = _noted(line, MARK)
    return found[MARK] if found is not None and isinstance(found[MARK], str) else None


def read_end(line: bytes) -> dict[str, Any] | None:
    """Return what the line says, if it is one that ends an export."""
    found = _noted(line, END)
    return found if found is not None and isinstance(found[END], dict) else None


def is_of_export(found: Any) -> bool:
    """Tell whether a document is none, but a mark or an end."""
    return isinstance(found, dict) and len(found) == 1 and not found.keys().isdisjoint((END, MARK))


def _noted(line: bytes, key: str) -> dict[str, Any] | None:
    if not line.startswith(f'{{"{key}":'.encode()):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.keys() == {key} else None
