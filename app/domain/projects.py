"""Projects by their names, which stand in addresses."""

from __future__ import annotations


def stands_in_addresses(name: str) -> bool:
    """Tell whether an address keeps a project's name as it is: programs follow parts `.` and `..` themselves."""
    return not {".", ".."}.intersection(name.split("/"))
