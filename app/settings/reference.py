"""The tables of keys in `docs/settings.md`, from the schema.

A document marks where a section's table belongs: `<!-- keys: suite -->` before it, `<!-- end -->` after it.
Run as a filter, this module brings a document up to date:

    python -m app.settings.reference < docs/settings.md
"""

from __future__ import annotations

import re
import sys

from app.settings.key_types import EFFECT
from app.settings.schema import REQUIRED, SECTIONS, Key, Section, Shape
from app.settings.wording import shown

_PLACE = re.compile(r"(<!-- keys: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(document: str) -> str:
    """Return a Markdown document with the table of each marked section in its place."""
    sections = {section.name: section for section in SECTIONS}
    return _PLACE.sub(lambda place: f"{place[1]}{key_table(sections[place[2]])}{place[3]}", document)


def key_table(section: Section) -> str:
    """Return a Markdown table of a section's keys: name, type, default, meaning."""
    keys = (section.chosen, *section.keys) if section.chosen else section.keys
    rows = [("Key", "Type", "Default", "Meaning"), ("---",) * 4, *(_row(section, key) for key in keys)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def default_text(section: Section, key: Key) -> str:
    """Return what stands for a key that is left out, as the documentation says it."""
    default = section.default(key)
    if default is REQUIRED:
        return "required"
    if key.absent:
        return key.absent
    return f"`{_written(default, is_effect=key.type is EFFECT)}`"


def _row(section: Section, key: Key) -> tuple[str, str, str, str]:
    name = f"*{key.name}*" if key is section.chosen or section.shape is Shape.MAPPING else f"`{key.name}`"
    return name, key.type.label, default_text(section, key), key.meaning


def _written(value: object, *, is_effect: bool) -> str:
    if is_effect and isinstance(value, float):
        return f'"{value * 100:g}%"'
    if isinstance(value, tuple):
        return f"[{', '.join(shown(element) for element in value)}]"
    return f"{value:g}" if isinstance(value, float) else shown(value)


if __name__ == "__main__":
    sys.stdout.write(fill(sys.stdin.read()))
