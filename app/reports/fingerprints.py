"""A machine's fingerprint as people read it: flat text pairs, grouped by what a change in them would mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.domain.units import format_quantity

_TITLES = {
    "machine": "Machine: a change here begins an epoch",
    "identity": "Identity",
    "soft": "Recorded, may move from run to run",
}
_UNITS = {"b": "B", "s": "s", "w": "W", "hz": "Hz"}
"""The unit that the last part of a name stands for."""


@dataclass(frozen=True)
class FactGroup:
    """Facts of one kind, as name and value."""

    title: str
    facts: tuple[tuple[str, str], ...]


def fact_groups(fingerprint: dict[str, Any]) -> tuple[FactGroup, ...]:
    """Return the parts of a fingerprint in their order; what it has besides them comes last.

    What the machine does not tell is named once, under its own title.
    """
    parts = {key: fingerprint[key] for key in _TITLES if isinstance(fingerprint.get(key), dict)}
    rest = {key: value for key, value in fingerprint.items() if key not in {*parts, "unavailable"}}
    groups = [FactGroup(_TITLES[key], tuple(_flat(value))) for key, value in parts.items()]
    groups.append(FactGroup("Other" if groups else "Facts", tuple(_flat(rest))))
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


def _flat(value: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(inner, dict):
            yield from _flat(inner, name)
        elif inner not in (None, "", []):
            yield _fact(name, inner)


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
