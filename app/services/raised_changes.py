"""How often a benchmark raised a change, and what became of that: the record by which its alarms are judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.changes import ChangeState
from app.store.repositories import benchmarks


@dataclass(frozen=True)
class RaisedChanges:
    """Changes of all series of a benchmark, by what they are now; the machine's are counted apart."""

    suspected: int = 0
    confirmed: int = 0
    """Those that were corrected later among them."""
    withdrawn: int = 0
    by_machine: int = 0
    episodes: int = 0
    """Spikes that reverted, and changes of the noise alone."""

    @property
    def total(self) -> int:
        """How often a change of level was raised."""
        return self.suspected + self.confirmed + self.withdrawn + self.by_machine


def raised_changes(session: Session, project_id: int, benchmark: str) -> RaisedChanges:
    """Return the record of the benchmark, in one statement; what people said of it is `alerts.detector_quality`'s."""
    found: Counter[ChangeState] = Counter()
    by_machine = 0
    for (state, is_machine), n in benchmarks.changes_by_state(session, project_id, benchmark).items():
        if is_machine and state != ChangeState.EPISODE:
            by_machine += n
        else:
            found[ChangeState(state)] += n
    return RaisedChanges(
        suspected=found[ChangeState.SUSPECTED],
        confirmed=found[ChangeState.CONFIRMED] + found[ChangeState.CORRECTED],
        withdrawn=found[ChangeState.WITHDRAWN],
        by_machine=by_machine,
        episodes=found[ChangeState.EPISODE],
    )
