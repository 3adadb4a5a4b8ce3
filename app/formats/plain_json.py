"""Plain values as JSON; what the database wrote as JSON already is handed on as it is.

A trend has thousands of texts that nobody looks at on their way: to read them only to write them again takes longer
than all else that is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import orjson
from pydantic_core import from_json, to_json


class WrittenTexts(Sequence[str]):
    """Texts that are written as a JSON array, and read once somebody asks for one of them."""

    def __init__(self, written: str, n: int) -> None:
        """Hold an array of `n` texts."""
        self.written, self._n = written, n

    def __len__(self) -> int:
        """Return how many they are."""
        return self._n

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...

    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        """Return one text, or some."""
        return self._texts[at]

    @cached_property
    def _texts(self) -> list[str]:
        texts: list[str] = from_json(self.written)
        return texts


def plain_json(document: Any) -> bytes:
    """Return the document in UTF-8; what is not finite is null.

    Raises ValueError for text that UTF-8 cannot hold, and for what is no plain value.
    """
    try:
        return orjson.dumps(document, default=_plain)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits may be in it
        return to_json(document, inf_nan_mode="null", fallback=_listed)


def _plain(value: object) -> object:
    return orjson.Fragment(value.written) if isinstance(value, WrittenTexts) else _listed(value)


def _listed(value: object) -> list[Any]:
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise TypeError(f"{type(value).__name__} is no plain value")
    return list(value)
