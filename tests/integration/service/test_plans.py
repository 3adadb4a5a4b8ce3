"""Statements that are planned before anything is known of their tables, and go on as they were planned."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.store import wire
from app.store.repositories import projects
from tests.factories.histories import sha

pytestmark = pytest.mark.postgres

UNKNOWN = "create temporary table commit (like commit including all) on commit drop"
"""A table that hides the one there is, of which earlier tests have left the server some knowledge."""

MANY = """
    insert into commit (project_id, sha, position)
    select :project, lpad(to_hex(n), 40, '0'), n from generate_series(1, 3000) as n
"""


def test_commits_of_a_batch_are_looked_up_each_by_itself(session: Session) -> None:
    project = projects.project(session, "acme/many").id
    session.execute(text(UNKNOWN))
    session.execute(text(MANY), {"project": project})
    numbered, _ = wire._numbered(projects._COMMIT_IDS)
    session.execute(text("set local plan_cache_mode = force_generic_plan"))
    session.connection().exec_driver_sql(f"prepare ids (bigint, text[]) as {numbered.decode()}")
    wanted = ",".join(map(sha, range(1, 501)))
    plan = session.scalars(text(f"explain execute ids ({project}, '{{{wanted}}}')")).all()
    session.execute(text("deallocate ids"))
    assert any("Index Cond: ((project_id = $1) AND (sha = wanted.sha))" in line for line in plan), plan
