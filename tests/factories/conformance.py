"""Every answer of the API that a test sees is held against what the OpenAPI document says of it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx
from fastapi import FastAPI

from app.api.answers.shape import Answer, kinds
from app.config import ServiceSettings
from app.main import create_app
from app.wiring import Service


@cache
def kind_of(schema: str) -> type[Answer]:
    """Return the kind of answer that a schema of the document describes, by the reference to it."""
    return next(kind for kind in kinds() if kind.__name__ == schema.rpartition("/")[2])


def application() -> FastAPI:
    """Return the application of a service that is nowhere, for its document."""
    settings = ServiceSettings(
        database_url="postgresql://nobody@localhost/none", redis_url="redis://localhost"
    )
    return create_app(Service(settings))


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    its: dict[str, Any] = application().openapi()
    return its


@cache
def _routes() -> list[tuple[str, re.Pattern[str], dict[str, Any]]]:
    found = []
    for path, operations in document()["paths"].items():
        escaped = re.sub(r"\\\{(\w+)\\\}", lambda m: ".+" if m[1] == "project" else "[^/]+", re.escape(path))
        found += [
            (method.upper(), re.compile(escaped), operation) for method, operation in operations.items()
        ]
    return found


def operation_of(request: httpx.Request) -> dict[str, Any] | None:
    """Return what the document says of a request's route; None where it says nothing.

    An address without parameters is nothing else's, whatever the method.
    """
    path, paths = request.url.path, document()["paths"]
    if path in paths:
        found: dict[str, Any] | None = paths[path].get(request.method.lower())
        return found
    return next(
        (its for method, route, its in _routes() if method == request.method and route.fullmatch(path)), None
    )


def check_answer(response: httpx.Response) -> None:
    """Assert that an answer has a status that is documented for its route, and exactly the keys of its schema."""
    operation = operation_of(response.request)
    if operation is None or "fields" in response.request.url.params:
        return
    answers = operation["responses"]
    assert str(response.status_code) in answers, (
        f"{response.request.url}: {response.status_code} is unheard of"
    )
    content = answers[str(response.status_code)].get("content", {}).get("application/json")
    if content is not None:
        kind_of(content["schema"]["$ref"]).model_validate_json(response.read())
