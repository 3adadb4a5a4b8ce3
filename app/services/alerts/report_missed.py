"""Somebody saw a change that the detector did not find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, DataError, NotFoundError
from app.services.access import Principal, Scope
from app.services.alerts.answer_alerts import LONGEST
from app.services.series_document import visible_series
from app.store.repositories import changes, projects, quality


@dataclass(frozen=True)
class Missed:
    """A change that somebody told of, by the first commit of the new level."""

    sha: str
    subject: str
    told_by: str
    told_at: datetime
    note: str


def missed_changes(session: Session, series_id: int, branch: str) -> Sequence[Missed]:
    """Return what people told of a series' history, the newest first."""
    return [
        Missed(commit.sha, commit.subject, row.told_by, row.told_at, row.note)
        for row, commit in quality.missed_of(session, series_id, branch)
    ]


def report_missed(
    session: Session, principal: Principal, series_id: int, commit: str, *, branch: str | None, note: str
) -> bool:
    """Store that a change which begins with a commit was missed; return whether nobody had told of it before.

    Args:
        session: the session.
        principal: who says so.
        series_id: where it is to be seen.
        commit: the first commit of the new level: its id, or enough of it to be one commit.
        branch: of the history; None for the project's own.
        note: what else is to be known.

    Raises NotFoundError, AccessError, DataError for a note that is too long, and ConflictError where a change
    stands there.
    """
    series, _, project = visible_series(session, principal, series_id)
    principal.require(Scope.ALERTS_WRITE, project.id)
    if len(note) > LONGEST:
        raise DataError(f"the note has {len(note)} characters; {LONGEST} are stored at the most")
    its_branch = branch or project.branch
    found = projects.commits_like(session, project.id, commit.lower())
    if len(found) != 1 or not quality.has_point(session, series.id, its_branch, found[0].id):
        raise NotFoundError(
            f"on {its_branch} the series has no point of a commit {commit!r}, or there are several that begin so"
        )
    (row,) = found
    if changes.confirmed_at(session, series.id, its_branch, row.id) is not None:
        raise ConflictError(f"the change at {row.sha[:10]} was found")
    return quality.add_missed(session, series, its_branch, row.id, told_by=principal.name, note=note.strip())
