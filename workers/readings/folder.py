"""A folder of recorded outputs, such as a site sends of its machine: each file read by whatever tool wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.readings import read
from workers.readings.reader import Recording, UnreadableError

LARGEST_B = 64 * 2**20

UNKNOWN = "not an output of a device tool that is known"


@dataclass(frozen=True)
class RecordedFile:
    """One file: what it tells, or in `trouble` why it tells nothing."""

    name: str
    recording: Recording | None = None
    trouble: str = ""


def read_folder(path: Path) -> Iterator[RecordedFile]:
    """Yield every file of a folder and those below it in the order of their names; of a file, that one.

    Raises:
        OSError: the folder cannot be read.
    """
    if path.is_file():
        yield _read_file(path, path.name)
        return
    if not path.is_dir():
        raise FileNotFoundError(2, "no such folder", str(path))
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        yield _read_file(file, file.relative_to(path).as_posix())


def _read_file(file: Path, name: str) -> RecordedFile:
    try:
        if file.stat().st_size > LARGEST_B:
            return RecordedFile(name, trouble=f"larger than {LARGEST_B // 2**20} MiB")
        content = file.read_bytes()
    except OSError as error:
        return RecordedFile(name, trouble=f"cannot be read: {error.strerror or error}")
    try:
        recording = read(decoded(content))
    except UnreadableError as error:
        return RecordedFile(name, trouble=str(error))
    return RecordedFile(name, recording) if recording else RecordedFile(name, trouble=UNKNOWN)


def decoded(content: bytes) -> str:
    """Return text as tools of any system write it: with or without a byte order mark, lines that end in any way."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, errors="replace").replace("\r\n", "\n")
