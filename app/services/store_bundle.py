"""Git bundles that clients upload when the workers cannot reach their repository."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from app.domain.errors import DataError, NotFoundError, TooLargeError, UnavailableError

INCOMING = "incoming-"
"""What a bundle's file is called until it is whole."""

_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")


_DIGEST = re.compile(r"[0-9a-f]{64}")


async def store_bundle(folder: Path, chunks: AsyncIterator[bytes], *, limit: int) -> tuple[str, int]:
    """Stream a bundle to disk and return its SHA-256 and size [B]; the same bytes again are one file.

    Raises:
        TooLargeError: it is larger than `limit` bytes.
        DataError: it is not a git bundle.
        UnavailableError: the disk is full (code `disk_full`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=INCOMING)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            digest, size = await _copy(file.write, chunks, limit)
        os.replace(partial, folder / digest)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UnavailableError(f"no space left in {folder}", code="disk_full") from error
        raise
    finally:
        partial.unlink(missing_ok=True)
    return digest, size


async def _copy(write: object, chunks: AsyncIterator[bytes], limit: int) -> tuple[str, int]:
    assert callable(write)
    digest, size, head = hashlib.sha256(), 0, b""
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise TooLargeError(f"the bundle is larger than {limit} bytes (RATCHET_MAX_BUNDLE_B)")
        head = (head + chunk)[:16] if len(head) < 16 else head
        digest.update(chunk)
        write(chunk)
    if head not in _SIGNATURES:
        raise DataError("the body is not a git bundle: make one with `git bundle create`", code="bad_bundle")
    return digest.hexdigest(), size


def keep_bundle(folder: Path, path: Path) -> str:
    """Take over a bundle that lies on the same disk; return its SHA-256."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    os.replace(path, folder / digest)
    os.utime(folder / digest)
    return digest


def bundle_path(folder: Path, digest: str) -> Path:
    """Return the file of this bundle, used as of now: it is kept for longer. Raises NotFoundError."""
    path = folder / digest
    try:
        if not is_digest(digest):
            raise FileNotFoundError
        os.utime(path)
    except FileNotFoundError:
        raise NotFoundError(
            f"there is no bundle {digest[:80]!r}: upload it (again) by POST /api/v1/bundles"
        ) from None
    return path


def is_digest(name: str) -> bool:
    """Say whether this is what a whole bundle's file is called: a SHA-256."""
    return _DIGEST.fullmatch(name) is not None
