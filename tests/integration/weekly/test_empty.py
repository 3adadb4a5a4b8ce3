"""Weeks without data, and installations without anything."""

from __future__ import annotations

import pytest

from app.wiring import Service
from tests.factories.histories import deliver
from tests.factories.posted_results import post_results, posted_document, posted_result
from tests.integration.weekly.conftest import Lead


def test_an_installation_without_anything_says_what_makes_it_fill(lead: Lead) -> None:
    assert lead.report()["headline"] == "There is nothing to report on yet: no series has a point."
    assert "a history is imported" in lead.html()
    assert "There is nothing to report on yet" in lead.client.get("/weekly", headers=lead.headers).text


def test_a_new_project_has_moved_nothing(lead: Lead, service: Service, admin_token: str) -> None:
    document = posted_document(posted_result(), commit="a" * 40, time="2026-11-18T10:00:00Z")
    post_results(lead.client, admin_token, document)
    deliver(service)
    report = lead.report(project="acme/vision")
    assert report["headline"] == "No known loss stands, and nothing has moved."
    assert report["coverage"]["n_points"] == 1


@pytest.mark.usefixtures("year")
def test_a_week_without_data_says_that_nothing_was_measured(lead: Lead) -> None:
    report = lead.report(week="2027-W20")
    assert report["coverage"]["n_measured"] == 0
    assert report["efficiency"]["cases"] == []
    before = lead.report(week="2019-W20")
    assert before["headline"] == "Nothing was measured in this week, and no known loss stands."


@pytest.mark.parametrize(
    ("wanted", "status", "told"),
    [
        ({"week": "2026-W60"}, 400, "is no week; write its year and number as in 2026-W47"),
        ({"project": "nobody/has"}, 404, "there is no project 'nobody/has' that you may see"),
    ],
)
def test_what_cannot_be_reported_on_is_refused_in_words(
    lead: Lead, wanted: dict[str, str], status: int, told: str
) -> None:
    response = lead.client.get("/api/v1/weekly", params=wanted, headers=lead.headers)
    assert response.status_code == status
    assert told in response.json()["message"]


def test_a_file_of_costs_that_cannot_be_read_is_named(lead: Lead, service: Service) -> None:
    service.settings.costs_file = "/nowhere/costs.toml"
    response = lead.client.get("/api/v1/weekly", headers=lead.headers)
    assert response.status_code == 400
    assert "RATCHET_COSTS_FILE: /nowhere/costs.toml cannot be read" in response.json()["message"]
