"""A service with something to see: histories, changes, efficiency, checks and alerts; and Grafana's user of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, make_url, text

from app.domain.verdicts import Conclusion
from app.services.alerts.raise_alerts import raise_alerts
from app.store.session import make_engine
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import Poster, deliver, noisy, sha, stepped, store_all
from tests.factories.snapshots import Beginnings

ODD = "o'hare/vision"
"""A project whose name would end a string in SQL."""

MFU = (0.40, 0.50, 0.45)
BANDWIDTH = (0.60, 0.55)
JOULES = (12.0, 10.0, 15.0)
PER_JOULE = (4.0, 6.0, 3.0)
"""What was posted of the benchmark `train`, commit by commit, in base units."""

EFFICIENT = 100
"""The number of the first of these commits."""

WORSE_FROM, GONE_ON = 31, 39
"""`resize` becomes slower by a tenth at the commit with this number, of so many."""


def day(ago: int) -> str:
    """Return a time so many days ago, in ISO 8601."""
    return (datetime.now(UTC) - timedelta(days=ago)).isoformat()


WASTED_S = 108.0
"""Device time of the one run that ended badly."""


@pytest.fixture
def filled(beginnings: Beginnings, client: TestClient, service: Service, admin_token: str) -> Poster:
    """Store all of it, and return who posted the series `resize`."""
    poster = Poster(client, service, admin_token)
    beginnings.have(lambda: _fill(poster), [poster], own=("client", "service", "token"), name="dashboards")
    return poster


def _fill(poster: Poster) -> None:
    client, service, token = poster.client, poster.service, poster.token
    poster.post([9.0, 10.0, 12.0], 0, time=day(60))
    later = (value / 1000 for value in stepped(GONE_ON, at=WORSE_FROM - 1, by=0.1))
    store_all(service, poster.series, later, first=1)
    deliver(service)
    _suspected(client, service, token)
    _efficient(client, service, token)
    Poster(client, service, token, {"benchmark": "it's", "params": {}}).post(
        [1.0, 2.0], "d" * 40, project=ODD
    )
    deliver(service)
    broken = results.suite(state="failed", reason="the machine went away", device_s=WASTED_S)
    with service.database.session() as session:
        worker = stored.worker(session)
        stored.device(session, worker, broken.device_class)
        stored.check(session, results.regressed(), ago=timedelta(hours=30))
        stored.check(session, results.passed(), ago=timedelta(hours=30))
        stored.check(session, results.inconclusive(), ago=timedelta(hours=2))
        stored.check(session, results.check(Conclusion.NOT_MEASURED, broken), ago=timedelta(hours=3))
        stored.check(session, results.running(), ago=timedelta(minutes=40))
    with service.database.session() as session:
        raise_alerts(session, 1)


def _suspected(client: TestClient, service: Service, token: str) -> None:
    """Have a history whose last commits are slower: nobody is sure of it yet."""
    poster = Poster(client, service, token, {"benchmark": "crop"})
    poster.post(10.0, 0)
    values = [*noisy(20, seed=3), *noisy(3, level=14, seed=4)]
    store_all(service, poster.series, (value / 1000 for value in values), first=1)
    deliver(service)


def _efficient(client: TestClient, service: Service, token: str) -> None:
    metrics = {
        "mfu": ("1", "higher", MFU),
        "bandwidth_util": ("1", "higher", BANDWIDTH),
        "energy_per_iter": ("J", "lower", JOULES),
        "perf_per_watt": ("samples/J", "higher", PER_JOULE),
    }
    for name, (unit, better, values) in metrics.items():
        what = {"benchmark": "train", "metric": name, "unit": unit, "better": better}
        poster = Poster(client, service, token, what)
        for number, value in enumerate(values):
            parent = sha(EFFICIENT + number - 1) if number else None
            poster.post(value, EFFICIENT + number, parent=parent, time=day(30 - number))


@pytest.fixture(scope="module")
def grafana_user(database_url: str) -> Iterator[Engine]:
    """The user that docs/dashboards.md has an operator make: of the role that reads views, and nothing else."""
    url = make_url(database_url)
    superuser = make_engine(url.set(username="postgres").render_as_string(hide_password=False))
    with superuser.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("create role grafana login in role ratchet_reader"))
        connection.execute(text("alter role grafana set default_transaction_read_only = on"))
    its = make_engine(url.set(username="grafana").render_as_string(hide_password=False))
    yield its
    its.dispose()
    with superuser.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text("drop role grafana"))
    superuser.dispose()


@pytest.fixture
def asked(service: Service, grafana_user: Engine) -> Iterator[Connection]:
    """Grafana's connection to the database, which is closed before the service's tables are emptied."""
    with grafana_user.connect() as connection:
        yield connection
        connection.rollback()
