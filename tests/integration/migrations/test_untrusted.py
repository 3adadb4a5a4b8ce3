"""Revision 0008 is not taken back under jobs of strangers' commits: the release before would run them unconfined."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from app.store.migrate import migrate
from tests.integration.migrations.test_migrations import empty

pytestmark = pytest.mark.postgres

__all__ = ["empty"]

OF_A_STRANGER = (
    "insert into project (name) values ('acme/vision')",
    "insert into commit (project_id, sha) values (1, repeat('a', 40))",
    "insert into job"
    " (project_id, key, suite, device_class, head_commit_id, spec, policy, budget_s, max_pairs, is_untrusted)"
    " values (1, 'one', 'inference', 'cpu', 1, '{}', '{}', 30, 8, true)",
)


def test_it_stays_where_there_is_a_strangers_job_and_goes_where_there_is_none(empty: Engine) -> None:
    migrate(empty, "0008")
    with empty.begin() as connection:
        for statement in OF_A_STRANGER:
            connection.execute(text(statement))
    with pytest.raises(RuntimeError, match="delete them first"):
        migrate(empty, "-1")
    with empty.begin() as connection:
        assert connection.scalar(text("select version_num from alembic_version")) == "0008"
        connection.execute(text("delete from job"))
    migrate(empty, "-1")
    with empty.connect() as connection:
        assert connection.scalar(text("select version_num from alembic_version")) == "0007"
