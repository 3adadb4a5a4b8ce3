"""One PostgreSQL server for the whole test run, one migrated database for each test process, rolled-back sessions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.embedded import EmbeddedPostgres
from app.services.access import Scope, issue_token
from app.store import pipeline
from app.store.migrate import migrate
from app.store.session import Database, make_engine
from app.store.tables import Table
from app.wiring import Service
from tests.factories.application import application
from tests.factories.browser import browser
from tests.factories.conformance import check_answer
from tests.factories.in_process import InProcess
from tests.factories.snapshots import Beginnings

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A throw-away server of this test process."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-test-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with EmbeddedPostgres(folder / "postgres", fast_and_unsafe=True) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def database_url(postgres: EmbeddedPostgres) -> str:
    """A fresh database with this release's schema."""
    url = postgres.url()
    engine = make_engine(url)
    migrate(engine)
    engine.dispose()
    return url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> ServiceSettings:
    """Settings of a service whose broker is away, so that nothing can lean on it."""
    return ServiceSettings(
        database_url=database_url,
        redis_url=f"redis+socket://{tmp_path}/nobody-listens.sock",
        data_dir=tmp_path / "data",
        host="testserver",
        port=80,
        public_url="http://testserver",
    )


@pytest.fixture(scope="session")
def database(database_url: str) -> Iterator[Database]:
    """The service's database for all tests of a process: as in a process that serves, SQL is made once a statement."""
    its_database = Database(database_url)
    yield its_database
    its_database.close()


class HeldService(Service):
    """A service that leaves in the outbox what it writes there, for tests to look at, and to others its database."""

    def __init__(self, settings: ServiceSettings, database: Database) -> None:
        super().__init__(settings)
        self.database = self.probed = database

    def relay_soon(self, after_s: float = 0) -> None:
        """Relay nothing."""

    def close(self) -> None:
        """Close nothing: its connections are for the next test."""


_USED: list[Database] = []
"""The database, while what a service committed may still be in it."""


@pytest.fixture(autouse=True)
def _nothing_of_others(request: pytest.FixtureRequest) -> None:
    """Have no test find what one before it committed; each of a service has that wiped itself."""
    if _USED and "service" not in request.fixturenames:
        wipe(*_USED)
        _USED.clear()


@pytest.fixture
def service(settings: ServiceSettings, database: Database) -> Service:
    """A service on an empty database."""
    wipe(database)  # also sessions that were rolled back have taken ids
    _USED[:] = [database]
    return HeldService(settings, database)


LARGE_B = 1_000_000
"""From where on it takes longer to delete a table's rows one by one."""

FILLED = " union all ".join(
    f"""select '"{table.name}"', pg_relation_size('"{table.name}"') where exists (select from "{table.name}")"""
    for table in reversed(Table.metadata.sorted_tables)
)
KEPT_FOR_GOOD = ('"audit_log"', '"change_point"')
"""Their rows may not be deleted."""


BEGIN_ANEW = """
    select setval(format('%I.%I', schemaname, sequencename), start_value, false) from pg_sequences
    where last_value is not null
"""


def wipe(database: Database) -> None:
    """Empty the tables that have something in them, and have ids begin anew.

    To truncate all of them takes a tenth of a second.
    """
    with database.engine.begin() as connection:
        filled = connection.execute(text(FILLED)).all()
        emptied = [
            f"truncate {name} cascade" if name in KEPT_FOR_GOOD or size_b > LARGE_B else f"delete from {name}"
            for name, size_b in filled
        ]
        # Statements without parameters go to the server, and come from it, all at once.
        at_once = {"no_parameters": True}
        connection.exec_driver_sql("; ".join([*emptied, BEGIN_ANEW]), execution_options=at_once)


def somebody_waits(service: Service) -> bool:
    """Tell whether somebody waits for a lock in the service's database."""
    with service.database.engine.connect() as connection:
        return bool(connection.scalar(text("select count(*) from pg_locks where not granted")))


@pytest.fixture(scope="session")
def beginnings(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Beginnings:
    """What tests of this process begin with."""
    return Beginnings(postgres, tmp_path_factory.mktemp("beginnings"))


@pytest.fixture(scope="session")
def engine(database_url: str) -> Iterator[Engine]:
    """Connections for sessions that leave nothing behind."""
    its_engine = make_engine(database_url)
    yield its_engine
    its_engine.dispose()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """A session that is rolled back at the end."""
    with Session(engine, expire_on_commit=False) as its_session:
        yield its_session
        its_session.rollback()


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    """The application as a client sees it."""
    with InProcess(application(service)) as its_client:
        its_client.event_hooks = {"response": [check_answer]}
        yield its_client


def _token(service: Service, name: str, *scopes: Scope) -> str:
    with service.database.session() as its_session:
        return issue_token(its_session, name, list(scopes))


@pytest.fixture
def admin_token(service: Service) -> str:
    """A token that may do everything but work."""
    return _token(service, "admin", Scope.ADMIN)


@pytest.fixture
def reader(service: Service, admin_token: str) -> TestClient:
    """A browser of somebody who may see everything."""
    return browser(service, admin_token)


@pytest.fixture
def worker_token(service: Service) -> str:
    """An agent's token."""
    return _token(service, "worker", Scope.WORKER)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements each trip to the database had, in their order; what is beside others is sent before them."""
    found: list[int] = []

    def counted(name: str) -> None:
        send = getattr(pipeline, name)

        def sent(connection: Any, prepared: Any, statements: Any, **options: Any) -> Any:
            found.append(len(statements))
            return send(connection, prepared, statements, **options)

        monkeypatch.setattr(pipeline, name, sent)

    counted("exchange")
    counted("under_way")
    return found
