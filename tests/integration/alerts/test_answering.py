"""People answer alerts: through the API and on the pages, one or several at once."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.services.access import Scope, issue_token
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser
from tests.factories.histories import sha, stepped
from tests.factories.posted_results import bound_token
from tests.integration.alerts.conftest import Team

pytestmark = pytest.mark.postgres

HOSTILE = "</script><script>alert(1)</script> & **b** \u05d0\u05d1 🙂"


@pytest.fixture
def two(team: Team) -> list[dict[str, Any]]:
    """Two alerts, the older one first."""
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    team.grow(HOSTILE, stepped(60, 40, 0.3, seed=3))
    found = team.raised()[::-1]
    assert len(found) == 2
    return found


def token(service: Service, *scopes: Scope) -> str:
    with service.database.session() as session:
        return issue_token(session, "ann", list(scopes))


def test_an_alert_is_taken_moved_commented_and_remembers_who_did_what(
    team: Team, service: Service, two: list[dict[str, Any]]
) -> None:
    path, ann = f"alerts/{two[0]['id']}", token(service, Scope.ALERTS_WRITE)
    answer = team.post(path, ann, state="investigating", owner="ann", comment="looks like the cache")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["state"], answer.json()["owner"]) == ("investigating", "ann")
    team.post(path, ann, comment="it is")
    team.post(path, ann, state="not_ours", owner="")
    team.post(path, ann, state="acknowledged", comment="no, ours")
    deeds = team.get(path)["history"]
    assert [(d["what"], d.get("to"), d.get("comment")) for d in deeds if d["by"] == "ann"] == [
        ("owned", None, None),
        ("moved", "investigating", "looks like the cache"),
        ("commented", None, "it is"),
        ("owned", None, None),
        ("moved", "not_ours", ""),
        ("reopened", None, "no, ours"),
    ]
    assert team.get(path)["state"] == "acknowledged"


def test_accepting_needs_a_reason_and_accepts_the_changes(team: Team, two: list[dict[str, Any]]) -> None:
    path = f"alerts/{two[0]['id']}"
    refused = team.post(path, state="accepted")
    assert refused.status_code == 422
    assert "needs a reason" in refused.json()["message"]
    assert team.post(path, state="accepted", comment="wanted: exact").json()["state"] == "accepted"
    (change,) = team.series["resize"].changes()
    assert (change["acceptance"]["by"], change["acceptance"]["reason"]) == ("admin", "wanted: exact")
    assert [alert["id"] for alert in team.raised()] == [two[1]["id"]]
    team.post(path, state="investigating", comment="no, not wanted")
    assert team.series["resize"].changes()[0]["acceptance"] is None
    assert len(team.raised()) == 2, "what somebody has opened again is left to people"


def test_several_are_answered_together_or_none(team: Team, two: list[dict[str, Any]]) -> None:
    ids = [alert["id"] for alert in two]
    assert team.post("alerts", ids=[*ids, 99], state="noise").status_code == 404
    assert {alert["state"] for alert in team.alerts(state="all")} == {"new"}
    assert team.post("alerts", ids=ids, state="noise", comment="flaky host").json() == {"answered": ids}
    assert team.alerts() == []
    assert len(team.alerts(state="closed")) == len(team.alerts(state="noise")) == 2


def test_lists_are_filtered_and_paged(team: Team, two: list[dict[str, Any]]) -> None:
    old, new = (alert["id"] for alert in two)
    team.post(f"alerts/{old}", owner="ann")
    assert [alert["id"] for alert in team.alerts(owner="ann")] == [old]
    assert [alert["id"] for alert in team.alerts(owner="")] == [new]
    page = team.get("alerts", limit=1, project="acme/vision")
    assert ([alert["id"] for alert in page["alerts"]], page["more"], page["next"]) == ([new], True, new)
    assert [alert["id"] for alert in team.alerts(before=page["next"])] == [old]
    assert page["counts"] == {"new": 2}


def test_who_may_only_read_answers_nothing_and_who_is_bound_elsewhere_sees_nothing(
    team: Team, service: Service, two: list[dict[str, Any]]
) -> None:
    path = f"alerts/{two[0]['id']}"
    reader, other = (
        token(service, Scope.RESULTS_READ),
        bound_token(service, "acme/other", Scope.ALERTS_WRITE),
    )
    assert team.post(path, reader, state="noise").status_code == 403
    assert team.post(path, other, state="noise").status_code == 404
    headers = {"Authorization": f"Bearer {other}"}
    assert team.client.get(f"/api/v1/{path}", headers=headers).status_code == 404
    assert team.client.get("/api/v1/alerts?state=all", headers=headers).json()["alerts"] == []


def test_precision_and_recall_follow_from_what_people_say(team: Team, two: list[dict[str, Any]]) -> None:
    assert team.get("alerts/quality")["precision"]["share"] is None
    team.post(f"alerts/{two[0]['id']}", state="fixed")
    team.post(f"alerts/{two[1]['id']}", state="noise")
    series = team.series["resize"].series
    assert team.post(f"series/{series}/missed", commit=sha(12)[:38], note="x").status_code == 404
    missed = team.post(f"series/{series}/missed", commit=sha(12), note="seen by eye")
    assert (missed.status_code, missed.json()) == (201, {"new": True})
    assert team.post(f"series/{series}/missed", commit=sha(12)).json() == {"new": False}
    assert team.post(f"series/{series}/missed", commit=sha(30)).status_code == 409
    quality = team.get("alerts/quality", project="acme/vision")
    assert (quality["precision"]["k"], quality["precision"]["n"]) == (1, 2)
    assert (quality["recall"]["k"], quality["recall"]["n"], quality["open"]) == (1, 2, 0)
    assert quality["precision"]["low"] == pytest.approx(0.0945, abs=1e-3)
    assert team.get("alerts/quality", benchmark="resize")["precision"]["share"] == 1.0
    headers = {"Authorization": f"Bearer {team.token}"}
    page = team.client.get("/benchmarks?project=acme/vision&name=resize", headers=headers)
    assert "1 alert real, 0 false alarms, 1 change missed" in Page(page.text).text


@pytest.fixture
def window(service: Service, admin_token: str) -> TestClient:
    return browser(service, admin_token)


def test_pages_show_and_answer_alerts(team: Team, window: TestClient, two: list[dict[str, Any]]) -> None:
    listed = window.get("/alerts").text
    assert "<script>alert" not in listed
    assert "resize[batch=32] latency_p50 +" in Page(listed).text
    fields = {
        f"alert {two[0]['id']}": "on",
        "state": "acknowledged",
        "take": "1",
        "next": "/alerts?owner=admin",
    }
    answer = window.post("/alerts", data=fields, headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts?owner=admin")
    assert [alert["state"] for alert in team.alerts(owner="admin")] == ["acknowledged"]
    path = f"/alerts/{two[1]['id']}"
    assert "needs a reason" in window.post(path, data={"state": "accepted"}, headers=SAME_ORIGIN).text
    team.post(f"alerts/{two[1]['id']}", owner="bob")
    window.post(path, data={"owner": "ann", "had": "ann", "comment": "x"}, headers=SAME_ORIGIN)
    assert [alert["id"] for alert in team.alerts(owner="bob")] == [two[1]["id"]], (
        "an older page takes nothing"
    )
    window.post(path, data={"owner": "", "had": "bob"}, headers=SAME_ORIGIN)
    assert team.alerts(owner="bob") == []
    window.post(path, data={"state": "noise", "comment": HOSTILE}, headers=SAME_ORIGIN)
    shown = window.get(path).text
    assert "<script>alert" not in shown
    assert HOSTILE in Page(shown).text
    assert "moved it from new to noise" in Page(shown).text
    assert "0 of 1" in Page(window.get("/alerts?state=all").text).text
    series = team.series["resize"].series
    told = window.post(
        f"/series/{series}/missed", data={"commit": sha(12), "branch": "main"}, headers=SAME_ORIGIN
    )
    assert told.headers["location"] == f"/series/{series}?branch=main#missed"


def test_an_answer_from_another_site_is_refused(window: TestClient, two: list[dict[str, Any]]) -> None:
    path = f"/alerts/{two[0]['id']}"
    assert (
        window.post(path, data={"state": "noise"}, headers={"Origin": "https://evil.example"}).status_code
        == 403
    )
