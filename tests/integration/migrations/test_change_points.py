"""Revision 0003 beside a service at work: it waits for nobody while it holds something, and can be taken back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from sqlalchemy import Engine, text

from app.store.migrate import migrate
from tests.integration.migrations.test_migrations import empty

pytestmark = pytest.mark.postgres

__all__ = ["empty"]

POSTED = """
insert into project (name) values ('p');
insert into commit (project_id, sha) values (1, 'aa');
insert into benchmark_case (project_id, benchmark, params, params_key) values (1, 'b', '{}', '{}');
insert into series (project_id, case_id, metric, unit, better, device_class) values (1, 1, 'm', 's', 'lower', 'c');
"""
RESULT = """
insert into result (series_id, commit_id, arm, value, low, high, n, flags, measured_at)
values (1, 1, 'base', 1, 1, 1, 1, '{}', clock_timestamp())
"""


def test_migration_and_an_ingest_that_holds_some_tables_both_go_on(empty: Engine):
    migrate(empty, "0002")
    with ThreadPoolExecutor(1) as pool, empty.connect() as ingest:
        ingest.execute(text(POSTED))
        ingest.commit()
        ingest.execute(text("update commit set subject = 'x'"))
        migration = pool.submit(migrate, empty, "0003")
        Event().wait(0.5)
        ingest.execute(text("set lock_timeout = '20s'"))
        ingest.execute(text(RESULT))
        ingest.execute(text("update project set branch = 'master'"))
        ingest.commit()
        migration.result()
        assert ingest.scalar(text("select branch from result")) == "master"


def test_release_before_finds_no_message_that_it_does_not_know(empty: Engine):
    migrate(empty, "0003")
    with empty.begin() as connection:
        connection.execute(
            text(
                "insert into outbox (topic, key, payload) values ('series.examine', 'series.examine/1', '{}')"
            )
        )
    migrate(empty, "-1")
    with empty.connect() as connection:
        assert connection.scalar(text("select count(*) from outbox")) == 0
        assert connection.scalar(text("select version_num from alembic_version")) == "0002"
