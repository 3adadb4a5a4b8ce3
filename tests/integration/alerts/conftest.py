"""Histories that became worse, checks that failed, and somebody who reads and answers what is raised of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import update

from app.domain.results import CheckResult
from app.services.alerts.raise_alerts import projects_to_look_at, raise_alerts
from app.services.alerts.settle_alerts import settle_alerts
from app.store.tables import Check, PullRequest, Repository, Request
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import Poster, sha, store_all


@dataclass
class Team:
    """People who answer alerts, and what they look at."""

    client: TestClient
    service: Service
    token: str
    series: dict[str, Poster] = field(default_factory=dict)

    def grow(self, benchmark: str, latencies: list[float], **result: Any) -> None:
        """Have a history of these latencies [ms] in each commit's order; what is there already is gone on with."""
        poster = self.series.get(benchmark)
        first = 0
        if poster is None:
            poster = Poster(self.client, self.service, self.token, {"benchmark": benchmark, **result})
            self.series[benchmark] = poster
            poster.post(latencies[0], 0)
            first = 1
        else:
            first = poster.get(f"series/{poster.series}/trend")["n"]
        store_all(self.service, poster.series, [value / 1_000 for value in latencies[first:-1]], first=first)
        poster.tell(latencies[-1], len(latencies) - 1, parent=sha(len(latencies) - 2))

    def sweep(self) -> None:
        """Have alerts raised and settled, as the service's clock has."""
        with self.service.database.session() as session:
            waiting = projects_to_look_at(session)
        for project_id in waiting:
            with self.service.database.session() as session:
                raise_alerts(session, project_id)
                settle_alerts(session, project_id)

    def alerts(self, **wanted: Any) -> list[dict[str, Any]]:
        """Return the alerts, by default the open ones, the newest first."""
        found: list[dict[str, Any]] = self.get("alerts", **wanted)["alerts"]
        return found

    def raised(self, **wanted: Any) -> list[dict[str, Any]]:
        """Sweep, and return the alerts."""
        self.sweep()
        return self.alerts(**wanted)

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        answer = self.client.get(f"/api/v1/{path}", params=parameters, headers=self._headers())
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def post(self, path: str, token: str | None = None, **body: Any) -> Response:
        return self.client.post(f"/api/v1/{path}", json=body, headers=self._headers(token))

    def _headers(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {token or self.token}"}

    def check(self, result: CheckResult | None = None, *, trigger: str = "pull_request") -> int:
        """Store a check, by default a failed one that a pull request has; return its id."""
        with self.service.database.session() as session:
            row = stored.check(session, result or results.regressed())
            session.execute(update(Request).where(Request.id == row.request_id).values(trigger=trigger))
            return row.id

    def pull(self, check_id: int, **fields: Any) -> None:
        """Have pull request 12 with this as its newest check."""
        with self.service.database.session() as session:
            repository = session.get(Repository, 1)
            if repository is None:
                project = session.get_one(Check, check_id).project_id
                repository = Repository(external_id=5, slug="acme/vision", branch="main", project_id=project)
                session.add(repository)
                session.flush()
            pull = session.get(PullRequest, 1)
            if pull is None:
                known = {"number": 12, "title": "t", "author": "ann", "is_fork": False, "base_ref": "main"}
                pull = PullRequest(repository_id=repository.id, state="open", head_sha="b" * 40, **known)
                session.add(pull)
            pull.check_id = check_id
            for name, value in fields.items():
                setattr(pull, name, value)


@pytest.fixture
def team(client: TestClient, service: Service, admin_token: str) -> Team:
    return Team(client, service, admin_token)
