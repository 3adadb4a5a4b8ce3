"""A history as a trend shows it: its points as columns, what is behind and beside those shown, and where it changed.

A person waits for it, so statements go to PostgreSQL together, and what has thousands of rows comes as columns: to make
an object of each row would take longer than to read them. Texts come as JSON, which is what most of them become.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.changes import STANDING
from app.formats.plain_json import WrittenTexts
from app.store.pipeline import beside, in_one_trip
from app.store.repositories import trend_marks
from app.store.repositories.trend_marks import Marks, Sought, real, whole
from app.store.tables import BenchmarkCase, Commit, Project, Result, Series
from app.store.wire import Rows


@dataclass(frozen=True)
class TrendColumns:
    """The points of a history in their order; each value is the median of `n`, from `low` to `high`.

    A source is the id of a run, or that of an upload with its sign turned; 0 for neither. Equal `machines` are one, by
    the hash of its fingerprint; 0 where nobody told it.
    """

    result_ids: tuple[int, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: tuple[int, ...]
    sources: tuple[int, ...]
    machines: tuple[int, ...]


class ChangeRow(NamedTuple):
    """A change that stands, with its commits."""

    id: int
    row: int
    kind: str
    state: str
    change: float | None
    ci_low: float | None
    ci_high: float | None
    before: float | None
    after: float | None
    label: str | None
    sha: str
    subject: str
    author: str
    previous_sha: str


@dataclass(frozen=True)
class Behind:
    """What is behind points, as columns: their commits, and what was noted.

    `time` is the commit's, in ISO 8601; where nobody said it, when the result was measured or received.
    """

    sha: Sequence[str] = ()
    subject: Sequence[str] = ()
    author: Sequence[str] = ()
    time: Sequence[str] = ()
    flags: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class History:
    """A series' history on a branch; `branches` are those on which it has one, with their lengths, the longest first.

    The series, its case and its project are as they are stored, and belong to no session.
    """

    series: Series
    case: BenchmarkCase
    project: Project
    branches: tuple[tuple[str, int], ...]
    branch: str
    columns: TrendColumns
    changes: tuple[ChangeRow, ...]


Coming = Callable[[], list[Rows]]
"""Waits for what is behind all points of a history, if they are not too many."""


@contextmanager
def behind_all(session: Session, series_id: int, branch: str | None, at_once: int) -> Iterator[Coming | None]:
    """Have gathered what is behind all points of a history, if they are at most so many, while the block asks for them.

    None where none are wanted at once.
    """
    if at_once == 0:
        yield None
        return
    with beside(session, (_BEHIND_WHOLE, {"id": series_id, "branch": branch, "at_once": at_once})) as coming:
        yield coming


def history(session: Session, series_id: int, branch: str | None, *, most_changes: int) -> History | None:
    """Return the series' history on a branch, with the newest so many changes that stand; None where it is not there.

    Without a branch it is the project's own, or where the series has nothing there, the longest.
    """
    which = {"id": series_id, "branch": branch, "limit": most_changes}
    told = [(query, which) for query in (_HEAD, _COLUMNS, _CHANGES)]
    heads, columns, changes = in_one_trip(session, *told)
    if not heads:
        return None
    series, case, project, branches, its_branch = _head(heads[0])
    return History(
        series,
        case,
        project,
        branches,
        its_branch or branch or project.branch,
        _columns(columns[0]),
        tuple(map(ChangeRow._make, changes)),
    )


def _head(
    row: tuple[Any, ...],
) -> tuple[Series, BenchmarkCase, Project, tuple[tuple[str, int], ...], str | None]:
    series_id, project_id, case_id, metric, unit, better, device_class, version, *rest = row
    benchmark, params, project, own_branch, branches, branch = rest
    its = {"metric": metric, "unit": unit, "better": better, "device_class": device_class}
    return (
        Series(id=series_id, project_id=project_id, case_id=case_id, version=version, **its),
        BenchmarkCase(id=case_id, project_id=project_id, benchmark=benchmark, params=params),
        Project(id=project_id, name=project, branch=own_branch),
        tuple((name, length) for name, length in branches or ()),
        branch,
    )


def _columns(row: Sequence[bytes | None]) -> TrendColumns:
    ids, values, low, high, *more = row
    return TrendColumns(whole(ids), real(values), real(low), real(high), *map(whole, more))


# The branch that is wanted, or else the project's own, or else the longest; none where it has no history there.
_CHOSEN = """
    chosen as materialized (
      select history.branch, history.length, series.project_id
      from history
        join series on series.id = history.series_id
        join project on project.id = series.project_id
      where history.series_id = %(id)s
        and case when %(branch)s::text is null then history.length > 0 else history.branch = %(branch)s end
      order by history.branch = project.branch desc, history.length desc, history.branch
      limit 1)
"""


_HEAD = f"""
    with {_CHOSEN}
    select series.id, series.project_id, case_id, metric, unit, better, device_class, version,
      benchmark, params, project.name, project.branch,
      (select json_agg(json_build_array(branch, length) order by length desc, branch)
       from history where series_id = series.id and length > 0),
      (select branch from chosen)
    from series
    join benchmark_case on benchmark_case.id = series.case_id
    join project on project.id = series.project_id
    where series.id = %(id)s
"""  # noqa: S608  # nothing of it is anybody's but ours


def _texts(ours: Iterable[str]) -> str:
    """Return texts of ours, none of which has a quote, as SQL: to send them each time takes longer."""
    return ", ".join(f"'{one}'" for one in ours)


UNTOLD = ("", hashlib.sha256(b"{}").hexdigest())
"""Hashes of machines of which nothing is told."""

_TOLD = """
    json_agg(sha)::text, json_agg(subject)::text, json_agg(author)::text,
    json_agg(coalesce(authored_at, (select measured_at from result where result.id = told.id)))::text,
    json_object_agg(told.id, flags) filter (where flags <> '{}')
"""
"""What is told of the points `told`, in their order: of their commits; and what was noted, of those that have that."""

# Numbers as bytes of PostgreSQL's own binary protocol. Whose uploads they are is said so that no other project's are
# read; that, and the branch, as scalars, for which the planner reads the history in the order of its index.
_COLUMNS = f"""
    with {_CHOSEN}
    select
      string_agg(int8send(id), ''),
      string_agg(float8send(value), ''),
      string_agg(float8send(low), ''),
      string_agg(float8send(high), ''),
      string_agg(int8send(n), ''),
      string_agg(int8send(source), ''),
      string_agg(int8send(machine), '')
    from (
      select result.id, value, low, high, n, coalesce(run_id, -upload_id, 0) as source,
        case when machine_hash not in ({_texts(UNTOLD)}) then hashtextextended(machine_hash, 0) else 0 end as machine
      from result
        left join run on run.id = run_id
        left join upload on upload.id = upload_id and upload.project_id = (select project_id from chosen)
        left join environment on environment.id = coalesce(run.environment_id, upload.environment_id)
      where series_id = %(id)s and result.branch = (select branch from chosen) and place is not null
      order by place, result.id) point
"""  # noqa: S608

_CHANGES = f"""
    with {_CHOSEN}
    select change_point.id, index, kind, state, change, ci_low, ci_high, before, after, label,
      commit.sha, commit.subject, commit.author, previous.sha
    from change_point
    join commit on commit.id = commit_id
    join commit previous on previous.id = previous_commit_id
    where series_id = %(id)s and change_point.branch = (select branch from chosen) and state in ({_texts(STANDING)})
    order by change_point.id desc
    limit %(limit)s
"""  # noqa: S608


def behind(
    session: Session,
    its: History,
    rows: Sequence[int],
    arrived: Sequence[int],
    controls: int,
    coming: Coming | None = None,
) -> tuple[Behind, Marks]:
    """Return what is behind these rows of the history, in their order, and what is to be marked beside them.

    Args:
        session: the session.
        its: the history.
        rows: those rows, which ascend.
        arrived: rows whose machines are to be told.
        controls: how many values of the control are.
        coming: waits for what is behind all rows, where that is under way.
    """
    if not rows:
        return Behind(), Marks()
    ids, sources = its.columns.result_ids, its.columns.sources
    measured = [row for row in rows if sources[row] > 0]
    step = max(1, -(-len(measured) // controls))
    sought = Sought(
        series=its.series,
        branch=its.branch,
        own_branch=its.project.branch,
        runs=_newest_runs(its.columns),
        controlled=[sources[row] for row in measured[::-step]],
        results=[ids[row] for row in measured],
        arrived=[ids[row] for row in arrived],
    )
    marked = trend_marks.statements(sought)
    if coming is not None and len(rows) == len(ids):
        answers = in_one_trip(session, *marked) if marked else []
        told = _behind_of(coming()[0][0], ids)
    else:
        shown, which = _shown(its, rows)
        query = _behind(shown), which | {"project": its.project.id}
        (found,), *answers = in_one_trip(session, query, *marked)
        told = _behind_of(found, [ids[row] for row in rows])
    return told or _behind_these(session, its, rows), trend_marks.marks(sought, answers)


def _behind_these(session: Session, its: History, rows: Sequence[int]) -> Behind:
    """Return the same for rows whose results are not in the places any more in which they were found."""
    which = {"ids": [its.columns.result_ids[row] for row in rows], "project": its.project.id}
    ((found,),) = in_one_trip(session, (_behind(_OF_RESULTS), which))
    return _behind_of(found, whole(found[0])) or Behind()


def _behind_of(found: Sequence[Any], result_ids: Sequence[int]) -> Behind | None:
    """Return what is behind these results; None where others were found, as points came in since they were read."""
    ids, *texts, noted = found
    if ids is None or whole(ids) != tuple(result_ids):
        return None
    n = len(result_ids)
    flags = [noted.get(str(one), ()) for one in result_ids] if noted else [()] * n
    sha, subject, author, time = (WrittenTexts(written, n) for written in texts)
    return Behind(sha, subject, author, time, flags)


def _newest_runs(columns: TrendColumns) -> list[int]:
    """Return the runs that the newest results come from, the newest first."""
    measured = (its for its in zip(columns.result_ids, columns.sources, strict=True) if its[1] > 0)
    return list(dict.fromkeys(run for _, run in sorted(measured, reverse=True)))[: trend_marks.NEWEST_RUNS]


def _shown(its: History, rows: Sequence[int]) -> tuple[str, dict[str, Any]]:
    """Return how the rows are selected, each with its place (`at`), and the values that are part of it."""
    if len(rows) == rows[-1] - rows[0] + 1:
        return _OF_ROWS, {"id": its.series.id, "branch": its.branch, "first": rows[0], "limit": len(rows)}
    return _OF_RESULTS, {"ids": [its.columns.result_ids[row] for row in rows]}


# All but the time of a commit that nobody dated is in the index that finds the history (`SHOWN` of its table).
def _behind(shown: str, project: str = "%(project)s") -> str:
    return f"""
        select string_agg(int8send(id), ''), {_TOLD}
        from (
          select shown.id, sha, subject, author, authored_at, flags
          from ({shown}) shown join commit on commit.id = commit_id and commit.project_id = {project}
          order by at, shown.id) told
    """  # noqa: S608


_OF_ROWS = """
    select place as at, id, commit_id, flags
    from result
    where series_id = %(id)s and branch = %(branch)s and place is not null
    order by place, id offset %(first)s limit %(limit)s
"""

_OF_RESULTS = """
    select at, id, commit_id, flags
    from unnest(%(ids)s::bigint[]) with ordinality as wanted (id, at) join result using (id)
"""

_OF_WHOLE = """
    select place as at, id, commit_id, flags
    from result
    where series_id = %(id)s and branch = (select branch from chosen) and place is not null
      and (select length from chosen) <= %(at_once)s
    offset 0
"""

_BEHIND_WHOLE = f"""
    with {_CHOSEN} {_behind(_OF_WHOLE, "(select project_id from chosen)")}
"""  # noqa: S608


def newest_value(session: Session, series: Series, branch: str, sha: str) -> float | None:
    """Return the value of a commit's newest result in the history; None where it has none."""
    query = (
        select(Result.value)
        .join(Commit, Commit.id == Result.commit_id)
        .where(Commit.project_id == series.project_id, Commit.sha == sha)
        .where(Result.series_id == series.id, Result.branch == branch, Result.place.is_not(None))
    )
    return session.scalar(query.order_by(Result.id.desc()).limit(1))
