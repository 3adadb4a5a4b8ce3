"""Addresses of pages with what is chosen on them: they can be kept and sent to others."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode


def address(path: str, chosen: Mapping[str, object]) -> str:
    """Return the path with what is chosen; what is empty or None is left out."""
    told = {name: value for name, value in chosen.items() if value not in ("", None)}
    return f"{path}?{urlencode(told)}" if told else path
