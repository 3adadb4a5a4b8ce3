"""What the forms that issue tokens share."""

from __future__ import annotations

from collections.abc import Mapping

SCOPE = "scope "
"""How the fields are called that choose scopes."""


def scopes_in(form: Mapping[str, str]) -> list[str]:
    """Return the scopes that are chosen."""
    return [field.removeprefix(SCOPE) for field in form if field.startswith(SCOPE)]


def days_in(form: Mapping[str, str]) -> int:
    """Return for how many days a token is asked; 0, which is refused, for what is no number."""
    text = form.get("days", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
