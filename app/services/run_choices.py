"""What a list of runs can be narrowed by: projects, and the device classes of one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.store.repositories import projects


@dataclass(frozen=True)
class RunChoices:
    """The projects that the reader may see, and the device classes of the chosen one, or of the only one."""

    projects: tuple[str, ...]
    device_classes: tuple[str, ...] = ()


def run_choices(session: Session, chosen: str, *, project_ids: Collection[int] | None) -> RunChoices:
    """Return what can be chosen; `project_ids` are those that the reader may see, None for all."""
    seen = projects.every(session, project_ids=project_ids)
    names = tuple(one.name for one in seen)
    its = next((one for one in seen if one.name == chosen or len(seen) == 1), None)
    return RunChoices(names, tuple(projects.device_classes(session, its.id)) if its else ())
