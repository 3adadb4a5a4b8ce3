"""From one section of a parsed file to its values, key by key; what holds between keys is in `rules.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.settings.key_types import UnfitError
from app.settings.positions import Path, dotted
from app.settings.refusals import Refusals
from app.settings.schema import Key, Section, Shape, homes_of
from app.settings.wording import backticked, nearest, quoted, shown

MAX_TABLES = 200
"""The most entries of one section: a file cannot ask for any amount of work."""


_LIKER_THAN_ELSEWHERE = 0.8
"""How like a key here a name must be to be taken for it, when it is also the name of a key elsewhere."""


@dataclass(frozen=True)
class Entry:
    """One table as far as it could be read.

    `given` holds the keys that the table has, `meant` those that its unknown keys were taken for, and
    `refused` the given ones whose values are wrong. `value` is None when a required key is missing or
    refused.
    """

    path: Path
    title: str
    given: frozenset[str]
    meant: frozenset[str]
    refused: frozenset[str]
    value: Any

    def sets_none_of(self, *keys: str) -> bool:
        """Tell whether the table neither has one of `keys`, nor a key that was taken for one."""
        return (self.given | self.meant).isdisjoint(keys)

    def tells(self, *keys: str) -> bool:
        """Tell whether there is a value, and `keys` in it are as the file has them."""
        return self.value is not None and self.refused.isdisjoint(keys)


Draft = Mapping[str, list[Entry]]
"""The entries of each section, by the section's name."""


def read_section(section: Section, found: object, refusals: Refusals) -> list[Entry]:
    """Return the entries of one section; what is wrong with them goes to `refusals`."""
    if not isinstance(found, list if section.shape is Shape.ARRAY else dict):
        message = f"expected {section.header}, found {_opened_as(section, found)}"
        refusals.add((section.name,), "bad_value", message)
        return []
    if section.shape is Shape.TABLE:
        return [_Table(section, (section.name,), section.header, refusals).read(found)]
    if len(found) > MAX_TABLES:
        message = f"{section.header}: at most {MAX_TABLES} entries, found {len(found)}"
        refusals.add((section.name,), "too_large", message)
        return []
    return [_read_one(section, name, entry, refusals) for name, entry in _named(found)]


def _opened_as(section: Section, found: object) -> str:
    if isinstance(found, list) and found and isinstance(found[0], dict):
        return f"[[{section.name}]]"
    return f"[{section.name}]" if isinstance(found, dict) else shown(found)


def _named(found: Any) -> Iterator[tuple[str | int, object]]:
    return iter(found.items()) if isinstance(found, dict) else enumerate(found)


def _read_one(section: Section, name: str | int, found: object, refusals: Refusals) -> Entry:
    table = _Table(section, (section.name, name), _title(section, name, found), refusals)
    if isinstance(name, str):
        table.choose(name)
    return table.read_value(found) if section.shape is Shape.MAPPING else table.read(found)


def _title(section: Section, name: str | int, found: object) -> str:
    """Return how messages call one of several: `[[suite]] "inference"`, `[[budget]] number 2`."""
    if section.shape is Shape.MAPPING:
        return f"`{dotted((section.name, name))}`"
    if isinstance(name, str):
        return f"[{section.name}.{quoted(name)}]"
    label = found.get(section.labelled_by) if isinstance(found, dict) else None
    return f"{section.header} {quoted(label) if isinstance(label, str) else f'number {name + 1}'}"


class _Table:
    """One entry while it is being read."""

    def __init__(self, section: Section, path: Path, title: str, refusals: Refusals) -> None:
        self._section = section
        self._path = path
        self._title = title
        self._refusals = refusals
        self._given: set[str] = set()
        self._meant: set[str] = set()
        self._refused: set[str] = set()
        self._values: dict[str, Any] = {}

    def choose(self, name: str) -> None:
        """Take the name that the writer chose for the entry."""
        if self._section.chosen:
            self._set(self._section.chosen, name)

    def read_value(self, found: object) -> Entry:
        """Read an entry of a MAPPING: its value stands for the section's one key."""
        self._set(self._section.keys[0], found)
        return self._entry()

    def read(self, found: object) -> Entry:
        """Read a table of fixed keys."""
        if isinstance(found, dict):
            self._read_keys(found)
        else:
            message = f"{self._title}: expected a table, found {shown(found)}"
            self._refusals.add(self._path, "bad_value", message)
        return self._entry()

    def _read_keys(self, table: dict[str, object]) -> None:
        known = {key.name: key for key in self._section.keys}
        for name, found in table.items():
            if name in known:
                self._set(known[name], found, within=(name,))
            else:
                self._refuse_unknown(name)
        for key in self._section.required:
            if key.name not in self._given | self._meant:
                message = f"{self._title} has no `{key.name}`: expected {key.type.wanted}"
                self._refusals.add(self._path, "missing", message)

    def _set(self, key: Key, found: object, within: Path = ()) -> None:
        self._given.add(key.name)
        try:
            self._values[key.attribute] = key.type.read(found)
        except UnfitError as unfit:
            self._refused.add(key.name)
            place = within + unfit.at
            subject = f"`{dotted(place)}` in {self._title}" if place else self._title
            self._refusals.add(self._path + place, "bad_value", f"{subject}: {unfit}")

    def _refuse_unknown(self, name: str) -> None:
        """Refuse a key; if it is a misspelt one, that one is not reported as missing on top."""
        names = [key.name for key in self._section.keys]
        homes = homes_of(name)
        meant = nearest(name, names, likeness=_LIKER_THAN_ELSEWHERE if homes else 0.6)
        if meant:
            self._meant.add(meant)
            hint = f" — did you mean `{meant}`?"
        else:
            hint = f"; it belongs in {homes}" if homes else f"; known keys: {', '.join(names)}"
        message = f"unknown key {backticked(name)} in {self._title}{hint}"
        self._refusals.add((*self._path, name), "unknown_key", message)

    def _entry(self) -> Entry:
        complete = all(key.attribute in self._values for key in self._section.required)
        value = self._section.values(**self._values) if complete else None
        return Entry(
            path=self._path,
            title=self._title,
            given=frozenset(self._given),
            meant=frozenset(self._meant),
            refused=frozenset(self._refused),
            value=value,
        )
