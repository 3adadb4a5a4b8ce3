"""Everything that is known of one upload: results that somebody else measured and posted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.results import CommitRef
from app.reports.fingerprints import FactGroup, fact_groups
from app.services.environment_change import EnvironmentChange, since_upload_before
from app.services.list_checks import commit_ref
from app.services.query_runs import upload_name
from app.services.read_samples import SamplePage, read_samples
from app.store.repositories import uploads


@dataclass(frozen=True)
class UploadDetail:
    """One upload with everything that its page shows."""

    name: str
    project: str
    commit: CommitRef
    posted_by: str
    created_at: datetime
    environment: tuple[FactGroup, ...]
    since_before: EnvironmentChange | None
    measured_at: datetime | None
    """When its first result was measured; None where it has none."""
    branch: str | None
    results: SamplePage


def read_upload(
    session: Session, upload_id: int, *, project_ids: Collection[int] | None = None, page: int = 1
) -> UploadDetail:
    """Return the upload with page `page` (from 1) of its results.

    Raises NotFoundError for an unknown upload, and for one of none of the projects, where `project_ids` names some.
    """
    context = uploads.with_context(session, upload_id)
    if context is None or (project_ids is not None and context.project.id not in project_ids):
        raise NotFoundError(f"there is no run {upload_name(upload_id)!r}")
    measured_at, branch = uploads.first_result(session, upload_id) or (None, None)
    return UploadDetail(
        name=upload_name(upload_id),
        project=context.project.name,
        commit=commit_ref(context.commit),
        posted_by=context.upload.posted_by,
        created_at=context.upload.created_at,
        environment=fact_groups(context.environment.machine) if context.environment else (),
        since_before=since_upload_before(session, context),
        measured_at=measured_at,
        branch=branch,
        results=read_samples(session, "upload_id", upload_id, page),
    )
