"""A posted document where it meets what is stored: what is known of all that it names is found in one trip.

A program that posts after every test waits for this. Where all but the commit is known, one statement finds that and
stores the document; else what is named anew is found missing, and made by those whose it is: projects, series.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
from app.store.repositories import outbox
from app.store.repositories.access import PRESENTED, PresentedToken
from app.store.repositories.projects import GIVEN_COMMIT, IS_COVERED, CommitFacts, completing
from app.store.repositories.series import LENGTH, NEW_RESULT, KnownSeries, NewResult, storing
from app.store.wire import Rows, Statement


class KnownProject(NamedTuple):
    """A project as a document needs to know it; `branch` is the one whose history is its own."""

    id: int
    name: str
    branch: str


class NamedSeries(NamedTuple):
    """How a document names the series of one of its results."""

    benchmark: str
    params_key: str
    metric: str
    version: str


@dataclass(frozen=True)
class Names:
    """What a document names; `environment` is the digest of its own, `series` are those of its results, in order."""

    project: str
    commit: CommitFacts
    device_class: str
    environment: str
    series: Sequence[NamedSeries]

    def values(self) -> dict[str, Any]:
        """Return what the statements here are asked with."""
        which = {"project": self.project, "device_class": self.device_class, "environment": self.environment}
        return which | {"commit": as_json(self.commit._asdict())}


@dataclass(frozen=True)
class Found:
    """What is stored of what a document names; `series` and their `lengths` are those of its results, in order.

    What is new is None.
    """

    project: KnownProject | None
    environment_id: int | None
    is_commit_known: bool
    """Whether all that is said of the commit is stored; only then it may be taken as it is."""
    series: tuple[KnownSeries | None, ...]
    lengths: tuple[int, ...]
    """How many results each series has."""


def find(session: Session, names: Names) -> Found:
    """Return what is stored of what a document names."""
    (rows,) = in_one_trip(session, (_KNOWN, names.values() | {"named": as_json(names.series)}))
    return _found(names, rows)


def _found(names: Names, rows: Sequence[Sequence[Any]]) -> Found:
    environment_id, project_id, branch, commit_id = rows[0][:4]
    series: list[KnownSeries | None] = [None] * len(names.series)
    lengths = [0] * len(names.series)
    for _, _, _, _, at, series_id, unit, better, length in rows:
        if series_id is not None:
            series[at - 1], lengths[at - 1] = KnownSeries(series_id, unit, better), length
    its = KnownProject(project_id, names.project, branch) if project_id is not None else None
    return Found(its, environment_id, commit_id is not None, tuple(series), tuple(lengths))


# What is of the whole document stands in every row.
_WHOLE = f"""
    whole as materialized (
      select (select id from environment where digest = %(environment)s) as environment_id,
        project.id as project_id, project.branch,
        (select id from commit as known
         where known.project_id = project.id and known.sha = given.sha and {IS_COVERED}) as commit_id
      from json_to_record(%(commit)s::json) as {GIVEN_COMMIT}
      left join project on project.name = %(project)s
    )
"""  # noqa: S608  # nothing of it is anybody's but ours

_SERIES = """
    left join benchmark_case on benchmark_case.project_id = whole.project_id
      and benchmark_case.benchmark = named.benchmark and benchmark_case.params_key = named.params_key
    left join series on case_id = benchmark_case.id and series.metric = named.metric
      and device_class = %(device_class)s and series.version = named.version
"""

_KNOWN = f"""
    with {_WHOLE}
    select environment_id, whole.project_id, whole.branch, commit_id,
      cast(at as int), series.id, unit, better, {LENGTH}
    from (
      select its->>0 as benchmark, its->>1 as params_key, its->>2 as metric, its->>3 as version, at
      from json_array_elements(%(named)s::json) with ordinality as given(its, at)) as named
    cross join whole {_SERIES}
"""  # noqa: S608  # nothing of it is anybody's but ours


@dataclass(frozen=True)
class Ready:
    """A document as it is stored where all that it names is known, and where who posts it may do so.

    Its commit may be new if it `completes` it: then nothing else can stand under its key.
    """

    key: str
    body_digest: str
    presented: PresentedToken
    scopes: Collection[str]
    """The token has one of them, for all projects or for this one."""
    noted_for: timedelta
    """How long its use is noted; to note it is not done here."""
    results: Sequence[NewResult]
    """Of the series named, in order; a branch that is None is the project's."""
    units: Sequence[tuple[str, str]]
    """Unit of each result, and which direction is better."""
    topic: str
    """Announces results; its message is one for a project."""
    delay_s: float
    """When that message leaves [s]."""
    completes: bool


def extending(names: Names, ready: Ready) -> Statement:
    """Return the statement that stores a document whose series are all known; `extended` reads what it returns.

    It is stored if the project and the environment are known, too, its units and directions are those of its series,
    whoever posts it may do so, and nothing was posted under its key. Then the audit log is told and the results are
    announced. While another transaction is storing the same key this waits for its end.
    """
    rows = [
        named._asdict() | {"unit": unit, "better": better} | vars(result)
        for named, (unit, better), result in zip(names.series, ready.units, ready.results, strict=True)
    ]
    its = {
        "key": ready.key,
        "body_digest": ready.body_digest,
        "scopes": list(ready.scopes),
        "noted_for": ready.noted_for,
        "rows": as_json(rows),
        "topic": ready.topic,
        "delay": timedelta(seconds=ready.delay_s),
        "age": timedelta(0),
        "completes": ready.completes,
    }
    return _EXTEND, names.values() | ready.presented._asdict() | its


def extended(names: Names, rows: Rows) -> tuple[Found, int] | None:
    """Return what was stored of what a document names, and the id of its upload; None if it was not stored."""
    *_, upload_id = rows[0]
    return None if upload_id is None else (_found(names, [row[:-1] for row in rows]), upload_id)


ANNOUNCEMENT = """
    select %(topic)s::text as topic, %(topic)s::text || '/' || project_id as key,
      jsonb_build_object('project_id', project_id) as payload
    from claimed
    limit 1
"""
"""The message, one for a project, that uploads of its have brought results: those that a statement has `claimed`."""

_COMMIT = f"""
    select project_id, sha, parent_sha, given.branch, authored_at, author, subject, position
    from allowed cross join json_to_record(%(commit)s::json) as {GIVEN_COMMIT}
    where commit_id is null
"""  # noqa: S608  # nothing of it is anybody's but ours

_EXTENDING = """
    select known_id as series_id, run_id, arm, value, low, high, "values", void, flags, measured_at,
      coalesce(branch, project_branch) as branch
    from found
    order by ordinality
"""

_EXTEND = f"""
    with {_WHOLE}, found as materialized (
      select environment_id, whole.project_id, whole.branch as project_branch, whole.commit_id as known_commit_id,
        named.*, series.id as known_id, series.unit as known_unit, series.better as known_better, {
    LENGTH
} as length
      from rows from (json_to_recordset(%(rows)s::json) as (
        benchmark text, params_key text, metric text, version text, unit text, better text, {NEW_RESULT}
      )) with ordinality as named
      cross join whole {_SERIES}
    ), allowed as materialized (
      select whole.project_id, environment_id, commit_id, presented.name as posted_by
      from whole join ({PRESENTED}) as presented
        on presented.project_id is null or presented.project_id = whole.project_id
      where whole.project_id is not null and environment_id is not null and (commit_id is not null or %(completes)s)
        and not exists (select from found where known_id is null or unit <> known_unit or better <> known_better)
    ), completed as ({completing(_COMMIT)} returning id
    ), claimed as (
      insert into upload (project_id, key, body_digest, commit_id, environment_id, answer, posted_by)
      select project_id, %(key)s, %(body_digest)s, coalesce(commit_id, (select id from completed)), environment_id,
        (select jsonb_build_object('series', jsonb_agg(jsonb_build_object(
           'id', known_id, 'benchmark', benchmark, 'metric', metric, 'n', length + 1, 'new', false)
           order by ordinality)) from found),
        posted_by
      from allowed
      on conflict do nothing
      returning id, project_id, commit_id, posted_by
    ), {
    storing(
        given=f"({_EXTENDING}) as new",
        upload="claimed.id",
        commit="claimed.commit_id",
        beside="cross join claimed",
    )
}, audited as (
      insert into audit_log (actor, action, object, detail)
      select posted_by, 'results.posted', 'upload/' || id,
        jsonb_build_object('project', %(project)s::text, 'results', (select count(*) from found))
      from claimed
    ), announced as ({outbox.renewing(ANNOUNCEMENT)})
    select environment_id, project_id, project_branch, known_commit_id, cast(ordinality as int),
      known_id, known_unit, known_better, length, (select id from claimed)
    from found
"""  # noqa: S608  # nothing of it is anybody's but ours
