"""Somebody answers alerts: takes them, says what they are, comments. To accept one re-baselines what it tells of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.alerts import CLOSED_STATES, OPEN_STATES, AlertEvent, AlertState
from app.domain.errors import DataError, NotFoundError
from app.domain.notices import Acceptance
from app.services.access import Principal, Scope
from app.services.alerts.raise_alerts import reopen
from app.services.change_settled import want_following
from app.services.notify.wanting import want_planning
from app.services.visibility import may_see
from app.store.repositories import alerts, clock, origins
from app.store.repositories.alerts import Told
from app.store.tables import Alert

MOST_AT_ONCE = 200
LONGEST = 2_000
"""Characters of a comment, and of an owner's name a tenth."""


@dataclass(frozen=True)
class Answer:
    """What somebody says: each part may be left out. An empty owner makes them nobody's."""

    state: AlertState | None = None
    owner: str | None = None
    comment: str = ""


def answer_alerts(
    session: Session, principal: Principal, alert_ids: Collection[int], answer: Answer
) -> list[int]:
    """Carry out the answer on each of the alerts, and return their ids.

    Raises:
        NotFoundError: one of them is not there, or not to be seen; nothing is done.
        AccessError: one of them is of a project whose alerts the principal may not answer; nothing is done.
        DataError: it says nothing, is too long, or accepts without a reason.
    """
    _refuse_bad(alert_ids, answer)
    rows = alerts.locked(session, alert_ids)
    known = {row.id for row in rows if may_see(principal, row.project_id)}
    missing = sorted(set(alert_ids) - known)
    if missing:
        raise NotFoundError(f"there is no alert {missing[0]} that you may see")
    for row in rows:
        principal.require(Scope.ALERTS_WRITE, row.project_id)
        _answer(session, row, principal.name, answer)
    for project_id in sorted({row.project_id for row in rows}):
        want_planning(session, project_id)
    return [row.id for row in rows]


def _refuse_bad(alert_ids: Collection[int], answer: Answer) -> None:
    if not alert_ids:
        raise DataError("no alert is named: choose at least one")
    if len(alert_ids) > MOST_AT_ONCE:
        raise DataError(f"{len(alert_ids)} alerts at once are too many: answer {MOST_AT_ONCE} at the most")
    if answer.state is None and answer.owner is None and not answer.comment.strip():
        raise DataError("the answer says nothing: give a state, an owner or a comment")
    if len(answer.comment) > LONGEST:
        raise DataError(f"the comment has {len(answer.comment)} characters; {LONGEST} are stored at the most")
    if answer.owner is not None and len(answer.owner) > LONGEST // 10:
        raise DataError(
            f"the owner has {len(answer.owner)} characters; {LONGEST // 10} are stored at the most"
        )
    if answer.state is AlertState.ACCEPTED and not answer.comment.strip():
        raise DataError("accepting needs a reason: say in the comment why this is wanted")


def _answer(session: Session, row: Alert, by: str, answer: Answer) -> None:
    comment = answer.comment.strip()
    if answer.owner is not None and (answer.owner.strip() or None) != row.owner:
        row.owner = answer.owner.strip() or None
        alerts.log(session, row.id, by, AlertEvent.OWNED, owner=row.owner)
    if answer.state is not None and answer.state != row.state:
        _move(session, row, by, answer.state, comment)
    elif comment:
        alerts.log(session, row.id, by, AlertEvent.COMMENTED, comment=comment)


def _move(session: Session, row: Alert, by: str, state: AlertState, comment: str) -> None:
    if row.state == AlertState.ACCEPTED:
        _take_back_acceptance(session, row)
    if row.state in CLOSED_STATES and state in OPEN_STATES:
        reopen(session, row, by, comment)
        row.state = state
    else:
        alerts.log(
            session, row.id, by, AlertEvent.MOVED, **{"from": row.state, "to": state, "comment": comment}
        )
        row.state, row.moved_at = state, clock.now(session)
    if state is AlertState.ACCEPTED:
        _accept(session, row, by, comment)


def _accept(session: Session, row: Alert, by: str, reason: str) -> None:
    """Store that what stands of its changes is wanted, and have the pull request told so where it knows of them."""
    said = Acceptance(by=by, reason=reason, at=clock.now(session), number=row.number)
    told = [its for its in alerts.told_changes(session, [row.id], most=None) if its.stands]
    for its in told:
        origins.accept(session, its.change.id, row.repository_id, said)
    _have_told(session, row, told)


def _take_back_acceptance(session: Session, row: Alert) -> None:
    told = alerts.told_changes(session, [row.id], most=None)
    origins.take_back_acceptances(session, [its.change.id for its in told])
    _have_told(session, row, told)


def _have_told(session: Session, row: Alert, told: Iterable[Told]) -> None:
    if origins.repositories_of(session, row.project_id):
        for commit_id in sorted({its.change.commit_id for its in told}):
            want_following(session, commit_id)
