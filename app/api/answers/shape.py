"""How an answer is described: every key with what it means and an example, of which the answer's example is made."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field


def _stays_open(schema: dict[str, Any]) -> None:
    """Say nothing of other keys: a client has to live with those that come later."""
    schema.pop("additionalProperties", None)


def _needs_nothing(schema: dict[str, Any]) -> None:
    _stays_open(schema)
    schema.pop("required", None)


class Answer(BaseModel):
    """An object of an answer. It is strict where a test reads an answer, so that no key goes undescribed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_stays_open)

    @classmethod
    def example(cls) -> dict[str, Any]:
        """Return an example: of every key its own."""
        return {
            name: field.examples[0] if field.examples else _example(field.annotation)
            for name, field in cls.model_fields.items()
        }


class Selected(Answer):
    """An object of which a caller may choose keys with `fields`, so that none has to be there."""

    model_config = ConfigDict(json_schema_extra=_needs_nothing)


def told(description: str, *example: Any) -> Any:
    """Return a key of an answer: what it means, and an example; an object that is described itself needs none."""
    return Field(description=description, examples=list(example) or None)


def maybe(description: str, *example: Any) -> Any:
    """Return a key that not every such object has."""
    return Field(None, description=description, examples=list(example) or None)


def kinds(below: type[Answer] = Answer) -> Iterator[type[Answer]]:
    """Yield every kind of object that is described."""
    for kind in below.__subclasses__():
        yield kind
        yield from kinds(kind)


def _example(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Answer):
        return annotation.example()
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is list:
        return [_example(inner[0])]
    if origin in (Union, UnionType):
        return _example(inner[0])
    raise TypeError(f"{annotation} needs an example")


class Listed(Answer):
    """A page of a list."""

    more: bool = told("Whether the list goes on.", True)
    next: str | None = told(
        "What `cursor` has to be for the next page; null on the last one.", "c2VyaWVzOjM0"
    )
