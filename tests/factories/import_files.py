"""Content of files to import."""

from __future__ import annotations

import io
from typing import Any

from app.formats.imported.source import Lines, read_source


def parsed(data: bytes) -> Any:
    """Return the document that a file with this content holds, or the list of those that come a line each."""
    found = read_source(io.BytesIO(data))
    return list(found) if isinstance(found, Lines) else found
