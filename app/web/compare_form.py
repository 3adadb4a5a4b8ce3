"""What is missing of a comparison that somebody asked for with half of its form filled."""

from __future__ import annotations

from app.reports.words import listing


def missing_side(project: str, base: str, head: str, *device_classes: str) -> str:
    """Return what has to be said before anything is compared; nothing where nothing was asked for, or all was."""
    sides = (("a project", project), ("a base", base), ("a head", head))
    missing = [name for name, given in sides if not given]
    if not missing or not any((base, head, *device_classes)):
        return ""
    return f"Choose {listing(missing)}, too."
