"""What an export ends with: a line that only a whole one has, and by which it can be told.

An export is JSON Lines: documents as `POST /api/v1/results/batch` takes them, and then `{"end": {"documents": …,
"results": …, "sha256": …}}`. The digest is of all bytes before that line.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

END = "end"


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


def read_end(line: bytes) -> dict[str, Any] | None:
    """Return what the line says, if it is one that ends an export."""
    if not line.startswith(b'{"end":'):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if is_end(found) else None


def is_end(found: Any) -> bool:
    """Tell whether a document is what ends an export."""
    return isinstance(found, dict) and found.keys() == {END} and isinstance(found[END], dict)
