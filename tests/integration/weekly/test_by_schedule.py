"""Reports that the clock has made: once a week, of every project and of everything, and kept as they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from app.domain.notifications import NotifierKind, Wishes
from app.domain.week import Week, parse_week, week_of
from app.services.access import Principal, Scope
from app.services.notify.manage_notifiers import add_notifier
from app.services.weekly.kept_weekly import is_due
from app.services.weekly.make_due import make_due
from app.store.repositories import restorations
from app.store.tables import Notification
from app.wiring import Service
from tests.factories.histories import deliver
from tests.factories.planted_year import PROJECT
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from tests.integration.weekly.conftest import Lead


def make(service: Service) -> int:
    return make_due(service.database, service.settings)


def kept(service: Service) -> list[tuple[str | None, str]]:
    query = "select name, monday from weekly_report left join project on project.id = project_id"
    with service.database.session() as session:
        return sorted(((row[0], str(Week(row[1]))) for row in session.execute(text(query))), key=str)


@pytest.fixture
def last_week(lead: Lead, admin_token: str, service: Service) -> str:
    """The last week's name; a project has a point of it, and what is due may be made at once."""
    service.settings.weekly_report_after_h = 0
    week = week_of(datetime.now(UTC)).before()
    time = (week.start + timedelta(days=2)).isoformat()
    post_results(lead.client, admin_token, posted_document(posted_result(), commit="a" * 40, time=time))
    deliver(service)
    return str(week)


def test_every_project_and_the_installation_get_the_last_weeks_report_once(
    service: Service, last_week: str
) -> None:
    assert make(service) == 2
    assert kept(service) == [("acme/vision", last_week), (None, last_week)]
    assert make(service) == 0


def test_nothing_is_made_before_its_hour(service: Service) -> None:
    service.settings.weekly_report_after_h = 6
    monday = parse_week("2026-W48").start
    assert is_due(monday + timedelta(hours=5, minutes=59), service.settings) is None
    assert str(is_due(monday + timedelta(hours=6), service.settings)) == "2026-W47"


def test_a_report_stays_as_it_was_made(
    service: Service, lead: Lead, last_week: str, admin_token: str
) -> None:
    make(service)
    page = lead.client.get(f"/weekly/{last_week}", params={"project": PROJECT}, headers=lead.headers)
    time = (parse_week(last_week).start + timedelta(days=3)).isoformat()
    later = posted_document(posted_result(), commit="b" * 40, time=time)
    post_results(lead.client, admin_token, later, key="later")
    deliver(service)
    again = lead.client.get(f"/weekly/{last_week}", params={"project": PROJECT}, headers=lead.headers)
    assert again.text == page.text
    assert "2 points" in lead.html(week=last_week, project=PROJECT)


def test_the_list_shows_what_was_kept(service: Service, lead: Lead, last_week: str) -> None:
    make(service)
    page = lead.client.get("/weekly", headers=lead.headers).text
    assert f"Week {last_week}" in page
    assert "No known loss stands, and nothing has moved." in page


def test_what_cannot_be_made_keeps_no_other_from_it(
    service: Service, lead: Lead, last_week: str, caplog: pytest.LogCaptureFixture
) -> None:
    service.settings.costs_file = "/nowhere/costs.toml"
    assert make(service) == 0
    assert "the report of week" in caplog.text
    service.settings.costs_file = ""
    assert make(service) == 2


def test_of_everything_others_read_what_they_may_see(service: Service, lead: Lead, last_week: str) -> None:
    make(service)
    stranger = Lead(lead.client, bound_token(service, "other/project", Scope.RESULTS_READ))
    page = stranger.client.get(f"/weekly/{last_week}", headers=stranger.headers)
    assert page.status_code == 200
    assert "acme/vision" not in page.text


def test_who_asked_for_it_is_told_once_with_a_letter_and_the_page(
    service: Service, lead: Lead, last_week: str
) -> None:
    service.settings.smtp_url = "smtp+plain://127.0.0.1:9"
    service.settings.mail_from = "ratchet@example.org"
    with service.database.session() as session:
        add_notifier(
            session,
            service.settings,
            Principal("ada", frozenset({Scope.ADMIN})),
            PROJECT,
            name="leads",
            kind=NotifierKind.EMAIL,
            address={"to": "lead@example.org"},
            wishes=Wishes(reports=("weekly_report",)),
        )
    make(service)
    make(service)
    with service.database.session() as session:
        (message,) = session.scalars(select(Notification.message)).all()
    assert message["title"] == f"Week {last_week} of {PROJECT}: No known loss stands, and nothing has moved."
    assert message["url"].endswith(f"/weekly/{last_week}?project=acme%2Fvision")
    assert "No known loss stands" in message["letter"]
    assert "This file is complete in itself" in message["html"]


@pytest.mark.parametrize(("restored", "announced"), [("- interval '0 s'", 0), ("- interval '8 days'", 1)])
def test_restored_service_makes_no_report_until_it_goes_on_and_announces_none_of_before(
    service: Service, last_week: str, restored: str, announced: int
) -> None:
    with service.database.session() as session:
        principal = Principal("ada", frozenset({Scope.ADMIN}))
        service.settings.notify_private = True
        add_notifier(
            session,
            service.settings,
            principal,
            PROJECT,
            name="ops",
            kind=NotifierKind.WEBHOOK,
            address={"url": "http://127.0.0.1:1/x"},
            wishes=Wishes(reports=("weekly_report",)),
        )
        columns = "insert into restoration (backup, backup_at, version, revision, restored_at)"
        session.execute(text(f"{columns} values ('b', now(), '1', '1', now() {restored})"))
    assert make(service) == 0
    with service.database.session() as session:
        restorations.resume(session)
    assert make(service) == 2
    with service.database.session() as session:
        assert session.execute(text("select count(*) from notification")).scalar_one() == announced
