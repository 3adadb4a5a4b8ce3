"""The files of `ratchet import`: which there are, of which format, and what each of them says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.domain.errors import DataError
from app.formats.imported.documents import PreparedDocument, Preparing, Refused
from app.formats.imported.registry import COMPANIONS, FORMATS, parse, recognise

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
    _companions: dict[Path, Any] = field(default_factory=dict)

    def documents(self) -> Iterator[PreparedDocument]:
        """Yield what is to be posted, file by file."""
        for path, is_named in self._files():
            try:
                yield from self._read(path, is_named)
            except DataError as error:
                self.preparing.refused.append(Refused(str(path), THE_FILE, str(error)))

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

    def _read(self, path: Path, is_named: bool) -> Iterator[PreparedDocument]:
        document = parse(_bytes(path))
        name = self._format(document)
        if name is None:
            self._note_unknown(path, is_named)
            return
        self.formats[name] += 1
        known = FORMATS[name]
        reading = known.read(document, {other: self._companion(path, other) for other in known.companions})
        self.preparing.refused += [Refused(str(path), place, what, 1) for place, what in reading.problems]
        self.preparing.left_out += reading.left_out
        for measured in reading.measured:
            yield from self.preparing.prepare(str(path), measured)

    def _format(self, document: Any) -> str | None:
        if self.wanted is None:
            return recognise(document)
        return self.wanted if FORMATS[self.wanted].recognises(document) else None

    def _note_unknown(self, path: Path, is_named: bool) -> None:
        if is_named:
            what = (
                f"it is no {FORMATS[self.wanted].title} file" if self.wanted else "it is of no known format"
            )
            raise DataError(f"{what}; known are {', '.join(FORMATS)}")
        if path.name not in COMPANIONS:
            self.unknown.append(str(path))

    def _companion(self, path: Path, name: str) -> Any:
        """Return the content of a file that goes with another: beside it, else one folder up; None without one."""
        places = [folder / name for folder in (path.parent, path.parent.parent)]
        place = next((place for place in places if place.is_file()), None)
        if place is None:
            return None
        if place not in self._companions:
            try:
                self._companions[place] = parse(_bytes(place))
            except DataError as error:
                self._companions[place] = None
                self.preparing.refused.append(Refused(str(place), THE_FILE, str(error)))
        return self._companions[place]


def _walk(path: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield the folders from `path` on that are not hidden, each with its folders and files."""
    folders = [path]
    while folders:
        folder = folders.pop()
        inside = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        below = [entry for entry in inside if entry.is_dir() and not entry.is_symlink()]
        yield folder, [entry.name for entry in below], [entry.name for entry in inside if entry.is_file()]
        folders += below


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", code="unreadable") from None
