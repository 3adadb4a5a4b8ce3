"""Alerts are raised: a confirmed change for the worse or a failed check joins the alert of its cause, or begins one.

What joins an alert that people have closed leaves it closed: they have said what its cause is. What the service closed
is opened again by a further change, and what was fixed when a later push to the same pull request fails, or the same
series are worse once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.analysis.causes import cause_of, comes_back_to, narrowed
from app.domain.alerts import OPEN_STATES, SERVICE, AlertEvent, AlertState, Cause, CommitSpan, Kin, Symptom
from app.services.notify.wanting import want_planning
from app.store.repositories import alerts, clock
from app.store.repositories.alerts import NewChange, NewCheck
from app.store.tables import Alert, AlertChange, AlertCheck, Commit

WITHIN = timedelta(days=90)
"""Symptoms older than this raise nothing, and alerts that were closed before are not opened again."""

BATCH = 500


def projects_to_look_at(session: Session) -> Sequence[int]:
    """Return the projects that have something for `raise_alerts`, or for `settle_alerts`."""
    return alerts.projects_to_look_at(session, WITHIN)


def raise_alerts(session: Session, project_id: int) -> int:
    """Put every symptom of the project that is in no alert into one; return how many there were."""
    alerts.lock_project(session, project_id)
    symptoms = [*_changes(session, project_id), *_checks(session, project_id)]
    if symptoms:
        causes = _causes(session, project_id)
        for symptom in symptoms:
            _tell(session, project_id, symptom, causes)
        want_planning(session, project_id)
    return len(symptoms)


def _changes(session: Session, project_id: int) -> Iterator[Symptom]:
    for found in alerts.new_changes(session, project_id, WITHIN, BATCH):
        yield _changed(found)


def _changed(found: NewChange) -> Symptom:
    return Symptom(
        branch=found.change.branch,
        span=_span(found.previous, found.commit),
        kin=frozenset({found.kin}),
        pull=found.pull,
        change_id=found.change.id,
        corrects=found.change.corrects_id,
    )


def _checks(session: Session, project_id: int) -> Iterator[Symptom]:
    found = alerts.new_checks(session, project_id, WITHIN, BATCH)
    kin = alerts.kin_of_checks(session, [its.check.id for its in found])
    for its in found:
        yield _failed(its, frozenset(kin.get(its.check.id, ())))


def _failed(found: NewCheck, kin: frozenset[Kin]) -> Symptom:
    return Symptom(
        branch=found.branch,
        span=_span(found.base, found.head),
        kin=kin,
        pull=found.pull,
        check_id=found.check.id,
    )


def _span(previous: Commit, commit: Commit) -> CommitSpan:
    return CommitSpan(previous.id, commit.id, previous.position, commit.position)


def _causes(session: Session, project_id: int) -> list[Cause]:
    """Return what the project's alerts know of their causes, the open ones first."""
    ids = [row.id for row in alerts.of_project(session, project_id, WITHIN)]
    rows = alerts.locked(session, ids)[::-1]  # in the order in which whoever answers several locks them, too
    closed_by = alerts.closed_by(session, ids)
    changes, kin = alerts.changes_of(session, ids), alerts.kin_of(session, ids)
    places = alerts.places(session, {id_ for row in rows for id_ in (row.previous_commit_id, row.commit_id)})
    causes = [
        Cause(
            alert_id=row.id,
            branch=row.branch,
            span=CommitSpan(
                row.previous_commit_id,
                row.commit_id,
                places.get(row.previous_commit_id),
                places.get(row.commit_id),
            ),
            kin=kin.get(row.id, set()),
            pull=_pull(row),
            change_ids=set(changes.get(row.id, ())),
            state=AlertState(row.state),
            settled_itself=row.state not in OPEN_STATES and closed_by.get(row.id) == SERVICE,
        )
        for row in rows
    ]
    return sorted(causes, key=lambda cause: cause.state not in OPEN_STATES)


def _pull(row: Alert) -> tuple[int, int] | None:
    return None if row.repository_id is None or row.number is None else (row.repository_id, row.number)


def _tell(session: Session, project_id: int, symptom: Symptom, causes: list[Cause]) -> None:
    its_own = cause_of(symptom, causes)
    if its_own is not None:
        is_check = symptom.check_id is not None
        is_back = its_own.state == AlertState.FIXED if is_check else its_own.settled_itself
        _join(session, symptom, its_own, is_back=is_back)
        return
    fixed = (cause for cause in causes if cause.state == AlertState.FIXED and cause.change_ids)
    earlier = next((cause for cause in fixed if comes_back_to(symptom, cause)), None)
    if earlier is not None and symptom.change_id is not None:
        earlier.span, earlier.pull = symptom.span, symptom.pull  # it came with others this time
        _join(session, symptom, earlier, is_back=True)
    else:
        causes.insert(0, _begin(session, project_id, symptom))


def _begin(session: Session, project_id: int, symptom: Symptom) -> Cause:
    repository_id, number = symptom.pull or (None, None)
    row = Alert(
        project_id=project_id,
        branch=symptom.branch,
        previous_commit_id=symptom.span.previous,
        commit_id=symptom.span.commit,
        repository_id=repository_id,
        number=number,
        state=AlertState.NEW,
    )
    session.add(row)
    session.flush()
    _add(session, row.id, symptom)
    alerts.log(session, row.id, SERVICE, AlertEvent.OPENED, **_named(symptom))
    its_changes = {symptom.change_id} if symptom.change_id is not None else set()
    return Cause(
        row.id, symptom.branch, symptom.span, set(symptom.kin), symptom.pull, its_changes, AlertState.NEW
    )


def _join(session: Session, symptom: Symptom, cause: Cause, *, is_back: bool) -> None:
    (row,) = alerts.locked(session, [cause.alert_id])
    _add(session, row.id, symptom)
    if symptom.change_id is not None:
        is_better_known = symptom.corrects in cause.change_ids
        cause.change_ids.add(symptom.change_id)
        spans = (symptom.span, cause.span) if is_better_known else (cause.span, symptom.span)
        cause.span = narrowed(*spans)
        row.previous_commit_id, row.commit_id = cause.span.previous, cause.span.commit
    cause.kin |= symptom.kin
    cause.pull = cause.pull or symptom.pull
    row.repository_id, row.number = cause.pull or (None, None)
    alerts.log(session, row.id, SERVICE, AlertEvent.JOINED, **_named(symptom))
    if is_back:
        cause.state, cause.settled_itself = AlertState.NEW, False
        reopen(session, row, SERVICE, "it is back")


def reopen(session: Session, row: Alert, by: str, comment: str) -> None:
    """Open an alert again that was closed; it is as new."""
    alerts.log(session, row.id, by, AlertEvent.REOPENED, **{"from": row.state, "comment": comment})
    row.state, row.moved_at = AlertState.NEW, clock.now(session)


def _add(session: Session, alert_id: int, symptom: Symptom) -> None:
    if symptom.change_id is not None:
        session.add(AlertChange(change_point_id=symptom.change_id, alert_id=alert_id))
    if symptom.check_id is not None:
        session.add(AlertCheck(check_id=symptom.check_id, alert_id=alert_id))
    session.flush()


def _named(symptom: Symptom) -> dict[str, int]:
    named = {"change": symptom.change_id, "check": symptom.check_id}
    return {name: value for name, value in named.items() if value is not None}
