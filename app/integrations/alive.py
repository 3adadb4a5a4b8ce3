"""A file whose age says whether a process without a port still does its work."""

from __future__ import annotations

import logging
from pathlib import Path

log = logging.getLogger(__name__)


def note_alive(file: str) -> None:
    """Date the file of now; nothing where none is named, and a disk that is full stops nobody."""
    if not file:
        return
    try:
        Path(file).touch()
    except OSError as error:
        log.warning("%s could not be touched: %s", file, error.strerror)
