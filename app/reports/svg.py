"""The one piece of SVG that every picture needs: a label at a place."""

from __future__ import annotations

from markupsafe import Markup


def text(x: int, y: int, words: str, anchor: str = "") -> Markup:
    """Return a label whose start, middle (`mid`) or end (`end`) is at `x`, its base line at `y`."""
    if not anchor:
        return Markup('<text x="{}" y="{}">{}</text>').format(x, y, words)
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(anchor, x, y, words)
