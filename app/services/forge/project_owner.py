"""Which repository a project is of: no other has anything measured for it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.access import FORGE
from app.services.check_request import CheckRequest
from app.services.request_check import request_check
from app.settings import Settings
from app.store.repositories import forge, projects
from app.store.tables import Check, Repository


def why_not_its_own(session: Session, repository: Repository, settings: Settings | None) -> str:
    """Return why a repository's settings are refused, empty where the project that they name is its own or new."""
    if settings is None:
        return ""
    project = projects.find_project(session, settings.project.name)
    owner = None if project is None else forge.owner_of(session, project.id)
    if owner is None or owner.id == repository.id:
        return ""
    return f"its settings name the project {settings.project.name}, which is of another repository"


def request_for(
    session: Session, settings: ServiceSettings, repository: Repository, wanted: CheckRequest
) -> Check:
    """Have a check of a repository made; one whose branch has not told yet which project it is of is of the check's."""
    check = request_check(session, settings, FORGE, wanted)
    if repository.project_id is None:  # its branch's newest settings say otherwise
        repository.project_id = check.project_id
    return check
