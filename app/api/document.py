"""The OpenAPI document: what FastAPI knows of the routes, and what it cannot know.

That is who may ask, bodies that are read by hand, and which answers a client may have already. The agents' protocol and
the forge's door are none of it: docs/protocol.md, docs/github.md.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from app.api.alerts import AnswerBody, BulkAnswerBody, MissedBody
from app.api.answers.errors import MEANING, ErrorAnswer
from app.api.answers.results import PostedDocument
from app.api.answers.shape import kinds
from app.api.checks import PostedCheck
from app.api.notifiers import ChangedNotifier, PostedNotifier
from app.api.projects import PostedMeasure

BY_HAND = (
    *(ErrorAnswer, PostedCheck, PostedDocument, PostedMeasure),
    *(AnswerBody, BulkAnswerBody, MissedBody),
    *(PostedNotifier, ChangedNotifier),
)
"""What routes refer to without FastAPI knowing of it."""

ABOUT = """\
Performance numbers of commits: post them, ask for checks, read series, changes and verdicts back.

Values are in base units, times in UTC (ISO 8601); a number that does not exist is null. Errors are
`{code, message, errors?}`. A list has `more` and `next`, which is the `cursor` of its next page. An answer to GET has
an `ETag`: with `If-None-Match` it is sent once. Keys may come to an answer, none leaves.
"""

TAGS = {
    "series": "Stored numbers: series, points, trends, and two commits compared.",
    "changes": "Where series changed.",
    "alerts": "What is worse and waits for somebody.",
    "export": "Histories as documents to post elsewhere.",
    "checks": "Base against head of one change.",
    "results": "Numbers that other programs measured.",
    "runs": "Where numbers come from.",
    "devices": "What is measured on.",
    "projects": "Repositories that are connected.",
    "notifiers": "Who is told of a project's alerts.",
    "badges": "Pictures for a README.",
    "bundles": "Commits that no agent could fetch otherwise.",
    "health": "For machines that look after the service.",
}

STORED = "/api/v1/"
"""Where all that is read is told by routes that know what a client has."""

_OPEN = {"health"}
_READ: list[dict[str, list[str]]] = [{"token": []}, {}]
"""Reading may be open to all (RATCHET_ANONYMOUS_READ)."""


def operation_id(route: APIRoute) -> str:
    """Return what a program that is made from the document calls a route: `series_get_points`."""
    return "_".join([*map(str, route.tags[:1]), route.name])


def describe(app: FastAPI) -> None:
    """Have the application tell our document."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    document = get_openapi(
        title="Ratchet", version=app.version, description=ABOUT, routes=app.routes, tags=tags
    )
    components = document["components"]
    _, bodies = models_json_schema(
        [(kind, "validation") for kind in BY_HAND], ref_template="#/components/schemas/{model}"
    )
    components["schemas"] |= bodies.get("$defs", {})
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    components["parameters"] = {"if_none_match": _IF_NONE_MATCH}
    examples = {kind.__name__: kind.example() for kind in kinds()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(operation, examples, is_read=method == "get" and path.startswith(STORED))
    return document


_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of an answer that the client has: 304 where it would be the same.",
    "schema": {"type": "string"},
}


def _complete(operation: dict[str, Any], examples: dict[str, Any], *, is_read: bool) -> None:
    operation["summary"] = operation["description"].partition(".\n")[0].partition("; ")[0].rstrip(".")
    if operation["tags"][0] not in _OPEN:
        operation["security"] = _READ if is_read else [{"token": []}]
    if is_read:
        operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/if_none_match"})
        operation["responses"]["304"] = {"description": MEANING[304]}
    for answer in operation["responses"].values():
        for content in answer.get("content", {}).values():
            if reference := content.get("schema", {}).get("$ref"):
                content["schema"] = {"$ref": reference}
                # Not told to FastAPI, which would leave out what is null.
                content["example"] = examples[reference.rpartition("/")[2]]
