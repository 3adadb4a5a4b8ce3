"""Alerts as a message tells of them, and whether somebody wants to be told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.alerts import CLOSED_STATES, AlertState
from app.domain.notifications import About, AlertItem, What, Wishes
from app.reports.alert_words import NOTHING_LEFT, check_title_sentence, worst_sentence
from app.store.repositories import alerts, notifications
from app.store.repositories.alerts import Listed, Told
from app.store.tables import Check


@dataclass(frozen=True)
class Standing:
    """How an alert stands just now; `level` is its largest change as a share, 0 where only checks failed."""

    listed: Listed
    worst: Told | None
    check: Check | None

    @property
    def id(self) -> int:
        """The alert's number."""
        return self.listed.alert.id

    @property
    def state(self) -> AlertState:
        """Its state."""
        return AlertState(self.listed.alert.state)

    @property
    def is_closed(self) -> bool:
        """Whether nobody has to look at it any more."""
        return self.state in CLOSED_STATES

    @property
    def level(self) -> float:
        """Its largest change, whichever way worse is."""
        return abs(self.worst.change.change or 0.0) if self.worst is not None else 0.0

    @property
    def people(self) -> tuple[str, ...]:
        """Who has taken it, and whom the repository names for what it touches."""
        its = self.listed.alert
        return tuple(dict.fromkeys(filter(None, (its.owner, *(its.owners or ())))))

    def concerns(self, wishes: Wishes) -> bool:
        """Say whether somebody with these wishes is told of it."""
        is_large = self.worst is not None and self.level >= wishes.min_change
        is_wanted = (About.CHANGES in wishes.about and is_large) or (
            About.CHECKS in wishes.about and self.check is not None
        )
        return is_wanted and self._is_of(wishes)

    def _is_of(self, wishes: Wishes) -> bool:
        its = self.listed.alert
        if not wishes.owners or (its.owner is None and its.owners is None):
            return True
        known = {name.casefold().removeprefix("@") for name in self.people}
        return any(name.casefold().removeprefix("@") in known for name in wishes.owners)

    def breaks_through(self, wishes: Wishes) -> bool:
        """Say whether it is told in quiet hours, too."""
        return wishes.breaks_through is not None and self.level >= wishes.breaks_through > 0


def standings(session: Session, alert_ids: Collection[int]) -> dict[int, Standing]:
    """Return how these alerts stand, in id order."""
    if not alert_ids:
        return {}
    found = alerts.listed(
        session,
        project_ids=None,
        states=(),
        owner=None,
        before=None,
        limit=len(alert_ids),
        alert_ids=alert_ids,
    )
    worst = {its.alert_id: its for its in alerts.told_changes(session, alert_ids, most=1) if its.stands}
    checks: dict[int, list[Check]] = defaultdict(list)
    for alert_id, check in alerts.told_checks(session, alert_ids):
        checks[alert_id].append(check)
    return {
        its.alert.id: Standing(its, worst.get(its.alert.id), next(iter(checks[its.alert.id]), None))
        for its in reversed(found)
    }


def items(
    session: Session, settings: ServiceSettings, told: Collection[tuple[Standing, What]]
) -> tuple[AlertItem, ...]:
    """Return what is said of each of these alerts."""
    words = notifications.last_words(session, [its.id for its, _ in told])
    return tuple(_item(settings, its, what, *words.get(its.id, ("", ""))) for its, what in told)


def _item(settings: ServiceSettings, its: Standing, what: What, by: str, comment: str) -> AlertItem:
    row, commit = its.listed.alert, its.listed.commit
    repository = its.listed.repository
    pull_url = (
        settings.pull_address(repository.slug, row.number)
        if repository is not None and row.number is not None
        else ""
    )
    return AlertItem(
        alert=its.id,
        what=what,
        sentence=_sentence(its),
        state=its.state,
        branch=row.branch,
        commit=commit.sha,
        subject=commit.subject,
        author=commit.author,
        n_changes=its.listed.n_changes,
        n_checks=its.listed.n_checks,
        change=its.worst.change.change if its.worst is not None else None,
        owners=its.people,
        opened_at=row.opened_at.isoformat(),
        url=f"{settings.address}/alerts/{its.id}",
        pull=row.number,
        pull_url=pull_url,
        by=by,
        comment=comment,
    )


def _sentence(its: Standing) -> str:
    worst = its.worst
    if worst is not None:
        others = its.listed.n_changes - 1
        return worst_sentence(
            worst.case.benchmark, worst.case.params, worst.series.metric, worst.change.change, others
        )
    if its.check is not None:
        return check_title_sentence(its.check.title or f"check {its.check.id}")
    return NOTHING_LEFT
