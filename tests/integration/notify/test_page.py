"""The pages of who is told: for those who maintain a project."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from app.services.access import Role
from tests.factories.browser import SAME_ORIGIN, Page, shown
from tests.factories.people import browser_of, person
from tests.factories.receivers import Mood
from tests.integration.notify.conftest import PROJECT, Crowd

pytestmark = pytest.mark.postgres

PATH = f"/projects/{PROJECT}/notifiers"
FORM = {
    "about changes": "on",
    "about checks": "on",
    "min_change": "5",
    "pace": "at_once",
    "hour": "9",
    "weekday": "0",
    "zone": "Europe/Berlin",
    "quiet_from": "",
    "quiet_until": "",
    "breaks_through": "",
}


@pytest.fixture
def bob(crowd: Crowd) -> TestClient:
    with crowd.service.database.session() as session:
        person(session, "bob", {PROJECT: Role.MAINTAINER})
        person(session, "zoe", {PROJECT: Role.VIEWER})
    return browser_of(crowd.service, "bob")


def send(client: TestClient, path: str, **form: str) -> Page:
    """Send a form, and return the page that it leads to."""
    answer = client.post(f"{PATH}{path}", data=form, headers=SAME_ORIGIN)
    if answer.status_code == 303:
        answer = client.get(answer.headers["location"])
    assert answer.status_code in (200, 422), answer.text
    return Page(answer.text)


def test_maintainer_adds_tries_pauses_resumes_changes_and_removes(bob: TestClient, crowd: Crowd) -> None:
    made = send(bob, "", name="ops", kind="webhook", where=crowd.hook.url, **FORM).text
    (key,) = re.findall(r"whsec_[A-Za-z0-9+/=]{40,}", made)
    assert key not in bob.get(PATH).text + bob.get(f"{PATH}/ops").text
    text = shown(bob, f"{PATH}/ops").text
    assert "changes for the worse and failed checks, from 5 %" in text
    assert "s3cr3t" not in bob.get(f"{PATH}/ops").text
    assert "/…abcd" in text
    send(bob, "/ops/test")
    crowd.settle()
    assert crowd.hook.posts[0].json["data"]["text"].startswith("bob asked for this message")
    assert "acme/vision: a test of ops" in shown(bob, f"{PATH}/ops").text
    assert "paused" in send(bob, "/ops/pause").text
    assert "Send a test" not in shown(bob, f"{PATH}/ops").text
    send(bob, "/ops/resume")
    changed = send(bob, "/ops", **(FORM | {"pace": "weekly", "weekday": "4", "min_change": "2,5"}))
    assert "no percentage" in changed.text
    changed = send(bob, "/ops", **(FORM | {"pace": "weekly", "weekday": "4", "min_change": "2.5"}))
    assert "from 2.5 %, Fridays at 09:00 Europe/Berlin" in changed.text
    assert crowd.facts().wishes.min_change == 0.025
    assert "Nobody is told yet" in send(bob, "/ops/remove").text


def test_what_went_wrong_is_on_the_page_with_the_next_try(bob: TestClient, crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500, body=b"<b>down")]
    crowd.alert()
    for _ in range(3):
        crowd.step()
        crowd.hurry()
    page = bob.get(f"{PATH}/ops").text
    assert "answered 500: &lt;b&gt;down" in page
    assert "next try" in page
    assert "failing" in shown(bob, PATH).text


def test_wrong_form_says_what_is_wrong_and_keeps_no_address(bob: TestClient, crowd: Crowd) -> None:
    crowd.service.settings.notify_private = False
    answer = bob.post(
        PATH,
        data={"name": "ops", "kind": "slack", "where": "https://10.0.0.1/s3cr3t", **FORM},
        headers=SAME_ORIGIN,
    )
    assert answer.status_code == 422
    assert "private network" in Page(answer.text).text
    assert "s3cr3t" not in answer.text


def test_reader_and_stranger_are_refused(bob: TestClient, crowd: Crowd) -> None:
    zoe = browser_of(crowd.service, "zoe")
    assert zoe.get(PATH).status_code == 403
    assert zoe.post(PATH, data={"name": "x", **FORM}, headers=SAME_ORIGIN).status_code == 403
    assert "notifiers" not in zoe.get("/alerts?project=acme/vision").text
    assert PATH in bob.get("/alerts?project=acme/vision").text


def test_what_somebody_did_is_in_the_audit_log_without_the_address(bob: TestClient, crowd: Crowd) -> None:
    from sqlalchemy import select

    from app.store.tables import AuditLog

    send(bob, "", name="ops", kind="slack", where=crowd.hook.url, **FORM)
    send(bob, "/ops/test")
    send(bob, "/ops/remove")
    with crowd.service.database.session() as session:
        log = [
            (row.actor, row.action, row.detail.get("shown", ""))
            for row in session.scalars(select(AuditLog).order_by(AuditLog.id))
            if row.action.startswith("notifier.")
        ]
    assert [(actor, action) for actor, action, _ in log] == [
        ("bob", "notifier.added"),
        ("bob", "notifier.tested"),
        ("bob", "notifier.removed"),
    ]
    assert log[0][2].endswith("/…abcd")
