"""How right the detector was, by what people made of the alerts about histories."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.analysis.proportion import Proportion, proportion
from app.domain.alerts import REAL, AlertState
from app.services.access import Principal
from app.services.visibility import chosen_projects
from app.store.repositories import quality


@dataclass(frozen=True)
class Quality:
    """Alerts by what they were: real, false alarms, or moved but not by the code.

    Nobody has judged the `open` ones yet. `missed` are changes that people told of and the detector had not found.
    """

    real: int
    false: int
    missed: int
    not_ours: int
    open: int

    @property
    def precision(self) -> Proportion:
        """Real ones of those that were judged real or false."""
        return proportion(self.real, self.real + self.false)

    @property
    def recall(self) -> Proportion:
        """Of the real changes that people know of, those that were found."""
        return proportion(self.real, self.real + self.missed)

    def __bool__(self) -> bool:
        """Whether anybody has said anything."""
        return bool(self.real or self.false or self.missed or self.not_ours)


def read_quality(
    session: Session, principal: Principal | None, project: str | None = None, benchmark: str | None = None
) -> Quality:
    """Return how right the detector was by what people said. Raises NotFoundError for an unknown project."""
    return quality_of(session, chosen_projects(session, principal, project), benchmark)


def quality_of(
    session: Session, project_ids: Collection[int] | None, benchmark: str | None = None
) -> Quality:
    """Return how right the detector was in some projects (None: in all), or of one benchmark of theirs."""
    judged = quality.alerts_with_changes(session, project_ids, benchmark)
    real = sum(judged.get(state, 0) for state in REAL)
    false, not_ours = judged.get(AlertState.NOISE, 0), judged.get(AlertState.NOT_OURS, 0)
    return Quality(
        real=real,
        false=false,
        missed=quality.missed(session, project_ids, benchmark),
        not_ours=not_ours,
        open=sum(judged.values()) - real - false - not_ours,
    )
