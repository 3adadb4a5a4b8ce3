"""The lines of the list of runs, in the order in which they began: those of our workers, and those that were posted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.results import CommitRef
from app.services.list_runs import RunLine, lines_of


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


def run_lines(session: Session, documents: Sequence[Document]) -> list[Line]:
    """Return a line for each document of `find_runs`, in its order."""
    measured = lines_of(session, [int(one["run"]) for one in documents if one["kind"] == "measured"])
    return [_posted(one) if one["kind"] == "posted" else measured[int(one["run"])] for one in documents]


def _posted(one: Document) -> PostedLine:
    return PostedLine(
        name=one["run"],
        project=one["project"],
        device_class=one["device_class"],
        head=CommitRef(one["head"], one["subject"], one["author"]),
        posted_by=one["by"],
        n_results=one["results"],
        created_at=one["created_at"],
    )
