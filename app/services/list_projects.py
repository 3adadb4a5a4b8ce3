"""The projects that a reader may see."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from app.services.access import Principal
from app.services.visibility import visible_projects
from app.store.repositories import projects


def list_projects(session: Session, principal: Principal | None) -> dict[str, Any]:
    """Return `{projects}`, by name: each with the branch whose history counts, and how many series it has."""
    rows = projects.summaries(session, project_ids=visible_projects(principal))
    return {"projects": [{"project": name, "branch": branch, "series": n} for name, branch, n in rows]}
