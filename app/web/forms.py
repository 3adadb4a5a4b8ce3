"""What forms share: how their fields are read, and those that issue tokens."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response

from app.domain.errors import DataError

SCOPE = "scope "
"""How the fields are called that choose scopes."""

_DIGITS = 18
"""No number of ours has more."""


def scopes_in(form: Mapping[str, str]) -> list[str]:
    """Return the scopes that are chosen."""
    return [field.removeprefix(SCOPE) for field in form if field.startswith(SCOPE)]


def days_in(form: Mapping[str, str]) -> int:
    """Return for how many days a token is asked; 0, which is refused, for what is no number."""
    return whole_in(form.get("days", "")) or 0


def whole_in(text: str) -> int | None:
    """Return the whole number that a text is, None for what is none of ours."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def text_in(form: Mapping[str, str], name: str) -> str:
    """Return what is typed in a field. Raises DataError for what cannot be stored."""
    text = form.get(name, "")
    if "\x00" in text:
        raise DataError(f"the {name} has a character that cannot be stored: type it again")
    return text


def shown_once(page: Response) -> Response:
    """Return a page with the text of a token, which no browser keeps."""
    page.headers["Cache-Control"] = "no-store"
    return page
