"""Over the series of one commit: is a change that is found in one of them more than chance shows among so many?

The family are the series that have results of the commit on the branch, examined or not. Of those that are found to
change with it the p-value is known, of the others it counts as 1. Results of a commit may come in several posts: until
they are there it is taken to have no fewer series than the commit before it.

What was told once stays told: p-values that fall later, and series that join, only let more of the family be told.
(Y. Benjamini and Y. Hochberg, 1995; docs/statistics.md says what it rests on.)
"""

from __future__ import annotations

from typing import Protocol

from sqlalchemy.orm import Session

from app.analysis.chance import largest_beyond_chance
from app.store.repositories import changes


class Weighed(Protocol):
    """A change, stored or just found."""

    @property
    def commit_id(self) -> int:
        """The first commit of the new regime."""

    @property
    def previous_commit_id(self) -> int:
        """The last commit of the one before."""

    @property
    def p_value(self) -> float | None:
        """None where there is no chance in it: the metric is compared exactly."""


def is_beyond_chance(session: Session, project_id: int, series_id: int, branch: str, change: Weighed) -> bool:
    """Tell whether the change of this series' history is beyond chance among all series of its commit."""
    if change.p_value is None:
        return True
    others, tests = changes.family(
        session, project_id, branch, change.commit_id, change.previous_commit_id, without=series_id
    )
    known = [*others, change.p_value]
    return change.p_value <= largest_beyond_chance(known, max(tests, len(known)))
