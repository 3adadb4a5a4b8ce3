"""What the forms that issue tokens share."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

SCOPE = "scope "
"""How the fields are called that choose scopes."""


def scopes_in(form: Mapping[str, str]) -> list[str]:
    """Return the scopes that are chosen."""
    return [field.removeprefix(SCOPE) for field in form if field.startswith(SCOPE)]


def days_in(form: Mapping[str, str]) -> int:
    """Return for how many days a token is asked; 0, which is refused, for what is no number."""
    text = form.get("days", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def shown_once(page: Response) -> Response:
    """Return a page with the text of a token, which no browser keeps."""
    page.headers["Cache-Control"] = "no-store"
    return page
