"""Posted results reach their endpoint without the framework, and nobody sees that they do."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api import results
from app.api.packing import SMALLEST_B
from app.wiring import Service
from tests.factories.application import application
from tests.factories.browser import browser
from tests.factories.posted_results import posted_document, posted_result

pytestmark = pytest.mark.postgres

POST = "/api/v1/results"


@pytest.fixture
def framework(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the framework is asked for."""
    app, asked = application(service), []
    handle = app.router.app

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await handle(scope, receive, send)

    monkeypatch.setattr(app.router, "middleware_stack", noting)
    return asked


def post(client: TestClient, token: str | None, **changed: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return client.post(POST, json=posted_document(**changed), headers=headers)


def test_a_document_is_stored_and_counted_without_the_framework(
    client: TestClient, admin_token: str, framework: list[str]
) -> None:
    stored = post(client, admin_token)
    assert (stored.status_code, stored.headers["content-type"]) == (201, "application/json")
    assert stored.headers["x-request-id"]
    assert framework == []
    counted = client.get("/metrics").text
    assert f'method="POST",route="{POST}",status="201"' in counted
    assert framework == ["/metrics"], "which shows that it is seen"


def test_other_methods_and_other_addresses_are_the_frameworks(
    client: TestClient, framework: list[str]
) -> None:
    assert client.get(POST).status_code == 405
    assert client.post(f"{POST}/", follow_redirects=False).status_code in (307, 404)
    assert framework == [POST, f"{POST}/"]


@pytest.mark.parametrize(("token", "changed", "status"), [(None, {}, 401), ("its", {"commit": 5}, 422)])
def test_what_is_wrong_is_answered_by_the_framework_as_everywhere(
    client: TestClient,
    admin_token: str,
    framework: list[str],
    token: str | None,
    changed: dict[str, Any],
    status: int,
) -> None:
    answer = post(client, token and admin_token, **changed)
    assert answer.status_code == status
    assert {"code", "message"} <= answer.json().keys()
    assert answer.headers["cache-control"] == "no-store"
    assert framework == [POST]


def test_a_fault_of_ours_is_a_500_that_the_log_explains_once(
    service: Service, admin_token: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(results, "ingest_results", fails)
    with caplog.at_level(logging.ERROR):
        answer = post(browser(service), admin_token)
    assert answer.status_code == 500
    assert "of ours" not in answer.text
    assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [ZeroDivisionError]


def test_a_large_answer_is_packed_for_whoever_takes_that(client: TestClient, admin_token: str) -> None:
    many = [posted_result(benchmark=f"bench_{i}") for i in range(60)]
    packed = post(client, admin_token, results=many)
    assert len(packed.content) > SMALLEST_B
    assert packed.headers["content-encoding"] == "gzip"
    client.headers["Accept-Encoding"] = "identity"
    plain = post(client, admin_token, results=many)
    assert "content-encoding" not in plain.headers
    assert plain.json() == packed.json()
