"""A year of a project's history, posted and examined, with alerts raised; and somebody who asks for its reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.services.alerts.raise_alerts import projects_to_look_at, raise_alerts
from app.wiring import Service
from tests.factories.histories import deliver
from tests.factories.planted_year import documents
from tests.factories.snapshots import Beginnings

TODAY = datetime(2026, 11, 22, 20, tzinfo=UTC)
WEEK = "2026-W47"

AT_ONCE = 400

COSTS = """
[prices."nvidia-h100-*"]
hour = 2.49
currency = "USD"
date = 2026-01-31

[[traffic]]
benchmark = "serve_llm"
per_day = "5e9 tokens"
devices = "nvidia-*"
date = 2026-10-01

[[traffic]]
benchmark = "resize"
per_day = 400_000_000
devices = "nvidia-*"
date = 2026-10-01
"""


class Lead:
    """Somebody who reads the weekly report."""

    def __init__(self, client: TestClient, token: str) -> None:
        """Take a client, and the token of who may read."""
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}

    def report(self, **wanted: str) -> dict[str, Any]:
        """Return a report's document."""
        response = self.client.get("/api/v1/weekly", params={"week": WEEK, **wanted}, headers=self.headers)
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    def html(self, **wanted: str) -> str:
        """Return the page, or the letter."""
        where = "/api/v1/weekly/report"
        response = self.client.get(where, params={"week": WEEK, **wanted}, headers=self.headers)
        assert response.status_code == 200, response.text
        return response.text


@pytest.fixture
def lead(client: TestClient, admin_token: str) -> Lead:
    return Lead(client, admin_token)


@pytest.fixture
def costs(service: Service, tmp_path: Path) -> None:
    """The installation states prices and traffic."""
    file = tmp_path / "costs.toml"
    file.write_text(COSTS, encoding="utf-8")
    service.settings.costs_file = str(file)


@pytest.fixture
def year(client: TestClient, service: Service, admin_token: str, beginnings: Beginnings) -> None:
    """A year in the database."""
    beginnings.have(lambda: post_a_year(client, service, admin_token), [], own=(), name=post_a_year)


def post_a_year(client: TestClient, service: Service, token: str) -> None:
    """Post it, have it examined, and alerts raised."""
    lines = [json.dumps(document) for document in documents(TODAY, n_values=5)]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    for first in range(0, len(lines), AT_ONCE):
        content = "\n".join(lines[first : first + AT_ONCE])
        response = client.post("/api/v1/results/batch", content=content, headers=headers)
        assert {each["status"] for each in response.json()["documents"]} == {"stored"}
    while deliver(service):
        pass
    with service.database.session() as session:
        for project_id in projects_to_look_at(session):
            raise_alerts(session, project_id)
