"""The views for whoever asks in SQL, and the role that may read them and nothing else."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import ProgrammingError

from app.services.alerts.raise_alerts import raise_alerts
from app.store.migrate import migrate
from app.store.session import make_engine
from app.store.tables import Table
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.checks import check_request
from tests.factories.histories import Poster, deliver, stepped, store_all
from workers import protocol

pytestmark = pytest.mark.postgres

DOCUMENT = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
STATEMENTS = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL)
QUESTIONS = [one for one in STATEMENTS if one.startswith(("select", "with"))]
VIEWS = (
    "projects",
    "series",
    "results",
    "samples",
    "runs",
    "devices",
    "changes",
    "checks",
    "verdicts",
    "alerts",
)
SHOULD_FAIL = (
    *(f'select 1 from public."{table.name}"' for table in Table.metadata.sorted_tables),
    "select 1 from alembic_version",
    "delete from ratchet_views.projects",
    "update ratchet_views.projects set name = 'x'",
    "drop view ratchet_views.projects",
    "create table public.mine (id int)",
    "create table ratchet_views.mine (id int)",
    "create schema mine",
)


@pytest.fixture
def filled(client, service, admin_token, worker_token) -> None:
    """A history with a change, and a check that is still open."""
    poster = Poster(client, service, admin_token)
    poster.post([10.0, 12.0], 0, time="2026-10-01T00:00:00Z")
    store_all(service, 1, (value / 1000 for value in stepped(39, at=30, by=0.1)), first=1)
    deliver(service)
    agent = FakeAgent(client, worker_token)
    agent.register()
    headers = {"Authorization": f"Bearer {admin_token}"}
    client.post("/api/v1/checks", json=check_request(), headers=headers).raise_for_status()
    agent.claim()
    listing = latency_listing("resize", batch=32)
    agent.prepare([listing], [listing])
    agent.block(protocol.CaseId(benchmark="resize", params={"batch": 32}), lambda arm, _: 1e-3)
    with service.database.session() as session:
        raise_alerts(session, 1)


@pytest.fixture(scope="module")
def superuser(database_url: str) -> Iterator[Engine]:
    """The server's own user, who may take any role."""
    url = make_url(database_url).set(username="postgres")
    its = make_engine(url.render_as_string(hide_password=False))
    yield its
    its.dispose()


@pytest.fixture
def reader(filled, superuser: Engine) -> Iterator[Connection]:
    """Somebody who has the role."""
    with superuser.connect() as connection:
        connection.execute(text("set role ratchet_reader"))
        yield connection
        connection.rollback()


def is_refused(connection: Connection, statement: str) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(text(statement))
    except ProgrammingError as error:
        return "permission denied" in str(error) or "must be owner" in str(error)
    return False


def test_reader_reads_every_view_and_nothing_else(reader: Connection) -> None:
    empty = [view for view in VIEWS if not reader.scalar(text(f"select count(*) from ratchet_views.{view}"))]
    assert empty == []
    assert [statement for statement in SHOULD_FAIL if not is_refused(reader, statement)] == []
    settings = reader.scalar(text("select rolconfig from pg_roles where rolname = 'ratchet_reader'"))
    assert {"statement_timeout=30s", "default_transaction_read_only=on"} <= set(settings)
    assert reader.scalar(text("select rolcanlogin from pg_roles where rolname = 'ratchet_reader'")) is False


def test_questions_of_the_docs_have_answers_which_are_those_of_the_tables(reader: Connection) -> None:
    assert len(QUESTIONS) > 5
    unanswered = [question for question in QUESTIONS if not reader.exec_driver_sql(question).all()]
    assert unanswered == []
    point = (
        "select value, low, high, n, all_values, place from ratchet_views.results join ratchet_views.samples"
    )
    first = reader.execute(text(f"{point} on result_id = results.id order by place limit 1")).one()
    assert first == (0.011, 0.01, 0.012, 2, [0.01, 0.012], 1.0)
    (change,) = reader.execute(text("select change, is_worse, is_machine, state from ratchet_views.changes"))
    assert change == (pytest.approx(0.1, abs=0.02), True, False, "confirmed")


def test_every_column_is_described_in_the_database_and_in_the_docs(engine: Engine) -> None:
    with engine.connect() as connection:
        columns = connection.execute(
            text(
                "select relname, attname, col_description(pg_class.oid, attnum), obj_description(pg_class.oid)"
                " from pg_class join pg_attribute on attrelid = pg_class.oid"
                " where relnamespace = 'ratchet_views'::regnamespace and attnum > 0 order by 1, attnum"
            )
        ).all()
    assert {view for view, *_ in columns} == set(VIEWS)
    sections = dict(re.findall(r"### `(\w+)`\n(.*?)(?=\n###|\Z)", DOCUMENT, re.DOTALL))
    for view, column, meaning, about in columns:
        assert about in sections[view]
        assert f"| `{column}` | {meaning} |" in sections[view]


@pytest.fixture
def without_role(superuser: Engine) -> Iterator[str]:
    """An empty database of the user `ratchet`, on a server without the role; its name."""
    admin = superuser.execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("create database views owner ratchet"))
        connection.execute(text("alter role ratchet_reader rename to ratchet_reader_elsewhere"))
    yield "views"
    with admin.connect() as connection:
        connection.execute(text("drop database views"))
        connection.execute(text("drop role if exists ratchet_reader"))
        connection.execute(text("alter role ratchet_reader_elsewhere rename to ratchet_reader"))


def engine_of(superuser: Engine, database: str, user: str) -> Engine:
    url = superuser.url.set(database=database, username=user)
    return make_engine(url.render_as_string(hide_password=False))


def may_read(its: Engine) -> bool:
    with its.connect() as connection:
        connection.execute(text("set local role ratchet_reader"))
        return connection.scalar(text("select count(*) from ratchet_views.results")) == 0


def test_user_who_may_make_no_roles_gets_the_views_and_is_told(
    without_role: str, superuser: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    modest, admin = (engine_of(superuser, without_role, user) for user in ("ratchet", "postgres"))
    with caplog.at_level(logging.WARNING):
        migrate(modest)
    (told,) = [record.getMessage() for record in caplog.records if "ratchet_reader" in record.getMessage()]
    by_hand = told.partition("makes it by: ")[2]
    assert [line for line in STATEMENTS[1].splitlines() if line not in by_hand] == []
    with admin.begin() as connection:
        connection.exec_driver_sql(by_hand)
    assert may_read(admin)
    modest.dispose()
    admin.dispose()


def test_views_come_and_go_and_the_role_stays(without_role: str, superuser: Engine) -> None:
    admin = engine_of(superuser, without_role, "postgres")
    migrate(admin)
    assert may_read(admin)
    migrate(admin, "base")
    with admin.connect() as connection:
        assert connection.scalar(text("select to_regnamespace('ratchet_views')")) is None
        assert connection.scalar(text("select count(*) from pg_roles where rolname = 'ratchet_reader'")) == 1
    migrate(admin)
    assert may_read(admin)
    admin.dispose()
