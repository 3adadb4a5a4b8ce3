"""What browsers are told when an address or a form is wrong: a page, in words, and never what is inside."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError

from app.domain.errors import DataError as OurDataError
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser

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


class RefusedError(Exception):
    """What PostgreSQL says, with its state."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__("PostgreSQL says what is inside")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("kind", "sqlstate", "status", "code", "words"),
    [
        (DataError, "22003", 422, "bad_value", "cannot be stored or looked for"),
        (IntegrityError, "23505", 422, "bad_value", "It does not fit what is stored"),
        (OperationalError, "54000", 422, "bad_value", "cannot be stored or looked for"),
        (OperationalError, "53100", 507, "disk_full", "disk is full"),
        (OperationalError, "57P01", 503, "unavailable", "this page tries again by itself"),
    ],
)
def test_what_the_database_does_not_do_is_a_page_for_a_browser_json_for_a_program_and_logged_for_both(
    window: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: type[DBAPIError],
    sqlstate: str,
    status: int,
    code: str,
    words: str,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise kind("select", {}, RefusedError(sqlstate))

    monkeypatch.setattr("app.web.checks.list_checks", refused)
    answer = window.get("/")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert words in Page(answer.text).text
    assert "inside" not in answer.text
    assert ('http-equiv="refresh"' in answer.text) == (status == 503), (
        "what stays as it is is not asked again"
    )
    assert [line.message for line in caplog.records if "inside" in line.message] != []
    told = window.get("/", headers={"Accept": "*/*"})
    assert (told.status_code, told.json()["code"]) == (status, code)


def test_a_form_that_cannot_be_taken_is_not_called_an_address(
    window: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OurDataError("the cache is too small")

    monkeypatch.setattr("app.web.sign_in.sign_out", refused)
    answer = window.post("/sign-out", headers=SAME_ORIGIN)
    assert answer.status_code == 422
    assert "This cannot be taken so The cache is too small" in Page(answer.text).text


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
