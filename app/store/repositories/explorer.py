"""Series as somebody looks for them: by words and by what they have in common, with their newest points."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVarTuple

from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select, text, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.domain.changes import STANDING
from app.store.tables import BenchmarkCase, ChangePoint, Project, Series

Columns = TypeVarTuple("Columns")

FACETS: dict[str, InstrumentedAttribute[str]] = {
    "project": Project.name,
    "benchmark": BenchmarkCase.benchmark,
    "metric": Series.metric,
    "device_class": Series.device_class,
}
"""What series have in common, by the name that it has in an address."""


@dataclass(frozen=True)
class Sought:
    """What is looked for: series that have every one of the words somewhere, and these values of facets."""

    words: tuple[str, ...] = ()
    chosen: dict[str, str] = field(default_factory=dict)
    project_ids: Collection[int] | None = None
    """The projects that the reader may see; None for all."""


@dataclass(frozen=True)
class Newest:
    """The newest points of a series on one branch, oldest first, and when the last was measured."""

    branch: str
    first_row: int
    """The row in the history that the first of them has."""
    values: list[float]
    measured_at: datetime | None


def find(
    session: Session, sought: Sought, *, limit: int, offset: int = 0, after: int | None = None
) -> Sequence[tuple[Series, BenchmarkCase, Project]]:
    """Return the series that are looked for, by name; those from `offset` on, or those after the series `after`."""
    query = _among(select(Series, BenchmarkCase, Project), sought).order_by(*_ORDER)
    if after is not None:
        its = _joined(select(*_ORDER)).where(Series.id == after).scalar_subquery()
        query = query.where(tuple_(*_ORDER) > its)
    return [(row[0], row[1], row[2]) for row in session.execute(query.limit(limit).offset(offset))]


_ORDER = (
    Project.name,
    BenchmarkCase.benchmark,
    BenchmarkCase.params_key,
    Series.metric,
    Series.device_class,
    Series.id,
)


def total(session: Session, sought: Sought) -> int:
    """Return how many series there are of what is looked for."""
    return session.scalar(_among(select(func.count()), sought)) or 0


def facet(
    session: Session, sought: Sought, name: str, *, limit: int
) -> tuple[Sequence[tuple[str, int]], int]:
    """Return the values of a facet with their numbers of series, and how many values there are.

    The most common come first, whatever is chosen of it.
    """
    others = {key: value for key, value in sought.chosen.items() if key != name}
    column = FACETS[name]
    rows = session.execute(
        _among(
            select(column, func.count(), func.count().over()),
            Sought(sought.words, others, sought.project_ids),
        )
        .group_by(column)
        .order_by(func.count().desc(), column)
        .limit(limit)
    ).all()
    return [(row[0], row[1]) for row in rows], rows[0][2] if rows else 0


def newest(session: Session, series_ids: Sequence[int], *, limit: int) -> dict[int, Newest]:
    """Return the last `limit` points of each series, of its project's branch or else of its longest history.

    A series without a history is left out.
    """
    rows = session.execute(_NEWEST, {"ids": list(series_ids), "limit": limit})
    return {row[0]: Newest(*row[1:]) for row in rows if row[3] is not None}


# One look into the index a series, however long its history is.
_NEWEST = text(
    """
    select series.id, its.branch, newest.first_row, newest."values", newest.measured_at
    from series
      join project on project.id = series.project_id
      cross join lateral (
        select branch, length from history
        where series_id = series.id order by branch = project.branch desc, length desc limit 1) as its
      cross join lateral (
        select
          its.length - count(*) as first_row,
          array_agg(value order by place, id) as "values",
          max(measured_at) as measured_at
        from (
          select id, value, place, measured_at from result
          where series_id = series.id and branch = its.branch and place is not null
          order by place desc, id desc limit :limit) as last) as newest
    where series.id = any(:ids)
    """
)


def newest_changes(
    session: Session, histories: Mapping[int, str], *, limit: int
) -> dict[int, list[ChangePoint]]:
    """Return the last `limit` changes that stand of each series on the branch that it maps to, in their order."""
    which = {
        "ids": list(histories),
        "branches": list(histories.values()),
        "states": [str(state) for state in STANDING],
        "limit": limit,
    }
    found: dict[int, list[ChangePoint]] = defaultdict(list)
    for change in session.scalars(select(ChangePoint).from_statement(_NEWEST_CHANGES), which):
        found[change.series_id].append(change)
    return found


_NEWEST_CHANGES = text(
    """
    select change.* from unnest(cast(:ids as bigint[]), cast(:branches as text[])) as its(series_id, branch)
      cross join lateral (
        select * from change_point
        where series_id = its.series_id and branch = its.branch and state = any(:states)
        order by index desc limit :limit) as change
    order by change.series_id, change.index
    """
)


def _among(query: Select[*Columns], sought: Sought) -> Select[*Columns]:
    return _joined(query).where(*_conditions(sought))


def _joined(query: Select[*Columns]) -> Select[*Columns]:
    return (
        query.select_from(Series)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Project, Project.id == Series.project_id)
    )


def _conditions(sought: Sought) -> Iterator[ColumnElement[bool]]:
    for name, value in sought.chosen.items():
        yield FACETS[name] == value
    if sought.project_ids is not None:
        yield Series.project_id.in_(sought.project_ids)
    for word in sought.words:
        yield or_(_has(word), and_(*map(_has_setting, parts)) if (parts := _parts(word)) else false())


def _has(text: str) -> ColumnElement[bool]:
    return _NAMES.icontains(text, autoescape=True)


def _parts(word: str) -> list[str]:
    """Return what a case as it is shown is made of, `resize` and `batch=32]` of `resize[batch=32]`; else nothing."""
    return _PART.findall(word) if _MARK.search(word) else []


def _has_setting(part: str) -> ColumnElement[bool]:
    """Say of `batch=3` that a value of such a parameter begins so, of `batch=3]` that it is this one.

    Of anything else it says that it is in a name.
    """
    name, is_setting, value = part.partition("=")
    if not name or not is_setting:
        return _has(part.rstrip("],"))
    key, told = (json.dumps(text, ensure_ascii=False)[1:-1] for text in (name, value.rstrip("],")))
    is_whole = part.endswith(("]", ","))
    plain = [f'{key}":{its}' for its in ([told, "null"] if told == "None" else [told])]
    forms = [f"{its}{end}" for its in plain for end in (",", "}")] if is_whole else plain
    return or_(*map(_has, [*forms, f'{key}":"{told}' + ('"' if is_whole else "")]))


_MARK = re.compile(r"[=\[\],]")
_PART = re.compile(r"[^\[\],/=]+=[^\[\],]*[\],]?|[^\[\],/]+")
"""A setting with what closes it, or a name."""

_NAMES = func.concat_ws(
    " ", Project.name, BenchmarkCase.benchmark, BenchmarkCase.params_key, Series.metric, Series.device_class
)
