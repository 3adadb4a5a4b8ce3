"""Projects, commits, cases and environments: found, or made on first sight."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ARRAY, TableValuedAlias, Text, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Session

from app.store.pipeline import as_json, meanwhile
from app.store.repositories.upsert import find_or_create, get_or_create
from app.store.tables import BenchmarkCase, Commit, Environment, History, Project, Series
from app.store.wire import Statement
from workers.protocol import Params, params_key


def project(session: Session, name: str) -> Project:
    """Return the project `name`, made if it is new."""
    return find_or_create(session, Project, {"name": name})


def find_project(session: Session, name: str) -> Project | None:
    """Return the project `name`, or None."""
    return session.scalars(select(Project).where(Project.name == name)).one_or_none()


def names(session: Session, *, project_ids: Collection[int] | None = None) -> Sequence[str]:
    """Return the names of all projects, or of those given, in order."""
    query = select(Project.name).order_by(Project.name)
    return session.scalars(query if project_ids is None else query.where(Project.id.in_(project_ids))).all()


def every(session: Session, *, project_ids: Collection[int] | None = None) -> Sequence[Project]:
    """Return all projects, or those given, by name."""
    query = select(Project).order_by(Project.name)
    return session.scalars(query if project_ids is None else query.where(Project.id.in_(project_ids))).all()


def summaries(session: Session, *, project_ids: Collection[int] | None) -> Sequence[tuple[str, str, int]]:
    """Return name, branch and number of series of all projects, or of those given, by name."""
    query = (
        select(Project.name, Project.branch, func.count(Series.id))
        .outerjoin(Series, Series.project_id == Project.id)
        .group_by(Project.id)
        .order_by(Project.name)
    )
    rows = session.execute(query if project_ids is None else query.where(Project.id.in_(project_ids)))
    return [(row[0], row[1], row[2]) for row in rows]


def commit(
    session: Session,
    project_id: int,
    sha: str,
    *,
    subject: str = "",
    author: str = "",
    authored_at: datetime | None = None,
    parent_sha: str | None = None,
    branch: str | None = None,
    position: int | None = None,
) -> Commit:
    """Return the commit `sha` of the project; what a later caller knows about it fills what was empty."""
    row, new = get_or_create(
        session,
        Commit,
        {"project_id": project_id, "sha": sha.lower()},
        subject=subject,
        author=author,
        authored_at=authored_at,
        parent_sha=parent_sha,
        branch=branch,
        position=position,
    )
    if not new:
        row.subject = row.subject or subject
        row.author = row.author or author
        row.authored_at = row.authored_at or authored_at
        row.parent_sha = row.parent_sha or parent_sha
        row.branch = row.branch or branch
        row.position = position if row.position is None else row.position
    return row


class CommitFacts(NamedTuple):
    """What a document knows of a commit; None and empty text where it does not."""

    sha: str
    parent_sha: str | None
    branch: str | None
    authored_at: datetime | None
    author: str
    subject: str
    position: int | None


@contextmanager
def making_commits(
    session: Session, project_id: int, wanted: Sequence[CommitFacts]
) -> Iterator[Callable[[], dict[str, int]]]:
    """Have the commits made where they are new, all at once; yield what waits for their ids by their sha.

    What is known of one only now fills what was empty, as with `commit`. Each commit stands in `wanted` once. What the
    block does before it waits goes on meanwhile; nothing else is asked of the session before that. Raises as
    `meanwhile`.
    """
    which = {"project_id": project_id, "shas": [facts.sha for facts in wanted]}
    with meanwhile(session, completed(project_id, wanted), (_COMMIT_IDS, which)) as rows:
        yield lambda: dict(rows()[1])


# Each is looked up by itself: of `sha = any(...)` the planner, as long as it knows nothing of the table, may hold every
# commit of the project against all that are wanted.
_COMMIT_IDS = """
    select sha, (select id from commit where project_id = %(project_id)s and commit.sha = wanted.sha)
    from unnest(%(shas)s::text[]) as wanted(sha)
"""


def completed(project_id: int, wanted: Sequence[CommitFacts]) -> Statement:
    """Return what makes the commits where they are new, and adds what is known of one only now.

    One of which everything is known already is not locked.
    """
    rows = as_json([facts._asdict() for facts in wanted])
    return _COMPLETE_COMMITS, {"project_id": project_id, "rows": rows}


GIVEN_COMMIT = """
    given(sha text, parent_sha text, branch text, authored_at timestamptz, author text, subject text, position int)
"""
"""What `CommitFacts` as JSON are read as."""

IS_COVERED = """
    ((known.parent_sha is not null or given.parent_sha is null)
      and (known.branch is not null or given.branch is null)
      and (known.authored_at is not null or given.authored_at is null)
      and (known.author <> '' or given.author = '')
      and (known.subject <> '' or given.subject = '')
      and (known.position is not null or given.position is null))
"""
"""Whether nothing of what is `given` of a commit would add to what is `known`."""


def completing(given: str) -> str:
    """Return the SQL that makes the commits of a query, `project_id` and `CommitFacts`, or adds to what is known."""
    return f"""
    insert into commit as known
      (project_id, sha, parent_sha, branch, authored_at, author, subject, position)
    {given}
    order by sha  -- one order everywhere, so that none deadlock
    on conflict (project_id, sha) do update set
      parent_sha = coalesce(known.parent_sha, excluded.parent_sha),
      branch = coalesce(known.branch, excluded.branch),
      authored_at = coalesce(known.authored_at, excluded.authored_at),
      author = coalesce(nullif(known.author, ''), excluded.author),
      subject = coalesce(nullif(known.subject, ''), excluded.subject),
      position = coalesce(known.position, excluded.position)
    """  # nothing of it is anybody's but ours


_COMPLETE_COMMITS = completing(
    f"""
    select %(project_id)s, sha, parent_sha, branch, authored_at, author, subject, position
    from json_to_recordset(%(rows)s::json) as {GIVEN_COMMIT}
    where (
      select {IS_COVERED} from commit as known
      where project_id = %(project_id)s and known.sha = given.sha) is not true
    """  # noqa: S608  # nothing of it is anybody's but ours
)


def cases(session: Session, project_id: int, wanted: list[tuple[str, Params]]) -> dict[str, BenchmarkCase]:
    """Return the cases by `benchmark params_key`, made where they are new, all at once."""
    ids = case_ids(session, project_id, [(benchmark, params_key(params)) for benchmark, params in wanted])
    rows = session.scalars(select(BenchmarkCase).where(BenchmarkCase.id.in_(ids)))
    return {f"{row.benchmark} {row.params_key}": row for row in rows}


CaseKey = tuple[str, str]
"""A benchmark and the canonical JSON of its parameters."""


def case_ids(session: Session, project_id: int, keys: Sequence[CaseKey]) -> list[int]:
    """Return the ids of the cases, in their order, made where they are new, all at once."""
    found = _existing_cases(session, project_id, sorted(set(keys)))
    missing = sorted({key for key in keys if key not in found})
    if missing:
        _add_cases(session, project_id, missing)
        found |= _existing_cases(session, project_id, missing)
    return [found[key] for key in keys]


def _existing_cases(session: Session, project_id: int, keys: list[CaseKey]) -> dict[CaseKey, int]:
    wanted = _as_table(keys)
    rows = session.execute(
        select(BenchmarkCase.benchmark, BenchmarkCase.params_key, BenchmarkCase.id)
        .join(
            wanted,
            (BenchmarkCase.benchmark == wanted.c.benchmark)
            & (BenchmarkCase.params_key == wanted.c.params_key),
        )
        .where(BenchmarkCase.project_id == project_id)
    )
    return {(row[0], row[1]): row[2] for row in rows}


def _add_cases(session: Session, project_id: int, keys: list[CaseKey]) -> None:
    """Insert the cases in the order of their keys, so that two posts of the same ones cannot deadlock."""
    new = _as_table(keys)
    columns = literal(project_id), new.c.benchmark, cast(new.c.params_key, JSONB), new.c.params_key
    session.execute(
        insert(BenchmarkCase)
        .from_select(
            ["project_id", "benchmark", "params", "params_key"],
            select(*columns).order_by(new.c.benchmark, new.c.params_key),
        )
        .on_conflict_do_nothing()
    )


def _as_table(keys: list[CaseKey]) -> TableValuedAlias:
    """Return the keys as a table: two bound arrays, however many there are."""
    benchmarks = literal([benchmark for benchmark, _ in keys], ARRAY(Text))
    params_keys = literal([key for _, key in keys], ARRAY(Text))
    table = func.unnest(benchmarks, params_keys).table_valued("benchmark", "params_key", name="wanted")
    return table.render_derived()


def environment_digest(machine_hash: str, machine: dict[str, Any], software: dict[str, Any]) -> str:
    """Return what the environment of this machine and software is found by."""
    content = json.dumps(
        [machine_hash, machine.get("machine", machine), software], sort_keys=True, default=str
    )
    return hashlib.sha256(content.encode()).hexdigest()


def environment(
    session: Session, machine_hash: str, machine: dict[str, Any], software: dict[str, Any]
) -> Environment:
    """Return the environment of this machine and software; equal ones are one row."""
    key = {"digest": environment_digest(machine_hash, machine, software)}
    return find_or_create(
        session, Environment, key, machine_hash=machine_hash, machine=machine, software=software
    )


def commits_like(session: Session, project_id: int, prefix: str) -> Sequence[Commit]:
    """Return at most two commits of the project whose id begins with `prefix`, in lower case."""
    return session.scalars(
        select(Commit)
        .where(Commit.project_id == project_id, Commit.sha.startswith(prefix, autoescape=True))
        .order_by(Commit.sha)
        .limit(2)
    ).all()


def family(session: Session, commit: Commit, *, also: str | None, limit: int) -> Sequence[Commit]:
    """Return the commit's parent, those whose parent it is, and the commit `also`, as far as they are known."""
    its = [sha for sha in (commit.parent_sha, also) if sha is not None]
    return session.scalars(
        select(Commit)
        .where(Commit.project_id == commit.project_id)
        .where(Commit.sha.in_(its) | (Commit.parent_sha == commit.sha))
        .order_by(Commit.id)
        .limit(limit)
    ).all()


def has_branch(session: Session, project_id: int, branch: str) -> bool:
    """Say whether any series of the project has a history on the branch."""
    of_project = History.series_id == Series.id, Series.project_id == project_id
    query = (
        select(History.series_id).where(*of_project, History.branch == branch, History.length > 0).limit(1)
    )
    return session.scalar(query) is not None


def branches(session: Session, project_id: int) -> Sequence[str]:
    """Return the branches on which the project has histories, those of most series first."""
    query = (
        select(History.branch)
        .join(Series, Series.id == History.series_id)
        .where(Series.project_id == project_id, History.length > 0)
        .group_by(History.branch)
        .order_by(func.count().desc(), History.branch)
    )
    return session.scalars(query).all()


def device_classes(session: Session, project_id: int) -> Sequence[str]:
    """Return the device classes that the project has series of, by name."""
    query = select(Series.device_class).where(Series.project_id == project_id).distinct()
    return session.scalars(query.order_by(Series.device_class)).all()
