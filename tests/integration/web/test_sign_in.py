"""Who may look at the pages, and how they come in."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.services.access import Scope, issue_token
from app.store.tables import BrowserSession
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser

pytestmark = pytest.mark.postgres

PAGES = [
    "/",
    "/checks/1",
    "/checks/1/report",
    "/alerts",
    "/alerts/1",
    "/series",
    "/series/1",
    "/compare",
    "/benchmarks",
    "/commits/1234567",
    "/runs",
    "/runs/1",
    "/runs/upload-1",
    "/workers",
    "/weekly",
    "/weekly/2026-W47",
    "/health",
    "/measure/1",
    "/me",
    "/projects/acme/vision/access",
    "/projects/acme/vision/notifiers",
]


@pytest.fixture
def stranger(service: Service) -> TestClient:
    return browser(service)


def sign_in(client: TestClient, token: str, **fields: str) -> object:
    return client.post("/sign-in", data={"token": token, **fields}, headers=SAME_ORIGIN)


def test_stranger_is_led_to_the_sign_in_page(stranger: TestClient) -> None:
    answers = {path: stranger.get(path) for path in PAGES}
    assert {answer.status_code for answer in answers.values()} == {303}
    wanted = {path: "/sign-in" if path == "/" else f"/sign-in?next={path}" for path in PAGES}
    assert {path: answer.headers["location"] for path, answer in answers.items()} == wanted


def test_way_back_keeps_its_query(stranger: TestClient) -> None:
    answer = stranger.get("/?project=acme/vision&live=0")
    assert answer.headers["location"] == "/sign-in?next=/%3Fproject%3Dacme/vision%26live%3D0"
    page = Page(stranger.get(answer.headers["location"]).text)
    assert (
        "input",
        {"type": "hidden", "name": "next", "value": "/?project=acme/vision&live=0"},
    ) in page.elements


def test_everyone_reads_where_reading_is_open(service: Service) -> None:
    service.settings.anonymous_read = True
    client = browser(service)
    for path in ("/", "/series", "/runs", "/workers", "/health"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "Sign in" in Page(answer.text).text


def test_right_token_opens_the_pages_and_leads_on(stranger: TestClient, admin_token: str) -> None:
    answer = sign_in(stranger, f"  {admin_token}\n", next="/runs?before=7")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?before=7")
    assert stranger.get("/runs").status_code == 200
    assert "admin Sign out" in Page(stranger.get("/").text).text


def test_cookie_is_out_of_reach_for_scripts_and_other_sites(stranger: TestClient, admin_token: str) -> None:
    cookie = sign_in(stranger, admin_token).headers["set-cookie"]
    assert cookie.startswith("ratchet_session=")
    assert "; HttpOnly" in cookie
    assert "; SameSite=lax" in cookie
    assert "; Path=/" in cookie
    assert "Secure" not in cookie
    assert "Domain" not in cookie


def test_cookie_over_https_is_bound_to_the_host(service: Service, admin_token: str) -> None:
    client = browser(service, address="https://testserver")
    cookie = sign_in(client, admin_token).headers["set-cookie"]
    assert cookie.startswith("__Host-ratchet_session=")
    assert "; Secure" in cookie
    answer = client.get("/runs")
    assert answer.status_code == 200
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_cookie_is_secure_behind_a_proxy_that_speaks_https(service: Service, admin_token: str) -> None:
    service.settings.public_url = "https://ratchet.example"
    assert "; Secure" in sign_in(browser(service), admin_token).headers["set-cookie"]


@pytest.mark.parametrize(
    "token", ["", "nonsense", "ratchet_0123456789ab_" + "0" * 64, "ratchet_a_b_c", "é\x00"]
)
def test_wrong_token_is_told_and_opens_nothing(stranger: TestClient, token: str) -> None:
    answer = sign_in(stranger, token, next="/runs")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    page = Page(answer.text)
    assert "token" in page.text
    assert ("input", {"type": "hidden", "name": "next", "value": "/runs"}) in page.elements
    assert token == "" or token not in answer.text
    assert stranger.get("/runs").status_code == 303


def test_token_that_may_not_read_is_told_so(stranger: TestClient, worker_token: str) -> None:
    answer = sign_in(stranger, worker_token)
    assert answer.status_code == 401
    assert "may not read results" in Page(answer.text).text


def test_nobody_is_sent_elsewhere(stranger: TestClient, admin_token: str) -> None:
    for target in ("https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example"):
        form = Page(stranger.get("/sign-in", params={"next": target}).text)
        assert ("input", {"type": "hidden", "name": "next", "value": "/"}) in form.elements
        assert sign_in(stranger, admin_token, next=target).headers["location"] == "/"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://testserver"},
        {"Sec-Fetch-Site": "none"},
    ],
)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
def test_form_from_elsewhere_is_refused(
    reader: TestClient, admin_token: str, path: str, headers: dict[str, str]
) -> None:
    answer = reader.post(path, data={"token": admin_token}, headers=headers)
    assert answer.status_code == 403
    assert "not from a page of this service" in Page(answer.text).text
    assert "set-cookie" not in answer.headers
    assert reader.get("/").status_code == 200


def test_older_browser_signs_in_by_its_origin(stranger: TestClient, admin_token: str) -> None:
    answer = stranger.post("/sign-in", data={"token": admin_token}, headers={"Origin": "http://testserver"})
    assert answer.status_code == 303


def test_signing_out_ends_the_session_on_both_sides(reader: TestClient, service: Service) -> None:
    cookie = dict(reader.cookies)
    answer = reader.post("/sign-out", headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert 'ratchet_session=""' in answer.headers["set-cookie"]
    assert not reader.cookies
    reader.cookies.update(cookie)
    assert reader.get("/").status_code == 303
    with service.database.session() as session:
        assert session.scalars(select(BrowserSession)).all() == []


def test_address_of_signing_out_does_nothing_by_get(reader: TestClient) -> None:
    answer = reader.get("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert reader.get("/").status_code == 200


def test_signing_out_twice_is_no_error(stranger: TestClient) -> None:
    assert stranger.post("/sign-out", headers=SAME_ORIGIN).status_code == 303


def test_large_form_is_refused(stranger: TestClient) -> None:
    answer = sign_in(stranger, "x" * 20_000)
    assert answer.status_code == 413
    assert "Too large" in Page(answer.text).text


def test_token_in_a_header_opens_a_page_too(
    stranger: TestClient, admin_token: str, worker_token: str
) -> None:
    assert stranger.get("/", headers={"Authorization": f"Bearer {admin_token}"}).status_code == 200
    assert stranger.get("/", headers={"Authorization": f"Bearer {worker_token}"}).status_code == 403
    assert stranger.get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_expired_session_leads_to_the_sign_in_page(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        row = session.scalars(select(BrowserSession)).one()
        row.expires_at = row.created_at
    assert reader.get("/").status_code == 303


def test_name_of_whoever_is_signed_in_is_text(service: Service) -> None:
    with service.database.session() as session:
        token = issue_token(session, "<b>Zoë</b>", [Scope.RESULTS_READ])
    page = browser(service, token).get("/")
    assert "&lt;b&gt;Zoë&lt;/b&gt;" in page.text
    assert "<b>Zoë" not in page.text
