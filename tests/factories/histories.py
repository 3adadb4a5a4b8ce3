"""Histories, posted commit by commit as a program elsewhere does it, and examined as the tasks do it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import func, update

from app.services.announce_results import TOPIC
from app.services.relay_outbox import relay_outbox
from app.store.repositories import projects, series
from app.store.repositories.projects import CommitFacts
from app.store.repositories.series import NewResult
from app.store.tables import Outbox
from app.tasks import examine_project
from app.tasks.sweeping import sweep_suspicions
from app.wiring import Service
from tests.factories.posted_results import post_results, posted_document, posted_result

PROJECT = "acme/vision"


def sha(number: int) -> str:
    """Return the id of the history's commit `number`."""
    return f"{number + 1:040x}"


def noisy(n: int, *, level: float = 10.0, sd: float = 0.01, seed: int = 1) -> list[float]:
    """Return a flat history: `n` values around `level`, log-normal with the relative standard deviation `sd`."""
    draw = random.Random(seed)
    return [level * 2.718281828 ** draw.gauss(0, sd) for _ in range(n)]


def stepped(n: int, at: int, by: float, **noise: Any) -> list[float]:
    """Return a noisy history whose level changes by the share `by` at the commit `at`."""
    return [value * (1 + by * (i >= at)) for i, value in enumerate(noisy(n, **noise))]


def posted(series_id: int, commit_id: int, value: float) -> NewResult:
    """Return a result of the branch `main` as a post stores it; the value is in the series' unit."""
    return NewResult(
        series_id=series_id,
        commit_id=commit_id,
        run_id=None,
        arm="head",
        value=value,
        low=value,
        high=value,
        values=[value],
        void=[],
        flags=[],
        measured_at=datetime.now(UTC),
        branch="main",
    )


def store_all(service: Service, series_id: int, values: Iterable[float], first: int = 0) -> None:
    """Store results of the first project's commits from `first` on, each with its parent, all at once."""
    stored = list(enumerate(values, first))
    facts = [CommitFacts(sha(i), sha(i - 1) if i else None, None, None, "", "", None) for i, _ in stored]
    with service.database.session() as session:
        with projects.making_commits(session, 1, facts) as made:
            ids = made()
        series.add_results(session, [posted(series_id, ids[sha(i)], value) for i, value in stored])


@dataclass
class Recorded:
    """A queue that keeps what it is told to send."""

    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def send(self, topic: str, payload: dict[str, Any]) -> None:
        """Keep the message."""
        self.sent.append((topic, payload))


def deliver(service: Service) -> list[dict[str, Any]]:
    """Relay the outbox and examine what it announces, as `ratchet tasks` soon does; return the announcements."""
    queue = Recorded()
    with service.database.session() as session:
        is_waiting = Outbox.topic == TOPIC, Outbox.sent_at.is_(None)
        session.execute(update(Outbox).where(*is_waiting).values(available_at=func.clock_timestamp()))
        relay_outbox(session, queue)
    announced = [payload for topic, payload in queue.sent if topic == "series.examine"]
    for payload in announced:
        examine_project(service, payload["project_id"])
    return announced


@dataclass
class Poster:
    """Posts results of one series and reads back what the service makes of them."""

    client: TestClient
    service: Service
    token: str
    result: dict[str, Any] = field(default_factory=dict)
    series: int = 0

    def post(self, value: float | list[float], commit: int | str, **fields: Any) -> dict[str, Any]:
        """Post one result of a commit, without having it examined."""
        values = value if isinstance(value, list) else [value]
        document = posted_document(
            posted_result(values=values, **self.result),
            commit=commit if isinstance(commit, str) else sha(commit),
            **fields,
        )
        response = post_results(self.client, self.token, document, key=f"{len(values)}-{random.random()}")
        assert response.status_code == 201, response.text
        self.series = response.json()["series"][0]["id"]
        answer: dict[str, Any] = response.json()
        return answer

    def tell(self, value: float | list[float], commit: int | str, **fields: Any) -> list[dict[str, Any]]:
        """Post one result, have it examined, and return the changes that stand."""
        self.post(value, commit, **fields)
        deliver(self.service)
        return self.changes()

    def tell_all(self, values: Iterable[float], first: int = 0) -> list[list[dict[str, Any]]]:
        """Post a history commit by commit, each with its parent; return what stood after each."""
        return [
            self.tell(value, first + i, parent=sha(first + i - 1) if first + i else None)
            for i, value in enumerate(values)
        ]

    def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        """Read a document of the API."""
        headers = {"Authorization": f"Bearer {self.token}"}
        response = self.client.get(f"/api/v1/{path}", params=parameters, headers=headers)
        assert response.status_code == 200, response.text
        document: dict[str, Any] = response.json()
        return document

    def changes(self, state: str | None = None) -> list[dict[str, Any]]:
        """Return the series' changes that stand, or those in a state (`all`: in any)."""
        parameters = {} if state is None else {"state": state}
        found: list[dict[str, Any]] = self.get(f"series/{self.series}/changes", **parameters)["changes"]
        return found

    def wanted(self) -> list[dict[str, Any]]:
        """Return what the service wants to be measured."""
        found: list[dict[str, Any]] = self.get("wanted", project=PROJECT)["wanted"]
        return found


__all__ = [
    "PROJECT",
    "Poster",
    "Recorded",
    "deliver",
    "noisy",
    "posted",
    "sha",
    "stepped",
    "store_all",
    "sweep_suspicions",
]
