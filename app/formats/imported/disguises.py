"""What stands in the place of a file, told by its first bytes: packed, of another encoding, or only a stand-in."""

from __future__ import annotations

import codecs

from app.domain.errors import DataError

HEAD_B = 256
"""So much of a file is enough to tell."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_LFS = b"version https://git-lfs.github.com/"
_HTML = (b"<!doctype html", b"<html")


def refuse_disguised(head: bytes) -> None:
    """Raise DataError, with what to do, where a file that begins so cannot be what it should."""
    for mark, name in _PACKED.items():
        if head.startswith(mark):
            raise DataError(f"it is packed with {name}: unpack it first", code="packed")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head[:2]:
        raise DataError("it is UTF-16: save it as UTF-8", code="bad_utf8")
    if head.startswith(_LFS):
        raise DataError("it is a pointer of Git LFS: `git lfs pull` fetches the file", code="bad_json")
    if head.removeprefix(codecs.BOM_UTF8).lstrip().lower().startswith(_HTML):
        raise DataError("it is an HTML page: download the file that the page shows", code="bad_json")
