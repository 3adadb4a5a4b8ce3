"""A machine's fingerprint as people read it: flat text pairs, grouped by what a change in them would mean.

Two of them are told apart fact by fact: what is new, gone or changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from app.domain.units import format_quantity

_TITLES = {
    "machine": "Machine: a change here begins an epoch",
    "identity": "Identity",
    "soft": "Recorded, may move from run to run",
}
_SOFT = "soft"
PACKAGES = "Packages"
_UNITS = {"b": "B", "s": "s", "w": "W", "hz": "Hz"}
"""The unit that the last part of a name stands for."""


@dataclass(frozen=True)
class FactGroup:
    """Facts of one kind, as name and value."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FactChange:
    """One fact that two fingerprints do not share; None where one of them does not tell it."""

    name: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> Literal["new", "gone", "changed"]:
        """What happened to it."""
        if self.before is None:
            return "new"
        return "gone" if self.after is None else "changed"


@dataclass(frozen=True)
class ChangeGroup:
    """Facts of one kind that differ; those that `may_move` do so from run to run on the same machine."""

    title: str
    may_move: bool
    changes: tuple[FactChange, ...]


def fact_changes(
    before: dict[str, Any], after: dict[str, Any], packages: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
) -> tuple[ChangeGroup, ...]:
    """Return what differs between two fingerprints, by parts, and then between their packages; nothing if alike."""
    groups = [
        ChangeGroup(_TITLES[part], part == _SOFT, tuple(_changes(_part(before, part), _part(after, part))))
        for part in _TITLES
    ]
    groups.append(ChangeGroup("Other", False, tuple(_changes(_rest(before), _rest(after)))))
    groups.append(ChangeGroup(PACKAGES, False, tuple(_changes(*packages))))
    return tuple(group for group in groups if group.changes)


def _part(fingerprint: dict[str, Any], name: str) -> dict[str, Any]:
    part = fingerprint.get(name)
    return part if isinstance(part, dict) else {}


def _rest(fingerprint: dict[str, Any]) -> dict[str, Any]:
    """Return what a fingerprint has besides its parts."""
    parts = {key for key in _TITLES if isinstance(fingerprint.get(key), dict)}
    return {key: value for key, value in fingerprint.items() if key not in {*parts, "unavailable"}}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterable[FactChange]:
    old, new = dict(_leaves(before)), dict(_leaves(after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield _change(name, old.get(name), new.get(name))


def _change(name: str, before: Any, after: Any) -> FactChange:
    """Return the change as people read it; where that would look the same on both sides, as it was told."""
    title = _fact(name, after if before is None else before)[0]
    told = [None if value is None else _fact(name, value)[1] for value in (before, after)]
    if told[0] == told[1]:
        told = [str(before), str(after)]
    return FactChange(title, *told)


def fact_groups(fingerprint: dict[str, Any]) -> tuple[FactGroup, ...]:
    """Return the parts of a fingerprint in their order; what it has besides them comes last.

    What the machine does not tell is named once, under its own title.
    """
    parts = {key: fingerprint[key] for key in _TITLES if isinstance(fingerprint.get(key), dict)}
    groups = [FactGroup(_TITLES[key], tuple(_flat(value))) for key, value in parts.items()]
    groups.append(FactGroup("Other" if groups else "Facts", tuple(_flat(_rest(fingerprint)))))
    unavailable = ", ".join(map(_words, fingerprint.get("unavailable", [])))
    groups.append(FactGroup("Not told by this machine", (("missing", unavailable),) if unavailable else ()))
    return tuple(group for group in groups if group.facts)


def readable(name: str, text: str) -> tuple[str, str]:
    """Return one fact of a flattened fingerprint (`machine.memory_b`, `25276502016`) as people read it."""
    stem = name.split(".", 1)[1] if name.split(".")[0] in _TITLES else name
    try:
        return _fact(stem, float(text))
    except ValueError:
        return _words(stem), _words(text) if stem == "unavailable" else text


def _flat(value: dict[str, Any]) -> Iterable[tuple[str, str]]:
    for name, inner in _leaves(value):
        yield _fact(name, inner)


def _leaves(value: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield what is told, with the names that lead to it joined by dots."""
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(inner, dict):
            yield from _leaves(inner, name)
        elif inner not in (None, "", []):
            yield name, inner


def _fact(name: str, value: Any) -> tuple[str, str]:
    stem, _, suffix = name.rpartition("_")
    if stem and suffix in _UNITS and isinstance(value, int | float) and not isinstance(value, bool):
        return _words(stem), format_quantity(value, _UNITS[suffix])
    if isinstance(value, bool):
        return _words(name), "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return _words(name), str(int(value))
    return _words(name), ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _words(name: str) -> str:
    """Return a name of ours as words; a variable's name in capitals stays as it is."""
    return name.replace("_", " ") if name.islower() else name
