"""Documents of results from elsewhere, as programs post them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from app.services.access import Scope, issue_token
from app.store.repositories import projects
from app.wiring import Service


def posted_result(
    benchmark: str = "resize", values: Iterable[float] = (1.0, 1.2, 1.1), **fields: Any
) -> dict[str, Any]:
    """Return one result: by default a latency in milliseconds."""
    result = {
        "benchmark": benchmark,
        "params": {"batch": 32},
        "metric": "latency_p50",
        "unit": "ms",
        "better": "lower",
        "values": list(values),
    }
    return result | fields


def posted_document(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a document of these results, or of one if none is given."""
    document = {
        "project": "acme/vision",
        "commit": "c" * 40,
        "branch": "main",
        "device_class": "cpu-test-2t",
        "environment": {"kernel": "6.8.0"},
        "results": list(results) or [posted_result()],
    }
    return document | fields


def post_results(
    client: TestClient, token: str, document: dict[str, Any], key: str | None = None
) -> Response:
    """Post the document, under the key if one is given."""
    headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key is not None else {})
    return client.post("/api/v1/results", json=document, headers=headers)


def bound_token(service: Service, project: str, *scopes: Scope) -> str:
    """Return a token for one project, which is made if it is new."""
    with service.database.session() as session:
        row = projects.project(session, project)
        return issue_token(session, f"bound to {project}", list(scopes), project_id=row.id)
