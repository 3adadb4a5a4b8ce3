"""What can be chosen for a comparison of stored numbers: projects, and the branches and device classes of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.store.repositories import projects


@dataclass(frozen=True)
class Choices:
    """The projects that the reader may see, the chosen one, or the only one, or "", and what it has."""

    projects: tuple[str, ...]
    project: str = ""
    branches: tuple[str, ...] = ()
    device_classes: tuple[str, ...] = ()


def comparison_choices(session: Session, wanted: str, *, project_ids: Collection[int] | None) -> Choices:
    """Return what can be chosen; `project_ids` are those that the reader may see, None for all.

    Raises NotFoundError for a wanted project that is none of them.
    """
    names = tuple(projects.names(session, project_ids=project_ids))
    if wanted and wanted not in names:
        raise NotFoundError(f"there is no project {wanted!r} that you may see")
    name = wanted or (names[0] if len(names) == 1 else "")
    its = projects.find_project(session, name) if name else None
    if its is None:
        return Choices(names)
    return Choices(
        names,
        name,
        tuple(projects.branches(session, its.id)),
        tuple(projects.device_classes(session, its.id)),
    )
