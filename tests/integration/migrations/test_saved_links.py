"""Links that people keep: each opens after an update of the service what it opened before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from app.config import ServiceSettings
from app.services.access import Scope, issue_token
from app.services.alerts.raise_alerts import raise_alerts
from app.store.migrate import migrate
from app.store.session import Database
from tests.factories.histories import PROJECT, Poster, deliver, sha, stepped
from tests.factories.in_process import InProcess
from tests.factories.serving import application
from tests.integration.conftest import HeldService
from tests.integration.migrations.test_migrations import empty

pytestmark = pytest.mark.postgres

__all__ = ["empty"]

BEFORE = "0012"
"""The first revision whose pages have all of these addresses."""

SAVED = {
    "series by words and device": f"/series?q=resize&project={PROJECT}&device_class=cpu-x86",
    "series on a branch": "/series/1?branch=main",
    "part of a series, relative to a commit": f"/series/1?first=10&last=30&relative={sha(5)}",
    "series beside another": "/series/1?beside=2",
    "two commits": f"/compare?project={PROJECT}&base={sha(3)}&head={sha(35)}",
    "two branches, narrowed": f"/compare?project={PROJECT}&base=main&head=main&base_device_class=cpu-x86&q=resize",
    "commit": f"/commits/{sha(35)}?project={PROJECT}",
    "benchmark": f"/benchmarks?project={PROJECT}&name=resize",
    "what was posted": "/runs/upload-7",
    "alerts": f"/alerts?project={PROJECT}&state=all",
    "one alert": "/alerts/1",
    "trend as JSON": "/api/v1/series/1/trend?branch=main",
    "badge": "/badge/series/1.svg",
}
SHOWN = re.compile(r"1[01]\.\d+ ms|0\.01[01]\d+")
"""Values of the history, as pages and documents tell them."""


@pytest.fixture
def kept(empty: Engine, settings: ServiceSettings) -> Iterator[tuple[TestClient, Engine]]:
    """A browser of somebody who may read all, on a service with a history that became slower, and its database."""
    migrate(empty)
    url = empty.url.render_as_string(hide_password=False)
    service = HeldService(settings.model_copy(update={"database_url": url}), Database(url))
    with service.database.session() as session:
        token = issue_token(session, "ada", [Scope.ADMIN])
    with InProcess(application(service)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        poster = Poster(client, service, token)
        for number, value in enumerate(stepped(40, at=30, by=0.1)):
            poster.post([value, value * 1.001], number, parent=sha(number - 1) if number else None)
        deliver(service)
        with service.database.session() as session:
            raise_alerts(session, 1)
        yield client, empty
    service.database.close()


def test_link_shows_after_an_update_what_it_showed_before(kept: tuple[TestClient, Engine]) -> None:
    client, engine = kept
    before = {name: client.get(link) for name, link in SAVED.items()}
    assert {name: answer.status_code for name, answer in before.items()} == dict.fromkeys(SAVED, 200)
    migrate(engine, BEFORE)
    migrate(engine)
    for name, link in SAVED.items():
        after = client.get(link)
        assert after.status_code == 200, name
        assert SHOWN.findall(after.text) == SHOWN.findall(before[name].text), name
    assert all(SHOWN.search(before[name].text) for name in ("series on a branch", "two commits", "commit"))
