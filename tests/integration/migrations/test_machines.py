"""Revision 0005 beside a service at work: it waits for nobody while it holds something."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from sqlalchemy import Engine, text

from app.store.migrate import migrate
from tests.integration.migrations.test_migrations import empty

pytestmark = pytest.mark.postgres

__all__ = ["empty"]

AUDITED = "insert into audit_log (actor, action, object, detail) values ('a', 'b', 'device/1', '{}')"


@pytest.mark.parametrize(("revision", "target"), [("0004", "0005"), ("0005", "-1")])
def test_migration_and_a_post_that_holds_some_tables_both_go_on(
    empty: Engine, revision: str, target: str
) -> None:
    migrate(empty, revision)
    with ThreadPoolExecutor(1) as pool, empty.connect() as post:
        post.execute(text("update timing set k = 2"))
        migration = pool.submit(migrate, empty, target)
        Event().wait(3.0)  # longer than the migration waits for a lock
        post.execute(text("set lock_timeout = '20s'"))
        for table, column in (("run", "device_s"), ("verdict", "device_s"), ("device", "health")):
            post.execute(text(f"update {table} set {column} = {column}"))
        post.execute(text(AUDITED))
        post.commit()
        migration.result()
        assert post.scalar(text("select count(*) from audit_log")) == 1
