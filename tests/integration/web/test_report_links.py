"""The signed link to a check's report: it opens that report to whoever holds it, for a while, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import text

from app.services.render_report import store_report
from app.services.report_links import report_link
from app.store.tables import Check
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, browser

pytestmark = pytest.mark.postgres


@pytest.fixture
def stranger(service: Service) -> TestClient:
    """Somebody without an account."""
    return browser(service)


def checked(service: Service, *, ago: timedelta = timedelta(0)) -> int:
    with service.database.session() as session:
        check = stored.check(session, results.regressed(), ago=ago).id
        store_report(session, check)
        return check


def link(service: Service, check: int) -> str:
    """Return the path of a check's link."""
    with service.database.session() as session:
        return urlsplit(report_link(session, service.settings, session.get_one(Check, check))).path


def refused(answer: Response, status: int, headline: str) -> None:
    assert answer.status_code == status
    assert headline in Page(answer.text).text
    assert "b83e07d1" not in answer.text
    assert "/sign-in?next=/checks/1" in Page(answer.text).links


def test_who_holds_the_link_reads_the_report_without_an_account(
    service: Service, stranger: TestClient
) -> None:
    check = checked(service)
    answer = stranger.get(link(service, check))
    assert answer.status_code == 200
    assert "b83e07d1" in Page(answer.text).text
    loaded = Page(answer.text).addresses()
    assert not [address for address in loaded if not address.startswith(("#", "data:"))], "it loads nothing"


@pytest.mark.parametrize("is_good", [True, False])
def test_it_is_told_to_no_other_site_and_kept_by_nobody(
    service: Service, stranger: TestClient, is_good: bool
) -> None:
    path = link(service, checked(service))
    headers = stranger.get(path if is_good else f"{path}0").headers
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-robots-tag"] == "noindex, nofollow"
    assert "default-src 'none'" in headers["content-security-policy"]


def test_it_is_the_same_in_every_process_and_however_often_it_is_told(service: Service) -> None:
    check = checked(service)
    first = link(service, check)
    other = Service(service.settings)
    assert link(other, check) == first
    other.close()


def changed(path: str, part: int) -> str:
    """Return a link in which one part is another: 3 the check, 4 the end, 5 the signature."""
    parts = path.split("/")
    parts[part] = (
        f"{int(parts[part]) + 1}" if part < 5 else f"{'0' if parts[5][0] != '0' else '1'}{parts[5][1:]}"
    )
    return "/".join(parts)


@pytest.mark.parametrize("part", [4, 5])
def test_a_link_that_was_changed_opens_nothing(service: Service, stranger: TestClient, part: int) -> None:
    path = changed(link(service, checked(service)), part)
    refused(stranger.get(path), 403, "This link is not right")


def test_a_link_opens_no_other_check(service: Service, stranger: TestClient) -> None:
    path = link(service, checked(service))
    checked(service)
    answer = stranger.get(changed(path, 3))
    assert answer.status_code == 403
    assert "b83e07d1" not in answer.text


def test_a_link_to_a_check_that_does_not_exist_is_no_other_than_a_wrong_one(
    service: Service, stranger: TestClient
) -> None:
    path = link(service, checked(service))
    there, nowhere = changed(path, 5), changed(path, 5).replace("/checks/1/", "/checks/9/")
    answers = [stranger.get(there), stranger.get(nowhere)]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].text.replace("1", "9") == answers[1].text.replace("1", "9")


def test_signatures_that_are_none_are_wrong(service: Service, stranger: TestClient) -> None:
    base = link(service, checked(service)).rpartition("/")[0]
    for signature in ("x", "é" * 20, "%00", "0" * 64):
        refused(stranger.get(f"{base}/{signature}"), 403, "This link is not right")


def test_a_link_expires(service: Service, stranger: TestClient) -> None:
    path = link(service, checked(service, ago=timedelta(days=31)))
    refused(stranger.get(path), 410, "This link has expired")


def test_how_long_it_lasts_is_a_setting(service: Service, stranger: TestClient) -> None:
    service.settings.report_link_days = 40
    path = link(service, checked(service, ago=timedelta(days=31)))
    assert stranger.get(path).status_code == 200
    service.settings.report_link_days = 0
    assert link(service, 1) == "/checks/1"
    refused(stranger.get(path), 403, "This link is not right")


def test_another_key_makes_all_links_wrong(service: Service, stranger: TestClient) -> None:
    path = link(service, checked(service))
    with service.database.session() as session:
        session.execute(text("delete from key"))
    refused(stranger.get(path), 403, "This link is not right")


def test_nothing_else_is_opened(service: Service, stranger: TestClient) -> None:
    path = link(service, checked(service))
    assert stranger.get(path).cookies == {}
    for other in ("/", "/checks/1", "/checks/1/report", "/runs/1", f"/checks/1/report?signature={path}"):
        assert stranger.get(other).headers["location"].startswith("/sign-in")
    for other in ("/api/v1/checks/1", "/api/v1/checks/1/report"):
        assert stranger.get(other).status_code in (401, 404)
    assert stranger.post(path).status_code == 405
