"""What a weekly report is of: one project, or all that somebody may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.services.access import Principal
from app.services.visibility import visible_project, visible_projects
from app.store.repositories import projects
from app.store.tables import Project


@dataclass(frozen=True)
class Scope:
    """The projects that a report is of; `name` is that of the one project, empty for all that somebody may see.

    `sees_all` tells whether these are all that there are, so that what is of no project may be told, too.
    """

    name: str
    projects: tuple[Project, ...]
    sees_all: bool = True

    @property
    def project_ids(self) -> Sequence[int]:
        """Their ids."""
        return [project.id for project in self.projects]

    @property
    def is_whole(self) -> bool:
        """Whether it is of all projects that somebody may see, and not of one."""
        return not self.name

    @property
    def is_installation(self) -> bool:
        """Whether it is of the whole installation, devices and all."""
        return self.is_whole and self.sees_all


def scope_of(session: Session, principal: Principal | None, name: str | None) -> Scope:
    """Return the scope that a reader asks for. Raises NotFoundError for a project that is not there or not theirs."""
    if name:
        return Scope(name, (visible_project(session, principal, name),))
    seen = visible_projects(principal)
    return Scope("", tuple(projects.every(session, project_ids=seen)), sees_all=seen is None)
