"""Statements that are planned before anything is known of their tables, and go on as they were planned."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.store import wire
from app.store.repositories import batches, projects
from tests.factories.histories import sha

pytestmark = pytest.mark.postgres

UNKNOWN = "create temporary table {0} (like {0} including all) on commit drop"
"""A table that hides the one there is, of which earlier tests have left the server some knowledge."""

COMMITS = """
    insert into commit (project_id, sha, position)
    select 7, lpad(to_hex(n), 40, '0'), n from generate_series(1, 3000) as n
"""

CASES = """
    insert into benchmark_case (id, project_id, benchmark, params, params_key)
    select n, 7, 'b' || n, '{}', '{}' from generate_series(1, 3000) as n
"""

SERIES = """
    insert into series (project_id, case_id, metric, device_class, version, unit, better)
    select 7, n, 'm', 'd', '', 's', 'lower' from generate_series(1, 3000) as n
"""


def generic_plan(session: Session, statement: str, types: str, values: str) -> str:
    """Return the plan that is kept of a statement, whatever it is asked with."""
    numbered, _ = wire._numbered(statement)
    session.execute(text("set local plan_cache_mode = force_generic_plan"))
    driver = session.connection()
    driver.exec_driver_sql(f"prepare planned ({types}) as {numbered.decode()}")
    try:
        return "\n".join(driver.exec_driver_sql(f"explain execute planned ({values})").scalars())
    finally:
        driver.exec_driver_sql("deallocate planned")


def test_commits_of_a_batch_are_looked_up_each_by_itself(session: Session) -> None:
    session.execute(text(UNKNOWN.format("commit")))
    session.execute(text(COMMITS))
    wanted = ",".join(map(sha, range(1, 501)))
    plan = generic_plan(session, projects._COMMIT_IDS, "bigint, text[]", f"7, '{{{wanted}}}'")
    assert "Index Cond: ((project_id = $1) AND (sha = wanted.sha))" in plan, plan


def test_series_of_a_batch_are_looked_up_each_by_itself(session: Session) -> None:
    for table, filled in (("benchmark_case", CASES), ("series", SERIES)):
        session.execute(text(UNKNOWN.format(table)))
        session.execute(text(filled))
    plan = generic_plan(session, batches._SERIES, "text, bigint", "'[]', 7")
    assert "Seq Scan" not in plan, plan
    assert "Hash" not in plan, plan
