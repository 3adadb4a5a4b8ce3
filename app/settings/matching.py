"""Globs on device classes."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def matching_classes(globs: Iterable[str], classes: Iterable[str]) -> tuple[str, ...]:
    """Return the device classes that at least one glob matches, each once, in the order given.

    Globs are the shell's (`*`, `?`, `[…]`), match the whole name and tell upper from lower case.
    """
    patterns = tuple(globs)
    matched = (name for name in classes if any(fnmatchcase(name, pattern) for pattern in patterns))
    return tuple(dict.fromkeys(matched))
