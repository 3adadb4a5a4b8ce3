"""The lines of the list of runs, in the order in which they began: those of our workers, and those that were posted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.jobs import Outcome
from app.domain.results import CommitRef
from app.services.list_runs import PAGE, RunLine, list_runs
from app.store.repositories import runs


@dataclass(frozen=True)
class PostedLine:
    """Results that somebody measured elsewhere; `device_class` is None where they are none."""

    name: str
    project: str
    device_class: str | None
    head: CommitRef
    posted_by: str
    n_results: int
    created_at: datetime


Line = RunLine | PostedLine
Document = dict[str, Any]


def run_lines(
    session: Session, documents: Sequence[Document], *, project_ids: Collection[int] | None
) -> list[Line]:
    """Return a line for each document of `find_runs`, in its order.

    What only a list of our own runs tells, as the phase, is known of those among the newest `PAGE` of the projects.
    """
    ids = [int(one["run"]) for one in documents if one["kind"] == "measured"]
    known = dict(_known(session, ids, project_ids))
    rest = [run_id for run_id in ids if run_id not in known]
    counts = runs.invocation_counts(session, rest) if rest else {}
    return [_line(one, known, counts) for one in documents]


def _known(
    session: Session, ids: Sequence[int], project_ids: Collection[int] | None
) -> Iterator[tuple[int, RunLine]]:
    if ids:
        found = list_runs(session, project_ids=project_ids, before=max(ids) + 1, limit=PAGE)
        yield from ((line.id, line) for line in found.lines)


def _line(one: Document, known: dict[int, RunLine], counts: dict[int, tuple[int, int]]) -> Line:
    if one["kind"] == "posted":
        return _posted(one)
    run_id = int(one["run"])
    return known.get(run_id) or _measured(one, *counts.get(run_id, (0, 0)))


def _posted(one: Document) -> PostedLine:
    return PostedLine(
        name=one["run"],
        project=one["project"],
        device_class=one["device_class"],
        head=_head(one),
        posted_by=one["by"],
        n_results=one["results"],
        created_at=one["created_at"],
    )


def _measured(one: Document, n_invocations: int, n_void: int) -> RunLine:
    return RunLine(
        id=int(one["run"]),
        project=one["project"],
        suite=one["suite"],
        device_class=one["device_class"],
        worker=one["by"],
        base=CommitRef(one["base"]) if one["base"] else None,
        head=_head(one),
        attempt=1,
        max_attempts=1,
        outcome=Outcome(one["outcome"]) if one["outcome"] else None,
        phase="running",
        reason=one["reason"],
        message=None,
        device_s=0.0,
        budget_s=0.0,
        started_at=one["created_at"],
        ended_at=one["ended_at"],
        n_invocations=n_invocations,
        n_void=n_void,
    )


def _head(one: Document) -> CommitRef:
    return CommitRef(one["head"], one["subject"], one["author"])
