"""Migrations lead to exactly the tables, can be taken back, and have one head."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from app.domain.errors import UnavailableError
from app.store.migrate import migrate, require_current
from app.store.session import make_engine
from app.store.tables import Table

pytestmark = pytest.mark.postgres


@pytest.fixture
def empty(database_url: str) -> Iterator[Engine]:
    """An empty database beside the tests' own."""
    admin = make_engine(database_url).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("create database migrations"))
    engine = make_engine(database_url.replace("/ratchet?", "/migrations?"))
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.execute(text("drop database migrations"))
    admin.dispose()


def test_there_is_one_head() -> None:
    assert len(ScriptDirectory(str(files("migrations"))).get_heads()) == 1


def test_up_down_up_ends_with_exactly_the_tables(empty: Engine) -> None:
    migrate(empty)
    migrate(empty, "base")
    left = set(inspect(empty).get_table_names()) - {"alembic_version"}
    assert left == set()
    migrate(empty)
    with empty.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []


def test_every_constraint_has_a_name() -> None:
    unnamed = [
        f"{table.name}: {constraint}"
        for table in Table.metadata.sorted_tables
        for constraint in table.constraints
        if constraint.name is None
    ]
    assert unnamed == []


def test_service_refuses_a_database_of_another_revision(empty: Engine) -> None:
    with pytest.raises(UnavailableError, match="schema revision none"):
        require_current(empty)
    migrate(empty)
    require_current(empty)
