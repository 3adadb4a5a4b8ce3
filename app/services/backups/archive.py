"""The file of a backup: a ZIP of parts, and a manifest that says what they are, written last.

    database.dump        what pg_dump wrote, in its custom format
    data/…               files of the data folder
    manifest.json        release, revision, time, rows of each table, size and SHA-256 of each part

Nothing is compressed twice. A file that broke off has no directory at its end, and none is ever given its name before
it is whole and on disk. It holds tokens and the hashes of passwords: nobody but its owner may read it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from app.domain.errors import DataError, UnavailableError, UsageError

FORMAT = 1
DUMP, DATA, MANIFEST = "database.dump", "data/", "manifest.json"
SUFFIX = ".ratchet-backup"

_AT_ONCE_B = 2**20
_MOST_MANIFEST_B = 2**25
_JUST_MADE_S = 60.0

Told = Callable[[int], None]
"""Is told how many bytes more were read or written."""


@dataclass(frozen=True)
class Part:
    """A part of a backup."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a backup is of. `rows` are those of each table at the moment that it is of, `at`."""

    version: str
    revision: str
    at: datetime
    server: str
    major: int
    dumped_by: int
    rows: Mapping[str, int]
    parts: tuple[Part, ...] = field(default=())
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """Size of all parts [B]."""
        return sum(part.bytes for part in self.parts)

    def to_json(self) -> str:
        """Return the text of the manifest."""
        return json.dumps({**asdict(self), "at": self.at.isoformat()}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read one. Raises DataError for what is none, or of a later format."""
        try:
            told: dict[str, Any] = json.loads(text)
            if told["format"] != FORMAT:
                raise DataError(f"the backup's format is {told['format']}, this release reads {FORMAT}")
            told["at"] = datetime.fromisoformat(told["at"])
            told["parts"] = tuple(Part(**part) for part in told["parts"])
            return cls(**told)
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"the backup's manifest cannot be read: {error}") from error


class NewBackup:
    """A backup that is being written."""

    def __init__(self, file: zipfile.ZipFile, told: Told) -> None:
        self._file, self._told = file, told
        self._parts: list[Part] = []

    def add(self, name: str, source: IO[bytes]) -> None:
        """Add a part. Raises UnavailableError where the source cannot be read."""
        digest, size = hashlib.sha256(), 0
        with self._file.open(name, "w", force_zip64=True) as target:
            while piece := _read(name, source):
                target.write(piece)
                digest.update(piece)
                size += len(piece)
                self._told(len(piece))
        self._parts.append(Part(name, size, digest.hexdigest()))

    def finish(self, manifest: Manifest) -> Manifest:
        """Add the manifest, and return it with the parts that there are."""
        whole = Manifest(**{**vars(manifest), "parts": tuple(self._parts)})
        self._file.writestr(MANIFEST, whole.to_json())
        return whole


def _read(name: str, source: IO[bytes]) -> bytes:
    try:
        return source.read(_AT_ONCE_B)
    except OSError as error:
        raise UnavailableError(f"{name} cannot be read: {error.strerror}") from error


@contextmanager
def new_backup(path: Path, told: Told) -> Iterator[NewBackup]:
    """Yield a backup to write; it has its name when the block ends well, and leaves nothing behind otherwise.

    Raises UsageError where something has that name.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path} is there already: name another file")
    _remove_left(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w+b") as raw:
            fcntl.flock(raw, fcntl.LOCK_EX)
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as file:
                yield NewBackup(file, told)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
        _sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _remove_left(folder: Path) -> None:
    """Remove parts of backups that nobody writes any more: their processes were killed.

    Whoever writes one holds its lock; a number of a process would tell nothing, as containers have the same ones.
    """
    for left in folder.glob(f".ratchet-*{SUFFIX}.*.part"):
        try:
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (
                time.time() - os.fstat(handle).st_mtime > _JUST_MADE_S
            ):  # else its writer may be about to lock it
                left.unlink(missing_ok=True)
        except OSError:
            pass
        finally:
            os.close(handle)


def _sync(folder: Path) -> None:
    """Have a folder's entries on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Backup:
    """A backup that is read."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        self.manifest = Manifest.from_json(_manifest(file))

    def check(self, told: Told) -> None:
        """Read every part. Raises DataError where one is missing, is not what was written, or was not written."""
        known = {part.name for part in self.manifest.parts}
        for name in sorted({info.filename for info in self._file.infolist()} - known - {MANIFEST}):
            raise DataError(f"{self.path}: the part {name} is not in the manifest")
        if DUMP not in known:
            raise DataError(f"{self.path} holds no database")
        for part in self.manifest.parts:
            if (its := self._look_at(part, told)) != part:
                raise DataError(
                    f"{self.path}: the part {part.name} is not what was written ({its.bytes} bytes of {part.bytes}, "
                    f"SHA-256 {its.sha256[:12]}… in place of {part.sha256[:12]}…)"
                )

    def _look_at(self, part: Part, told: Told) -> Part:
        digest, size = hashlib.sha256(), 0
        for piece in self.pieces(part.name):
            digest.update(piece)
            size += len(piece)
            told(len(piece))
        return Part(part.name, size, digest.hexdigest())

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a part piece by piece. Raises DataError where it cannot be read."""
        try:
            with self._file.open(name) as source:
                while piece := source.read(_AT_ONCE_B):
                    yield piece
        except (KeyError, zipfile.BadZipFile, EOFError) as error:
            raise DataError(f"{self.path}: the part {name} cannot be read: {error}") from error

    def files(self) -> list[str]:
        """Return the names of the files of the data folder. Raises DataError for one that would lie elsewhere."""
        names = [part.name.removeprefix(DATA) for part in self.manifest.parts if part.name.startswith(DATA)]
        for name in names:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise DataError(f"{self.path}: {name!r} is no file of a data folder")
        return names


@contextmanager
def opened(path: Path) -> Iterator[Backup]:
    """Yield a backup to read. Raises DataError where it is none, or is not whole."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    try:
        file = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is no backup, or broke off while it was written ({error})") from error
    with file:
        yield Backup(path, file)


def _manifest(file: zipfile.ZipFile) -> str:
    try:
        with file.open(MANIFEST) as its:
            return its.read(_MOST_MANIFEST_B).decode()
    except (KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"it is no backup of Ratchet: it has no manifest ({error})") from error
