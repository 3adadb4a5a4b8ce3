"""What differs between the environment of a run and of what was measured before it: the machine, and the packages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.results import CommitRef
from app.reports.fingerprints import ChangeGroup, fact_changes
from app.services.query_runs import name_of_run
from app.store.repositories import baselines
from app.store.repositories.baselines import Before
from app.store.repositories.runs import RunContext
from app.store.repositories.uploads import UploadContext
from app.store.tables import Environment


@dataclass(frozen=True)
class EnvironmentChange:
    """What differs since the run before, called `run`, which measured `commit` then; nothing where it has no groups."""

    run: str
    commit: CommitRef
    measured_at: datetime
    groups: tuple[ChangeGroup, ...]

    @property
    def lasting(self) -> tuple[ChangeGroup, ...]:
        """What could explain another number: all but what moves from run to run anyhow."""
        return tuple(group for group in self.groups if not group.may_move)

    @property
    def moving(self) -> tuple[ChangeGroup, ...]:
        """What may move from run to run."""
        return tuple(group for group in self.groups if group.may_move)


def since_run_before(
    session: Session, context: RunContext, environment: Environment | None
) -> EnvironmentChange | None:
    """Return what differs since the points before those of the run; None where there is nothing to hold it against.

    A run without results is held against the last one of its suite and device class that has some.
    """
    if environment is None:
        return None
    before = baselines.of_run(session, context.run.id) or baselines.published_before(
        session, context.run, context.job
    )
    return _change(session, before, environment) if before else None


def since_upload_before(session: Session, context: UploadContext) -> EnvironmentChange | None:
    """Return what differs since the points before those of the upload; None where there is nothing before."""
    before = baselines.of_upload(session, context.upload.id)
    return _change(session, before, context.environment) if before and context.environment else None


def _change(session: Session, before: Before, environment: Environment) -> EnvironmentChange | None:
    earlier = baselines.environment_of(session, before)
    if earlier is None:
        return None
    packages = _packages(earlier, before.before_arm), _packages(environment, before.arm)
    is_told = bool(packages[0] and packages[1])
    return EnvironmentChange(
        run=name_of_run(before.run_id, before.upload_id),
        commit=CommitRef(before.sha, before.subject),
        measured_at=before.measured_at,
        groups=()
        if earlier.id == environment.id and before.arm == before.before_arm
        else fact_changes(earlier.machine, environment.machine, packages if is_told else ({}, {})),
    )


def _packages(environment: Environment, arm: str) -> dict[str, Any]:
    packages: dict[str, Any] = environment.software.get(arm, {})
    return packages
