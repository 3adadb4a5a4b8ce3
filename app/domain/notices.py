"""What a merged pull request is told: confirmed changes for the worse, where they came from, and who accepted them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.results import CommitRef


@dataclass(frozen=True)
class ExtraCost:
    """What a number of something takes more than before: device time, and money where the project states a price."""

    per: str
    """Of how much of what, as `million iterations`."""
    device_hours: float
    money: float | None = None
    currency: str = ""


@dataclass(frozen=True)
class Acceptance:
    """Somebody has said that a change for the worse is wanted; `number` is the pull request where, if on one."""

    by: str
    reason: str
    at: datetime
    number: int | None = None


@dataclass(frozen=True)
class CommitRange:
    """The commits that a change can have come with: after `previous`, not later than `commit`.

    `commits` are the newest of them in first-parent order, `commit` first, and `n` how many there are; None where the
    repository does not know.
    """

    previous: str
    commit: CommitRef
    commits: tuple[CommitRef, ...]
    n: int | None


@dataclass(frozen=True)
class NoticedChange:
    """One confirmed change for the worse of one series, as a merged pull request is told of it."""

    series: int
    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    better: str
    device_class: str
    before: float | None
    after: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    is_exact: bool
    range: CommitRange
    reason: str = ""
    """How it was confirmed."""
    run: int | None = None
    """The run of the paired measurement that confirmed it."""
    cost: ExtraCost | None = None
    acceptance: Acceptance | None = None
    taken_back: str = ""
    """Why it does not hold any more; empty while it does."""

    @property
    def stands(self) -> bool:
        """Whether it holds, and nobody has accepted it."""
        return not self.taken_back and self.acceptance is None


@dataclass(frozen=True)
class Notice:
    """All that a merged pull request is told."""

    project: str
    branch: str
    changes: tuple[NoticedChange, ...]
