"""What browsers are told when an address or a form is wrong: a page, in words, and never what is inside."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from app.wiring import Service
from tests.factories.browser import Page, browser

pytestmark = pytest.mark.postgres


@pytest.fixture
def window(service: Service, admin_token: str) -> TestClient:
    return browser(service, admin_token)


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("/?project=%00", "without characters that it cannot have"),
        (
            "/alerts?state=nosuch",
            "The parameter “state” must be one of new, acknowledged, investigating, fixed, accepted, not_ours, noise, "
            "open, closed, all, not “nosuch”.",
        ),
        ("/?before=x", "The parameter “before” must be a whole number, not “x”."),
        ("/?live=perhaps", "The parameter “live” must be 0 or 1, not “perhaps”."),
        (f"/series?q={'x' * 501}", "of 500 characters at the most"),
        ("/series?at=0", "The parameter “at” must be 1 or more, not “0”."),
    ],
)
def test_a_parameter_that_is_wrong_is_told_in_words(window: TestClient, address: str, wanted: str) -> None:
    answer = window.get(address)
    assert answer.status_code == 422
    assert wanted in Page(answer.text).text
    for inside in ("str-enum", "AlertState", "None", "pydantic", "[^", "Input should"):
        assert inside not in answer.text


@pytest.mark.parametrize("kind", [DataError, IntegrityError])
def test_what_the_database_refuses_is_a_page_for_a_browser_and_json_for_a_program(
    window: TestClient, monkeypatch: pytest.MonkeyPatch, kind: type[DBAPIError]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise kind("select", {}, ValueError("PostgreSQL says what is inside"))

    monkeypatch.setattr("app.web.checks.list_checks", refused)
    answer = window.get("/")
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert "cannot be stored or looked for" in Page(answer.text).text
    assert "inside" not in answer.text
    assert window.get("/", headers={"Accept": "*/*"}).json()["code"] == "bad_value"


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/me/tokens", "/me"),
        ("/me/searches/3/forget", "/me"),
        ("/me/sessions/end", "/me"),
        ("/series/1/missed", "/series/1"),
        ("/projects/acme/vision/access/tokens", "/projects/acme/vision/access"),
        ("/projects/acme/vision/access/tokens/abc/revoke", "/projects/acme/vision/access"),
        ("/sign-out", "/"),
    ],
)
def test_the_address_of_a_form_leads_to_the_page_that_has_it(
    window: TestClient, form: str, page: str
) -> None:
    answer = window.get(form)
    assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert window.get(form, headers={"Accept": "application/json"}).status_code == 405
