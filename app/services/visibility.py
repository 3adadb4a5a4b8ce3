"""What a reader may see: whoever may read some projects sees nothing of any other."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.services.access import Principal, Scope
from app.store.repositories import checks, projects
from app.store.tables import Check, Project


def may_see(principal: Principal | None, project_id: int) -> bool:
    """Say whether the reader may see this project; nobody in particular (None) may where reading is open."""
    return principal is None or principal.may(Scope.RESULTS_READ, project_id)


def visible_projects(principal: Principal | None) -> frozenset[int] | None:
    """Return the projects that the reader may see, or None for all."""
    return principal.where(Scope.RESULTS_READ) if principal else None


def visible_check(session: Session, principal: Principal | None, check_id: int) -> Check:
    """Return the check. Raises NotFoundError, the same for an unknown one and for one not to be seen."""
    check = checks.one(session, check_id)
    if check is None or not may_see(principal, check.project_id):
        raise NotFoundError(f"there is no check {check_id} that you may see")
    return check


def visible_project(session: Session, principal: Principal | None, name: str) -> Project:
    """Return the project. Raises NotFoundError, the same for an unknown one and for one not to be seen."""
    project = projects.find_project(session, name)
    if project is None or not may_see(principal, project.id):
        raise NotFoundError(f"there is no project {name!r} that you may see")
    return project


def chosen_projects(session: Session, principal: Principal | None, name: str | None) -> frozenset[int] | None:
    """Return the project of this name; without a name those that the reader may see, or None for all.

    Raises NotFoundError for one that is not there, or not to be seen.
    """
    if name:
        return frozenset({visible_project(session, principal, name).id})
    return visible_projects(principal)
