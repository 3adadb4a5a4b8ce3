"""A project's histories as documents that `POST /api/v1/results/batch` takes, a line each, the oldest first.

Whoever posts them to an empty service has the same histories there, and gets the same bytes out of it. What is on no
branch, such as the head of a pull request's check, is no history and stays out, as do values of void pairs. A result
whose values are no longer kept is a summary: its median, and the spread that it had.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy.orm import Session

from app.domain.parts import in_parts
from app.formats.exported import Tally, mark
from app.formats.imported.documents import label
from app.formats.imported.portions import MOST_RESULTS, MOST_VALUES
from app.reports.documents import json_line
from app.services.resume_export import Numbers, place_in
from app.store.repositories import exports
from app.store.repositories.exports import ExportedResult, ExportedRun, ExportWish

_RUNS_AT_ONCE, _VALUES_AT_ONCE = 100, 20_000
"""Of what is held in memory at a time; a run may have more values by itself."""


def export_results(
    session: Session, project: str, wish: ExportWish, cursor_of: Callable[[Numbers], str] | None = None
) -> Iterator[bytes]:
    """Yield the lines, some at a time, and at last the line that says what a whole export consists of.

    Args:
        session: a session of its own, which nothing was asked in.
        project: the name that the documents give.
        wish: what is wanted.
        cursor_of: makes a cursor of a place, for a mark after each of the parts; None: no marks.
    """
    exports.begin(session)
    wish = replace(wish, newest=wish.newest or exports.newest_result(session))
    tally, results = Tally(), 0
    with exports.exported_runs(session, wish) as found:
        for runs in _some_at_a_time(found):
            lines = []
            for document in _documents(session, project, wish, runs):
                lines.append(json_line(document).encode())
                tally.add(lines[-1])
                results += len(document["results"])
            if cursor_of is not None:
                lines.append(json_line(mark(cursor_of(place_in(wish, runs[-1].place)))).encode())
            yield b"".join(lines)
    yield json_line(tally.end(results)).encode()


def _some_at_a_time(runs: Iterable[ExportedRun]) -> Iterator[list[ExportedRun]]:
    some: list[ExportedRun] = []
    n_values = 0
    for run in runs:
        if some and (len(some) == _RUNS_AT_ONCE or n_values + run.n_values > _VALUES_AT_ONCE):
            yield some
            some, n_values = [], 0
        some.append(run)
        n_values += run.n_values
    if some:
        yield some


def _documents(
    session: Session, project: str, wish: ExportWish, runs: list[ExportedRun]
) -> Iterator[dict[str, Any]]:
    ids = {run.environment_id for run in runs if run.environment_id is not None}
    environments = exports.environments(session, sorted(ids))
    found = exports.exported_results(session, wish, runs)
    for number, results in groupby(found, key=attrgetter("number")):
        run = runs[number]
        machine, software = environments.get(run.environment_id or 0, ({}, {}))
        environment = machine if run.upload_id is not None else {"machine": machine, "software": software}
        # As large as an import has them, so that it takes each as it is.
        for some in in_parts(
            results, most=MOST_RESULTS, size_of=lambda one: len(one.values or ()), largest=MOST_VALUES
        ):
            yield _head(project, run, some[0].device_class, environment) | {
                "results": [_result(one) for one in some]
            }


def _head(project: str, run: ExportedRun, device_class: str, environment: dict[str, Any]) -> dict[str, Any]:
    head = {
        "project": project,
        "commit": run.sha,
        "parent": run.parent_sha,
        "branch": run.branch,
        "time": run.authored_at and run.authored_at.astimezone(UTC).isoformat(),
        "author": label(run.author),
        "subject": label(run.subject),
        "position": run.position,
        "measured_at": run.measured_at.astimezone(UTC).isoformat(),
        "device_class": device_class,
        "environment": environment,
    }
    return {name: value for name, value in head.items() if value not in (None, "")}


def _result(one: ExportedResult) -> dict[str, Any]:
    void = set(one.void)
    values = [value for index, value in enumerate(one.values or [one.value]) if index not in void]
    result: dict[str, Any] = {
        "benchmark": one.benchmark,
        "params": json.loads(one.params_key),
        "metric": one.metric,
        "unit": one.unit,
        "better": one.better,
        "values": values,
    }
    # The spread only where it is another than that of the values, as summaries tell it.
    if (one.low, one.high) != (min(values), max(values)):
        result |= {"low": one.low, "high": one.high}
    return result | ({"version": one.version} if one.version else {})
