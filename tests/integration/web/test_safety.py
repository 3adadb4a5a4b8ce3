"""What holds for every page: headers, nothing from elsewhere, names as text, errors in the pages' own form."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.results import CommitRef
from app.store.tables import MeasureRequest, Repository, Schedule
from app.web import checks as check_pages
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, browser
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

PAGES = [
    "/",
    "/checks/1",
    "/checks/2",
    "/alerts?state=all&owner=%3Cscript%3Ealert(1)%3C/script%3E",
    "/series?q=%3Cscript%3Ealert(1)%3C/script%3E",
    "/series/1",
    "/benchmarks?project=%3Cscript%3Ealert(1)%3C/script%3E&name=%3Cscript%3Ealert(1)%3C/script%3E",
    "/commits/1234567?project=%3Cscript%3Ealert(1)%3C/script%3E",
    f"/commits/{'0' * 39}1?project=%3Cscript%3Ealert(1)%3C/script%3E",
    "/compare?project=%3Cscript%3Ealert(1)%3C/script%3E&base=%3Cscript%3E&head=%3Cscript%3E&q=%3Cscript%3E",
    "/runs",
    "/runs/1",
    "/runs/upload-1",
    "/workers",
    "/weekly",
    "/weekly?project=%3Cscript%3Ealert(1)%3C/script%3E",
    "/health",
    "/measure?project=%3Cscript%3Ealert(1)%3C/script%3E",
    "/measure/1",
    "/sign-in",
    "/me",
    "/projects/%3Cscript%3Ealert(1)%3C%2Fscript%3E/access",
    "/projects/%3Cscript%3Ealert(1)%3C%2Fscript%3E/notifiers",
    "/checks/99",
    "/nothing",
]
POLICY = {
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


@pytest.fixture
def reader(service: Service, admin_token: str) -> TestClient:
    """Somebody who reads a service where every name is hostile."""
    with service.database.session() as session:
        script = "<script>alert(1)</script>"
        owner = stored.worker(session, script)
        stored.device(
            session, owner, "cpu-xeon-platinum-8488c-8t", model=script, fingerprint={script: {script: script}}
        )
        stored.check(session, results.hostile())
        stored.check(session, replace(results.running(), project=f"{script}{'x' * 200}"))
        connected_project(session, script)
    client = browser(service, admin_token)
    for number in (0, 1):
        post_hostile(client, admin_token, number)
    return client


def post_hostile(client: TestClient, token: str, number: int) -> None:
    """Post a result where everything that can be named is called like a script."""
    script = "<script>alert(1)</script>"
    result = posted_result(script, params={script: script}, metric=script, unit="widgets")
    commit = {"commit": f"{number:040x}", "author": script, "subject": script, "branch": script}
    named = {"project": script, "device_class": script, "environment": {script: script}}
    answer = post_results(client, token, posted_document(result, **commit, **named))
    assert answer.status_code == 201, answer.text


def connected_project(session: Session, name: str) -> None:
    """A project of this name whose repository is connected: branch, suite, schedule and request are called the same."""
    base, head = CommitRef("a" * 40), CommitRef("b" * 40)
    check = stored.check(session, replace(results.regressed(), project=name, base=base, head=head))
    check.settings = check.settings | {"suites": [name, "other"]}
    repository = Repository(external_id=5, slug=name, branch=name, project_id=check.project_id)
    session.add(repository)
    session.flush()
    its = {"repository_id": repository.id}
    session.add(Schedule(name=name, cron=name, due_at=stored.now(), **its))
    asked = {"pull": None, "head": name, "base": name, "suites": [], "devices": []}
    ended = {"asked_by": name, "outcome": "refused", "message": name}
    session.add(MeasureRequest(key=name, project_id=check.project_id, **its, **asked, **ended))


@pytest.fixture
def pages(reader: TestClient) -> dict[str, Response]:
    """Every page by its path."""
    return {path: reader.get(path) for path in PAGES}


def test_every_page_carries_its_headers(pages: dict[str, Response]) -> None:
    for path, answer in pages.items():
        headers = answer.headers
        assert {part.strip() for part in headers["content-security-policy"].split(";")} >= POLICY, path
        assert "unsafe" not in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "same-origin", path
        assert headers["cache-control"] == "private, no-cache", path
        assert headers["content-type"] == "text/html; charset=utf-8", path


def test_pages_load_and_link_only_what_the_service_itself_serves(
    pages: dict[str, Response], reader: TestClient
) -> None:
    loaded = {address for answer in pages.values() for address in Page(answer.text).addresses()}
    linked = {link for answer in pages.values() for link in Page(answer.text).links}
    assert not [address for address in loaded | linked if not re.match(r"(/(?!/)|#)", address)]
    static = [address for address in loaded if address.startswith("/static/")]
    assert len(static) >= 4
    assert {reader.get(address).status_code for address in static} == {200}


def test_pages_have_nothing_inline_that_their_policy_forbids(pages: dict[str, Response]) -> None:
    for path, answer in pages.items():
        for tag, attributes in Page(answer.text).elements:
            assert tag != "style", path
            assert tag != "script" or "src" in attributes, path
            assert "style" not in attributes, (path, tag, attributes)
            assert not [name for name in attributes if name.startswith("on")], (path, tag, attributes)


def test_hostile_names_stay_text(pages: dict[str, Response]) -> None:
    for path, answer in pages.items():
        assert "<script>alert" not in answer.text, path
        assert "<img" not in answer.text, path
        assert not set("\x1b\u202e") & set(answer.text), path
    assert "<script>alert(1)</script>" in Page(pages["/"].text).text


def test_every_page_is_whole_and_has_one_heading(pages: dict[str, Response]) -> None:
    for path, answer in pages.items():
        page = Page(answer.text)
        assert page.html.startswith("<!DOCTYPE html>"), path
        assert page.html.rstrip().endswith("</html>"), path
        assert [tag for tag, _ in page.elements].count("h1") == 1, path
        assert ("html", {"lang": "en"}) in page.elements, path
        assert [a for tag, a in page.elements if tag == "meta" and a.get("name") == "viewport"], path
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids)), path


def test_navigation_marks_where_one_is(reader: TestClient) -> None:
    for path, label in (
        ("/", "/"),
        ("/series", "/series"),
        ("/runs/1", "/runs"),
        ("/workers", "/workers"),
        ("/health", "/health"),
    ):
        here = [
            a["href"] for tag, a in Page(reader.get(path).text).elements if tag == "a" and "aria-current" in a
        ]
        assert label in here


# --- static files ---


def test_static_file_is_kept_for_ever_under_the_address_of_its_content(reader: TestClient) -> None:
    sheets = [a["href"] for tag, a in Page(reader.get("/").text).elements if a.get("rel") == "stylesheet"]
    assert [sheet.rpartition("/")[2] for sheet in sheets] == ["ratchet.css", "report.css", "pages.css"]
    for sheet in sheets:
        answer = browser_without_session(reader).get(sheet)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"] == "text/css; charset=utf-8"
        assert "url(" not in re.sub(r"/\*.*?\*/", "", answer.text, flags=re.DOTALL)
        assert "@import" not in re.sub(r"/\*.*?\*/", "", answer.text, flags=re.DOTALL)


def browser_without_session(reader: TestClient) -> TestClient:
    reader.cookies.clear()
    return reader


def test_address_of_an_older_release_is_answered_but_not_kept(reader: TestClient) -> None:
    answer = reader.get("/static/0123456789abcdef/pages.css")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["missing.css", "report.html", "..%2Fratchet.css", "%2Fetc%2Fpasswd"])
def test_nothing_else_is_served_as_static(reader: TestClient, name: str) -> None:
    assert reader.get(f"/static/0/{name}").status_code == 404


# --- errors ---


def test_unknown_address_is_a_page_for_browsers_and_json_for_others(reader: TestClient) -> None:
    page = Page(reader.get("/nothing").text)
    assert "There is nothing here" in page.text
    assert "/" in page.links
    other = reader.get("/nothing", headers={"Accept": "application/json"})
    assert (other.status_code, other.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/checks/99"])
def test_api_keeps_its_json_whatever_a_browser_accepts(reader: TestClient, path: str) -> None:
    answer = reader.get(path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_fault_of_ours_is_a_page_that_tells_nothing_of_the_inside(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(check_pages, "list_checks", fail)
    answer = reader.get("/")
    assert answer.status_code == 500
    assert "Something went wrong on our side" in Page(answer.text).text
    assert "secret detail" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_database_that_is_away_is_a_page_that_tries_again(tmp_path: Path) -> None:
    url = f"postgresql+psycopg://nobody@/none?host={tmp_path}"
    client = browser(
        Service(ServiceSettings(database_url=url, redis_url="redis://127.0.0.1:1/0", data_dir=tmp_path))
    )
    client.cookies.set("ratchet_session", "anything")
    answer = client.get("/runs")
    assert answer.status_code == 503
    page = Page(answer.text)
    assert "The database does not answer" in page.text
    assert page.refresh_s == 5
    assert answer.headers["retry-after"] == "5"
