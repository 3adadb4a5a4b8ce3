"""Field selection: `fields=a,b` has only these keys told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.api.answers.shape import Answer
from app.domain.errors import PayloadError, Problem
from app.formats.problems import did_you_mean, shown


class Selection:
    """The keys of a kind of object that a caller wants."""

    def __init__(self, kind: type[Answer], fields: str | None) -> None:
        """Take note of the wanted keys. Raises PayloadError where an object of this kind has no such key."""
        names = None if fields is None else [name.strip() for name in fields.split(",")]
        unknown = next((name for name in names or () if name not in kind.model_fields), None)
        if unknown is not None:
            what = f"there is no field {shown(unknown)}; {did_you_mean(unknown, kind.model_fields)}"
            raise PayloadError([Problem("query.fields", "unknown_field", what)], code="bad_parameters")
        self._names = names

    def of(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return of an object what is wanted."""
        if self._names is None:
            return dict(document)
        return {name: document[name] for name in self._names if name in document}
