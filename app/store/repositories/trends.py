"""A history as a trend shows it: its points as columns, and what is behind those that are shown."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.store.tables import Commit, History, Result, Series


@dataclass(frozen=True)
class TrendColumns:
    """The points of a history in their order; each value is the median of `n`, from `low` to `high`."""

    result_ids: tuple[int, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: tuple[int, ...]


class Behind(NamedTuple):
    """What is behind one point: its commit, where it was measured, and what was noted.

    `time` is the commit's, in ISO 8601; where nobody said it, when the result was measured or received.
    """

    result_id: int
    sha: str
    subject: str
    author: str
    time: str
    run_id: int | None
    upload_id: int | None
    flags: list[str]


def branches(session: Session, series_id: int) -> Sequence[tuple[str, int]]:
    """Return the branches on which the series has a history, with the number of points, the longest first."""
    rows = session.execute(
        select(History.branch, History.length)
        .where(History.series_id == series_id)
        .order_by(History.length.desc(), History.branch)
    ).all()
    return [(row[0], row[1]) for row in rows]


def columns(session: Session, series_id: int, branch: str) -> TrendColumns:
    """Return all points of the history, oldest first; empty where there is none."""
    row = session.execute(_COLUMNS, {"series_id": series_id, "branch": branch}).one()
    told = [bytes(column or b"") for column in row]
    n = len(told[0]) // 8
    whole, real = struct.Struct(f">{n}q"), struct.Struct(f">{n}d")
    return TrendColumns(
        whole.unpack(told[0]),
        real.unpack(told[1]),
        real.unpack(told[2]),
        real.unpack(told[3]),
        whole.unpack(told[4]),
    )


# As bytes of PostgreSQL's own binary protocol: an object for each point would take longer to make than to read it.
_COLUMNS = text(
    """
    select
      string_agg(int8send(id), '' order by place, id),
      string_agg(float8send(value), '' order by place, id),
      string_agg(float8send(low), '' order by place, id),
      string_agg(float8send(high), '' order by place, id),
      string_agg(int8send(n), '' order by place, id)
    from result
    where series_id = :series_id and branch = :branch and place is not null
    """
)


def newest_value(session: Session, series: Series, branch: str, sha: str) -> float | None:
    """Return the value of a commit's newest result in the history; None where it has none."""
    query = (
        select(Result.value)
        .join(Commit, Commit.id == Result.commit_id)
        .where(Commit.project_id == series.project_id, Commit.sha == sha)
        .where(Result.series_id == series.id, Result.branch == branch, Result.place.is_not(None))
    )
    return session.scalar(query.order_by(Result.id.desc()).limit(1))


def behind(session: Session, result_ids: Collection[int]) -> dict[int, Behind]:
    """Return what is behind each of these points, by the result's id."""
    rows = session.scalar(_BEHIND, {"ids": list(result_ids)}) if result_ids else None
    return {row[0]: Behind._make(row) for row in rows or ()}


# One value of JSON: thousands of rows would take longer to be made into Python's objects one by one.
_BEHIND = text(
    """
    select json_agg(json_build_array(
      result.id, sha, subject, author, coalesce(authored_at, measured_at), run_id, upload_id, flags))
    from result join commit on commit.id = result.commit_id
    where result.id = any(:ids)
    """
)
