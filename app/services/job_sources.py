"""Where an agent gets commits from that nobody uploads just now."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import NotFoundError
from app.services.store_bundle import bundle_path
from app.store.repositories import jobs
from app.store.tables import Commit, Job


def source_with(
    session: Session, settings: ServiceSettings, like: Job, commits: Sequence[Commit]
) -> dict[str, str] | None:
    """Return the source of a job, or another bundle that is kept and has all these commits; None without any."""
    source: dict[str, str] = like.spec["source"]
    if source["kind"] == "git":
        return source
    for location in jobs.bundles_with(session, like.project_id, [commit.id for commit in commits]):
        try:
            bundle_path(settings.data_dir / "bundles", location)
        except NotFoundError:
            continue
        return {"kind": "bundle", "location": location}
    return None
