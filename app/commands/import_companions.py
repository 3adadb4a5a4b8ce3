"""Files that go with others, as asv's `benchmarks.json` does with every result of a tree: each is read once.

One that is damaged keeps out all that it goes with, as what it would have told can only be guessed, such as names of
parameters and which results are outdated. It is told once, with how many files those are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from app.domain.errors import DataError
from app.formats.imported.wording import counted
from app.formats.problems import shown


class DamagedCompanionError(Exception):
    """A file goes with one that cannot be read."""


class Companions:
    """The files that go with others. `load` returns the content of one, or raises DataError."""

    def __init__(self, load: Callable[[Path], Any]) -> None:
        self._load = load
        self._contents: dict[Path, Any] = {}
        self._damaged: dict[Path, tuple[Path, str]] = {}
        self._kept_out: Counter[Path] = Counter()

    def of(self, path: Path, names: Sequence[str]) -> dict[str, Any]:
        """Return by name what goes with a file, beside it or else one folder up; what there is none of is left out.

        Raises:
            DamagedCompanionError: one of them is damaged, which is noted.
        """
        places = {name: place for name in names if (place := _place(path, name))}
        found = {name: self._content(place) for name, place in places.items()}
        damaged = [place.absolute() for place in places.values() if place.absolute() in self._damaged]
        if damaged:
            self._kept_out[damaged[0]] += 1
            raise DamagedCompanionError
        return found

    def note_damaged(self, place: Path, problem: str) -> None:
        """Take note of one that cannot be read; the first problem of each is told."""
        self._damaged.setdefault(place.absolute(), (place, problem))

    def damaged(self) -> Iterator[tuple[Path, str]]:
        """Yield each that cannot be read, with what is wrong with it and how many files it keeps out."""
        for place, (path, problem) in self._damaged.items():
            n = self._kept_out[place]
            yield path, f"{problem}; {counted(n, 'file')} that it goes with stayed out" if n else problem

    def _content(self, place: Path) -> Any:
        key = place.absolute()
        if key not in self._contents and key not in self._damaged:
            self._forget(place.name)
            try:
                self._contents[key] = _object(self._load(place))
            except DataError as error:
                self.note_damaged(place, str(error))
        return self._contents.get(key)

    def _forget(self, name: str) -> None:
        """Let go of files of this name: those that need the same one follow each other."""
        self._contents = {place: found for place, found in self._contents.items() if place.name != name}


def _place(path: Path, name: str) -> Path | None:
    folders = [path.parent, Path(os.path.normpath(path.parent / ".."))]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _object(found: Any) -> Any:
    if not isinstance(found, dict):
        raise DataError(f"it is {shown(found)}; expected an object", code="bad_json")
    return found
