"""Remove uploaded bundles that nobody needs any more, and what interrupted uploads left behind.

A bundle's file is dated by its last use: its upload, a check that names it, an agent that fetches it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.store_bundle import INCOMING, is_digest
from app.store.repositories import jobs

log = logging.getLogger(__name__)

INCOMING_KEEP_S = 24 * 3600.0
"""How long an unfinished upload may go without a byte [s]; its process is gone by then, or its client is."""


def prune_bundles(session: Session, settings: ServiceSettings) -> int:
    """Remove bundles unused for `bundles_keep_s` that no unfinished job needs; return how many files went.

    The files are looked at before the jobs: a check that names a bundle meanwhile dates the file anew, and it stays.
    """
    folder = settings.data_dir / "bundles"
    now = time.time()
    old = [path for path in _files(folder) if _is_old(path, now, settings)]
    needed = jobs.needed_bundles(session) if old else set()
    removed = [path for path in old if path.name not in needed and _remove(path, now, settings)]
    if removed:
        log.info("removed %d bundles that nobody needs from %s", len(removed), folder)
    return len(removed)


def _files(folder: Path) -> Iterator[Path]:
    """Yield what we put there; anything else in the folder is not ours to remove."""
    if folder.is_dir():
        yield from (
            path for path in folder.iterdir() if path.name.startswith(INCOMING) or is_digest(path.name)
        )


def _is_old(path: Path, now: float, settings: ServiceSettings) -> bool:
    keep_s = INCOMING_KEEP_S if path.name.startswith(INCOMING) else settings.bundles_keep_s
    try:
        return now - path.stat().st_mtime > keep_s
    except FileNotFoundError:  # another process was quicker, or the upload has just become whole
        return False


def _remove(path: Path, now: float, settings: ServiceSettings) -> bool:
    if not _is_old(path, now, settings):
        return False
    path.unlink(missing_ok=True)
    return True
