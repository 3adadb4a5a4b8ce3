"""What can be asked of a project: whether its repository is connected, its suites, and what its schedules do."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.services.access import Principal
from app.services.forge.ask_measure import connected_repository
from app.services.forge.read_schedules import ScheduleLine, read_schedules
from app.services.visibility import visible_project
from app.store.repositories import checks


@dataclass(frozen=True)
class Measurable:
    """A project; `branch` is its repository's default one, None where none is connected.

    `suites` are those that its newest check's settings have.
    """

    name: str
    project_id: int
    branch: str | None
    suites: tuple[str, ...]
    schedules: tuple[ScheduleLine, ...]


def read_measurable(session: Session, reader: Principal | None, name: str) -> Measurable:
    """Return what can be asked of a project. Raises NotFoundError for one that is not to be seen."""
    project = visible_project(session, reader, name)
    repository = connected_repository(session, project)
    newest = checks.newest(session, project.id)
    return Measurable(
        name=project.name,
        project_id=project.id,
        branch=repository.branch if repository else None,
        suites=tuple(newest.settings.get("suites", ())) if newest else (),
        schedules=read_schedules(session, project.id),
    )
