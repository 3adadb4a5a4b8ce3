"""Methods: `HEAD` wherever `GET` is, and a 405 that names what the address takes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/checks", "/alerts", "/openapi.json", "/nowhere"])
def test_head_is_answered_as_get_without_a_body(client, admin_token, path: str):
    headers = {"Authorization": f"Bearer {admin_token}"}
    got = client.get(path, headers=headers, follow_redirects=False)
    head = client.head(path, headers=headers, follow_redirects=False)
    assert head.status_code == got.status_code
    assert head.content == b""
    for name in ("content-type", "content-length", "etag", "location"):
        assert head.headers.get(name) == got.headers.get(name), name


def test_head_is_counted_by_its_own_name_at_its_own_route(client):
    assert client.head("/healthz").status_code == 200
    counted = [line for line in client.get("/metrics").text.splitlines() if 'method="HEAD"' in line]
    assert any('route="/healthz"' in line for line in counted), counted


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/checks", "GET, HEAD, POST"),
        ("PUT", "/api/v1/alerts", "GET, HEAD, POST"),
        ("GET", "/api/v1/results", "POST"),
        ("HEAD", "/api/v1/results", "POST"),
        ("DELETE", "/alerts", "GET, HEAD, POST"),
        ("POST", "/api/v1/alerts/quality", "GET, HEAD"),
    ],
)
def test_405_names_all_methods_of_the_address(client, method: str, path: str, allowed: str):
    response = client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
