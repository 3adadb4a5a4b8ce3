"""Documents of a batch where they meet what is stored.

Their series and environments are found in one trip, and they are stored in one with their uploads; their commits, and
what is there already of those that say when they were measured, are the others' whose they are: projects, series.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
from app.store.repositories import outbox
from app.store.repositories.postings import ANNOUNCEMENT
from app.store.repositories.series import NEW_RESULT, KnownSeries, NewResult, storing


class SeriesName(NamedTuple):
    """How documents name a series of their project."""

    benchmark: str
    params_key: str
    metric: str
    device_class: str
    version: str


class Found(NamedTuple):
    """What is stored of what documents name; what is new is left out."""

    series: dict[SeriesName, KnownSeries]
    environments: dict[str, int]
    """Ids by digest."""


def find(
    session: Session, project_id: int, series: Collection[SeriesName], environments: Collection[str]
) -> Found:
    """Return what is stored of these series of a project, and of the environments of these digests."""
    names = list(series)
    rows, known = in_one_trip(
        session,
        (_SERIES, {"project_id": project_id, "named": as_json(names)}),
        (_ENVIRONMENTS, {"digests": list(environments)}),
    )
    return Found({names[at - 1]: KnownSeries(*its) for at, *its in rows}, dict(known))


# Each is looked up by itself, as in projects.making_commits: a plan that is made while nothing is known of the tables,
# and kept, must not hold all of a project's series against all that are wanted.
_SERIES = """
    select cast(at as int), its.id, its.unit, its.better
    from (
      select its->>0 as benchmark, its->>1 as params_key, its->>2 as metric, its->>3 as device_class,
        its->>4 as version, at
      from json_array_elements(%(named)s::json) with ordinality as given(its, at)) as named
    cross join lateral (
      select id, unit, better from series
      where metric = named.metric and device_class = named.device_class and version = named.version
        and case_id = (
          select id from benchmark_case
          where project_id = %(project_id)s and benchmark = named.benchmark and params_key = named.params_key)
      offset 0) as its
"""

_ENVIRONMENTS = "select digest, id from environment where digest = any(%(digests)s::text[])"


class NewDocument(NamedTuple):
    """A document that is to be stored under its key, with its results, which are of its commit."""

    key: str
    body_digest: str
    commit_id: int
    environment_id: int
    results: Sequence[NewResult]


def store(
    session: Session,
    project_id: int,
    documents: Sequence[NewDocument],
    *,
    project: str,
    posted_by: str,
    topic: str,
    delay_s: float,
) -> dict[str, int]:
    """Return by its key the id of the upload of each document that was stored now; one that was there is left out.

    If any was, the audit log is told and the project's results are announced. While another transaction is storing one
    of the keys this waits for its end.

    Args:
        session: the session.
        project_id: whose they are.
        documents: what is stored; no two have one key.
        project: the project's name, for the audit log.
        posted_by: whose name stands at them.
        topic: announces results; its message is one for a project.
        delay_s: when that message leaves [s].
    """
    which = {
        "project_id": project_id,
        "posted_by": posted_by,
        "project": project,
        "topic": topic,
        "delay": timedelta(seconds=delay_s),
        "age": timedelta(0),
        "uploads": as_json([document[:-1] for document in documents]),
        "rows": as_json(
            [{"key": document.key} | vars(result) for document in documents for result in document.results]
        ),
    }
    (made,) = in_one_trip(session, (_STORE, which))
    return dict(made)


_RESULTS = f"""
    select new.*, claimed.id as claimed_id, claimed.commit_id as claimed_commit_id
    from rows from (json_to_recordset(%(rows)s::json) as (key text, {NEW_RESULT})) with ordinality as new
    join claimed using (key)
    order by ordinality
"""  # noqa: S608  # nothing of it is anybody's but ours

_STORE = f"""
    with claimed as (
      insert into upload (key, body_digest, commit_id, environment_id, project_id, answer, posted_by)
      select its->>0, its->>1, cast(its->>2 as bigint), cast(its->>3 as bigint), %(project_id)s, '{{}}', %(posted_by)s
      from json_array_elements(%(uploads)s::json) as its
      order by 1  -- one order everywhere, so that none deadlock
      on conflict do nothing
      returning key, id, project_id, commit_id
    ), {
    storing(given=f"({_RESULTS}) as new", upload="new.claimed_id", commit="new.claimed_commit_id")
}, audited as (
      insert into audit_log (actor, action, object, detail)
      select %(posted_by)s, 'results.batch', 'project/' || %(project_id)s::bigint, jsonb_build_object(
        'project', %(project)s::text, 'documents', (select count(*) from claimed),
        'results', (select count(*) from given))
      where exists (select from claimed)
    ), announced as ({outbox.renewing(ANNOUNCEMENT)})
    select key, id from claimed
"""  # noqa: S608  # nothing of it is anybody's but ours
