"""What is missing of a comparison that somebody asked for with half of its form filled."""

from __future__ import annotations

from app.reports.words import listing


def missing_side(project: str, base: str, head: str) -> str:
    """Return what has to be said before anything is compared; nothing where nothing was asked for, or all was."""
    if not (base or head) or (project and base and head):
        return ""
    sides = (("a project", project), ("a base", base), ("a head", head))
    return f"Choose {listing([name for name, given in sides if not given])}, too."
