"""How a route is described: what it answers, what its body is, and which errors it has of its own."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from app.api.answers.errors import MEANING, ErrorAnswer
from app.api.answers.shape import Answer

ALWAYS = (401, 403, 422, 503)
"""Errors that every route may answer with."""

ERROR = {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}
"""`app.api.document` adds the schema."""

Description = dict[str, Any]
Responses = dict[int | str, Description]


def answers(kind: type[Answer], *errors: int, status: int = 200) -> Responses:
    """Return the `responses` of a route whose answer is of this kind."""
    found: Responses = {status: {"model": kind, "description": first_line(kind)}}
    return found | failures(*errors)


def page(description: str, *errors: int, media_type: str = "") -> Responses:
    """Return the `responses` of a route whose answer is no JSON, with all of its errors."""
    answer: Description = {"description": description}
    content: Description = {"content": {media_type: {}}} if media_type else {}
    return {200: answer | content, **{status: failure(status) for status in errors}}


def failures(*errors: int) -> Responses:
    """Return the errors of a route: those that every one has, and these."""
    return {status: failure(status) for status in sorted({*ALWAYS, *errors})}


def failure(status: int) -> Description:
    """Return what is answered with the status of an error, whatever else a route answers with."""
    return {"description": MEANING[status], "content": {"application/json": {"schema": ERROR}}}


def takes(kind: type[BaseModel], example: Any, media_type: str = "application/json") -> Description:
    """Return the `openapi_extra` of a route whose body is read by hand; `app.api.document` adds the kind's schema."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    content = {media_type: {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def first_line(kind: type[BaseModel]) -> str:
    """Return what a kind of object is, in a sentence."""
    return (kind.__doc__ or kind.__name__).strip().partition("\n")[0]
