"""A database of years, filled in minutes: every series of every project has a result of each commit, of ten values."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from benchmarks.reads import PAIRS, settle
from benchmarks.stack import data_folder

AT_ONCE = 50
"""Commits that are stored in one statement."""


@dataclass(frozen=True)
class Size:
    """How many projects there are, series of each, and commits of each."""

    projects: int
    series: int
    commits: int

    @property
    def results(self) -> int:
        """How many results that makes."""
        return self.projects * self.series * self.commits


@contextmanager
def kept_folder(name: str = "") -> Iterator[Path]:
    """Give the folder that RATCHET_BENCH_DATA names, with a part of its own by name, or one for the time."""
    kept = os.environ.get("RATCHET_BENCH_DATA")
    if kept:
        folder = Path(kept) / name
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with data_folder() as folder:
        yield folder


def fill_if_empty(engine: Engine, size: Size) -> None:
    """Fill a database that has no result yet; the engine is of somebody who may leave out checks."""
    with engine.connect() as connection:
        if connection.scalar(text("select exists (select from result)")):
            return
        connection.execute(text("set statement_timeout = 0"))
        connection.execute(text("set synchronous_commit = off"))
        # Whatever a result refers to is there: to have that checked row by row would take most of the time.
        connection.execute(text("set session_replication_role = replica"))
        with _without_indexes(connection):
            for statement in _DIMENSIONS:
                connection.execute(
                    text(statement),
                    vars(size) | {"pairs": PAIRS},
                )
            for first in range(1, size.commits + 1, AT_ONCE):
                connection.execute(
                    text(_RESULTS), {"first": first, "last": first + AT_ONCE - 1, "series": size.series}
                )
                connection.commit()
                _tell(f"{first + AT_ONCE - 1} of {size.commits} commits")
        _tell("looking through the tables")
        settle(connection)
        connection.execute(
            text("checkpoint")
        )  # what was written is not still being written when questions are asked


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    """Make the indexes after the rows, which takes a fraction of the time."""
    found = connection.execute(text(_INDEXES)).all()
    for name, _ in found:
        connection.execute(text(f'drop index "{name}"'))
    yield
    for name, definition in found:
        begun = time.perf_counter()
        connection.execute(text(definition))
        connection.commit()
        _tell(f"{name}: {time.perf_counter() - begun:.0f} s")


def _tell(what: str) -> None:
    print(f"filling: {what}", file=sys.stderr, flush=True)


_INDEXES = """
    select indexname, indexdef from pg_indexes
    where schemaname = 'public' and tablename in ('result', 'sample')
      and indexname not in (select conname from pg_constraint)
"""

_DIMENSIONS = (
    """
    insert into project (id, name) overriding system value
    select n, 'bench/scale-' || n from generate_series(1, cast(:projects as int)) as n
    """,
    """
    insert into environment (id, digest, machine_hash, machine, software) overriding system value
    values (1, repeat('1', 64), repeat('1', 64), '{"cpu": "of a benchmark"}', '{}')
    """,
    """
    insert into commit (project_id, sha, parent_sha, position, branch, subject, author, authored_at)
    select its, lpad(to_hex(n), 40, '0'), lpad(to_hex(n - 1), 40, '0'), n, 'main',
      'Make the thing number ' || n || ' a little quicker', 'Ada Lovelace',
      now() - (:commits - n) * interval '4 hours'
    from generate_series(1, cast(:commits as int)) as n cross join generate_series(1, cast(:projects as int)) as its
    order by n, its
    """,
    """
    insert into upload (project_id, key, body_digest, environment_id, commit_id, answer, posted_by)
    select project_id, 'scale ' || id, repeat('2', 64), 1, id, '{}', 'benchmark' from commit order by id
    """,
    """
    insert into benchmark_case (id, project_id, benchmark, params, params_key) overriding system value
    select n, 1 + (n - 1) / :series, 'bench_' || (n - 1) % :series / 5, jsonb_build_object('batch', n),
      '{"batch":' || n || '}'
    from generate_series(1, :projects * cast(:series as int)) as n
    """,
    """
    insert into series (id, project_id, case_id, metric, unit, better, device_class) overriding system value
    select n, 1 + (n - 1) / :series, n, 'latency_p50', 's', 'lower', 'device-' || (n - 1) % :series / :pairs
    from generate_series(1, :projects * cast(:series as int)) as n
    """,
    """
    insert into history (series_id, branch, length, last_place)
    select id, 'main', :commits, :commits from series
    """,
)

_VALUES = ", ".join(["v * (0.99 + 0.02 * random())"] * 10)

_RESULTS = f"""
    with given as materialized (
      select nextval(cast('result_id_seq' as regclass)) as id, its.id as series_id,
        upload.commit_id, upload.id as upload_id, 0.01 * (1 + 0.02 * random()) as v, commit.position, commit.authored_at
      from commit join upload on upload.commit_id = commit.id
      cross join lateral generate_series(1, cast(:series as int)) as n
      cross join lateral (select (commit.project_id - 1) * :series + n as id) as its
      where position between :first and :last
      order by commit.id, n
    ), stored as (
      insert into result (id, series_id, commit_id, upload_id, arm,
        value, low, high, n, flags, measured_at, branch, place)
      overriding system value
      select id, series_id, commit_id, upload_id, 'head',
        v, v * 0.99, v * 1.01, 10, null, authored_at, 'main', position
      from given)
    insert into sample (result_id, "values", void) select id, array[{_VALUES}], null from given
"""
