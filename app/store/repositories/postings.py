"""A posted document where it meets what is stored: what is known of all that it names is found in one trip.

A program that posts after every test waits for this, so what it names anew is found missing here, and made by those
whose it is: projects, series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
from app.store.repositories.projects import GIVEN_COMMIT, IS_COVERED, CommitFacts
from app.store.repositories.series import LENGTH, KnownSeries


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


def find(
    session: Session,
    project: str,
    commit: CommitFacts,
    device_class: str,
    environment: str,
    named: Sequence[NamedSeries],
) -> Found:
    """Return what is stored of a document on this device class; `environment` is the digest of its own."""
    which: dict[str, Any] = {"project": project, "device_class": device_class, "environment": environment}
    whole = which | {"commit": as_json(commit._asdict()), "named": as_json(named)}
    (rows,) = in_one_trip(session, (_KNOWN, whole))
    environment_id, project_id, branch, is_commit_known = rows[0][:4]
    series: list[KnownSeries | None] = [None] * len(named)
    lengths = [0] * len(named)
    for *_, at, series_id, unit, better, length in rows:
        if series_id is not None:
            series[at], lengths[at] = KnownSeries(series_id, unit, better), length
    its = KnownProject(project_id, project, branch) if project_id is not None else None
    return Found(its, environment_id, bool(is_commit_known), tuple(series), tuple(lengths))


# What is of the whole document stands in every row.
_KNOWN = f"""
    with whole as materialized (
      select (select id from environment where digest = %(environment)s) as environment_id,
        project.id as project_id, project.branch,
        (select {IS_COVERED} from commit as known
         where known.project_id = project.id and known.sha = given.sha) as is_commit_known
      from json_to_record(%(commit)s::json) as {GIVEN_COMMIT}
      left join project on project.name = %(project)s
    )
    select environment_id, whole.project_id, whole.branch, is_commit_known,
      cast(at - 1 as int), series.id, unit, better, {LENGTH}
    from json_array_elements(%(named)s::json) with ordinality as named(its, at)
    cross join whole
    left join benchmark_case on benchmark_case.project_id = whole.project_id
      and benchmark = its->>0 and params_key = its->>1
    left join series on case_id = benchmark_case.id and metric = its->>2
      and device_class = %(device_class)s and version = its->>3
"""  # noqa: S608  # nothing of it is anybody's but ours
