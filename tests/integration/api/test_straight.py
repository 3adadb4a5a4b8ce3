"""Posted results, and questions that are an address alone, reach endpoints without the framework; nobody sees it."""

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


@pytest.fixture
def trend(client: TestClient, admin_token: str) -> str:
    """The address of a series' trend, which the client may read."""
    stored = post(client, admin_token).json()
    client.headers["Authorization"] = f"Bearer {admin_token}"
    return f"/api/v1/series/{stored['series'][0]['id']}/trend"


def test_a_question_that_is_an_address_alone_is_answered_without_the_framework(
    client: TestClient, trend: str, framework: list[str]
) -> None:
    answer = client.get(trend)
    assert framework == []
    assert answer.headers["etag"]
    more = f"{trend}?columns=1000"
    assert answer.json() == client.get(more).json()
    assert framework == [trend], "what is asked for in a query is the framework's"
    again = client.get(trend, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert 'route="/api/v1/series/{series_id}/trend",status="304"' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/api/v1/series/0/trend", 422),
        (f"/api/v1/series/{2**63}/trend", 422),
        ("/api/v1/series/1234567/trend", 404),
        ("/api/v1/series/one/trend", 422),
        ("/api/v1/series/{series_id}/trend", 422),
        ("/api/v1/series/7/8/trend", 404),
    ],
)
def test_what_is_wrong_with_an_address_is_answered_as_everywhere(
    client: TestClient, admin_token: str, framework: list[str], address: str, status: int
) -> None:
    client.headers["Authorization"] = f"Bearer {admin_token}"
    answer = client.get(address)
    assert (answer.status_code, len(framework)) == (status, 1)
    assert answer.json()["code"]


def test_a_stranger_is_told_that_whatever_the_address(
    client: TestClient, trend: str, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.settings, "anonymous_read", False)
    del client.headers["Authorization"]
    for address in (trend, "/api/v1/series/1234567/trend", "/api/v1/series/0/trend"):
        assert client.get(address).status_code == 401


def test_the_framework_has_the_same_route_for_whatever_is_reached_so(
    client: TestClient, service: Service, framework: list[str]
) -> None:
    for (method, path), route in application(service).reachable.items():
        its = path.replace("/0", "/7")
        status = client.request(method, f"{its}?asked=more").status_code
        assert framework[-1] == its
        assert f'method="{method}",route="{route.path}",status="{status}"' in client.get("/metrics").text


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
