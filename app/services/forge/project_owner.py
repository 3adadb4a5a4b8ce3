"""Which repository a project is of: no other writes to its history."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.settings import Settings
from app.store.repositories import forge, projects
from app.store.tables import Repository


def why_not_its_own(session: Session, repository: Repository, settings: Settings | None) -> str:
    """Return why a repository's settings are refused, empty where the project that they name is its own or new."""
    if settings is None:
        return ""
    project = projects.find_project(session, settings.project.name)
    owner = None if project is None else forge.owner_of(session, project.id)
    if owner is None or owner.id == repository.id:
        return ""
    return f"its settings name the project {settings.project.name}, which is of another repository"
