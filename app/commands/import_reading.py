"""The files of `ratchet import`: which there are, of which format, and what each of them says."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from app.commands.import_companions import Companions, DamagedCompanionError
from app.domain.errors import DataError
from app.formats.imported.documents import PreparedDocument, Preparing, Refused
from app.formats.imported.model import Measured, Reading
from app.formats.imported.registry import COMPANIONS, FORMATS, Format, recognise
from app.formats.imported.source import Lines, parse, read_source

_ENDINGS = (".json", ".jsonl", ".ndjson")
_SCRIPT = "data.js"
THE_FILE = "the file"


@dataclass
class ImportFiles:
    """Reads files, or folders with all that are in them; what came of it is counted by format.

    Args:
        paths: files and folders.
        preparing: makes documents of what the files say, and keeps what is refused.
        wanted: the format that all files have; None: each is recognised.
    """

    paths: Sequence[Path]
    preparing: Preparing
    wanted: str | None = None
    formats: Counter[str] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)
    """Files of no known format in a folder, which may well hold others."""
    _companions: Companions = field(default_factory=lambda: Companions(_parsed))

    def read(self, take: Callable[[PreparedDocument], None]) -> None:
        """Read file by file; `take` is given each document that is to be posted, as soon as it is judged."""
        for path, is_named in self._files():
            try:
                with _opened(path) as file:
                    self._read(path, is_named, file, take)
            except DamagedCompanionError:
                continue
            except DataError as error:
                self._refuse(path, str(error))
        damaged = [Refused(str(path), THE_FILE, problem) for path, problem in self._companions.damaged()]
        self.preparing.refused[:0] = damaged

    def _refuse(self, path: Path, problem: str) -> None:
        if path.name in COMPANIONS:
            self._companions.note_damaged(path, problem)
        else:
            self.preparing.refused.append(Refused(str(path), THE_FILE, problem))

    def _files(self) -> Iterator[tuple[Path, bool]]:
        """Yield each file with whether the caller named it."""
        for path in self.paths:
            if not path.is_dir():
                yield path, True
                continue
            for folder, below, names in sorted((str(p), sorted(d), sorted(n)) for p, d, n in _walk(path)):
                del below
                for name in names:
                    if name.endswith(_ENDINGS) or name == _SCRIPT:
                        yield Path(folder, name), False

    def _read(
        self, path: Path, is_named: bool, file: BinaryIO, take: Callable[[PreparedDocument], None]
    ) -> None:
        source = read_source(file)
        name = self._format([source.first] if isinstance(source, Lines) else source)
        if name is None:
            self._note_unknown(path, is_named)
            return
        known = FORMATS[name]
        companions = self._companions.of(path, known.companions)
        self.formats[name] += 1

        def prepare(measured: Measured) -> None:
            self._note_problems(path, reading)
            for document in self.preparing.prepare(str(path), measured):
                take(document)

        reading = Reading(prepare)
        _note(known, companions, source, reading)
        self._note_problems(path, reading)
        self.preparing.left_out += reading.left_out

    def _note_problems(self, path: Path, reading: Reading) -> None:
        self.preparing.refused += [Refused(str(path), place, what, 1) for place, what in reading.problems]
        reading.problems.clear()

    def _format(self, document: Any) -> str | None:
        if self.wanted is None:
            return recognise(document)
        return self.wanted if FORMATS[self.wanted].recognises(document) else None

    def _note_unknown(self, path: Path, is_named: bool) -> None:
        if path.name in COMPANIONS:
            return
        if is_named:
            what = (
                f"it is no {FORMATS[self.wanted].title} file" if self.wanted else "it is of no known format"
            )
            raise DataError(f"{what}; known are {', '.join(FORMATS)}")
        self.unknown.append(str(path))


def _note(known: Format, companions: dict[str, Any], source: Any, reading: Reading) -> None:
    """Have the format note what the file says, line by line where it can."""
    if isinstance(source, Lines) and known.read_one:
        for index, document in enumerate(source):
            known.read_one(document, f"[{index}]", reading)
        return
    known.read(list(source) if isinstance(source, Lines) else source, companions, reading)


def _walk(path: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield the folders from `path` on that are not hidden, each with its folders and files."""
    folders = [path]
    while folders:
        folder = folders.pop()
        inside = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        below = [entry for entry in inside if entry.is_dir() and not entry.is_symlink()]
        yield folder, [entry.name for entry in below], [entry.name for entry in inside if entry.is_file()]
        folders += below


def _parsed(path: Path) -> Any:
    with _opened(path) as file:
        return parse(file)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to be read, from its beginning as often as need be, also what comes out of a pipe."""
    try:
        with path.open("rb") as file:
            if file.seekable():
                yield file
                return
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(file, copy)
                copy.seek(0)
                yield copy
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", code="unreadable") from None
