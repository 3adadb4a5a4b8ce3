"""Alerts: what is not in one yet, what each tells of, and what people did with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Float, Integer, case, cast, distinct, exists, func, or_, select, union
from sqlalchemy.orm import Session, aliased

from app.domain.alerts import OPEN_STATES, SERVICE, AlertEvent, AlertState, Kin
from app.domain.changes import ChangeState
from app.domain.verdicts import Conclusion, Verdict
from app.store import tables
from app.store.repositories.changes import code_got_worse
from app.store.tables import (
    Acceptance,
    Alert,
    AlertChange,
    AlertCheck,
    AlertLog,
    BenchmarkCase,
    ChangePoint,
    Check,
    Commit,
    Job,
    Origin,
    Project,
    PullRequest,
    Repository,
    Request,
    RequestJob,
    Result,
    Run,
    Series,
)

TRIGGERS = ("pull_request", "push", "schedule")
"""Checks that nobody asked for by hand: who did sees himself what came of it."""

ORIGIN_WAIT = timedelta(minutes=3)
"""How long a change is waited for whose pull request the forge is still asked for: that tells its cause."""

_LOCK = 0x616C6572
UNDONE = 0.75
"""A later change that undoes this share of a loss has mended it."""


def lock_project(session: Session, project_id: int) -> None:
    """Wait until nobody else groups the project's symptoms; until the transaction ends, nobody else does."""
    session.execute(select(func.pg_advisory_xact_lock(_LOCK, cast(project_id, Integer))))


# --- what is in no alert yet ---


@dataclass(frozen=True)
class NewChange:
    """A confirmed change for the worse of code, and what tells its cause."""

    change: ChangePoint
    kin: Kin
    previous: Commit
    commit: Commit
    pull: tuple[int, int] | None


@dataclass(frozen=True)
class NewCheck:
    """A failed check, and what tells its cause; `branch` is the one that it measured, or was to go into."""

    check: Check
    branch: str
    base: Commit
    head: Commit
    pull: tuple[int, int] | None


def projects_to_look_at(session: Session, within: timedelta) -> Sequence[int]:
    """Return the projects that have symptoms of late in no alert, or open alerts."""
    its_series = Series.id == ChangePoint.series_id
    changes = select(ChangePoint.project_id).join(Series, its_series).where(*_new_change(within))
    checks = select(Check.project_id).join(Request, Request.id == Check.request_id).where(*_new_check(within))
    going = select(Alert.project_id).where(Alert.state.in_(OPEN_STATES))
    return sorted(session.scalars(union(changes.distinct(), checks.distinct(), going.distinct())).all())


def new_changes(session: Session, project_id: int, within: timedelta, limit: int) -> Sequence[NewChange]:
    """Return the project's changes that no alert tells of, in id order."""
    previous = aliased(Commit)
    rows = session.execute(
        select(ChangePoint, BenchmarkCase, Series, previous, Commit, Origin)
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Commit, Commit.id == ChangePoint.commit_id)
        .join(previous, previous.id == ChangePoint.previous_commit_id)
        .outerjoin(Origin, Origin.change_point_id == ChangePoint.id)
        .where(ChangePoint.project_id == project_id, *_new_change(within))
        .order_by(ChangePoint.id)
        .limit(limit)
    )
    return [
        NewChange(
            change,
            Kin(case.benchmark, its.metric, its.device_class, case.params_key),
            its_previous,
            commit,
            None if origin is None or origin.number is None else (origin.repository_id, origin.number),
        )
        for change, case, its, its_previous, commit, origin in rows
    ]


def new_checks(session: Session, project_id: int, within: timedelta, limit: int) -> Sequence[NewCheck]:
    """Return the project's failed checks that no alert tells of, in id order."""
    base = aliased(Commit)
    rows = session.execute(
        select(Check, Project.branch, base, Commit, PullRequest)
        .join(Request, Request.id == Check.request_id)
        .join(Project, Project.id == Check.project_id)
        .join(base, base.id == Check.base_commit_id)
        .join(Commit, Commit.id == Check.head_commit_id)
        .outerjoin(PullRequest, PullRequest.check_id == Check.id)
        .where(Check.project_id == project_id, *_new_check(within))
        .order_by(Check.id)
        .limit(limit)
    )
    return [
        NewCheck(
            check,
            branch if pull is None else pull.base_ref,
            its_base,
            head,
            None if pull is None else (pull.repository_id, pull.number),
        )
        for check, branch, its_base, head, pull in rows
    ]


def _new_change(within: timedelta) -> tuple[Any, ...]:
    is_asked_about = exists().where(
        Repository.project_id == ChangePoint.project_id,
        Repository.branch == ChangePoint.branch,
        Repository.is_connected,
    )
    is_answered = or_(
        exists().where(Origin.change_point_id == ChangePoint.id).correlate(ChangePoint),
        ChangePoint.confirmed_at < func.clock_timestamp() - ORIGIN_WAIT,
    )
    is_of_late = exists().where(
        Result.id == ChangePoint.result_id, Result.measured_at > func.clock_timestamp() - within
    )
    return (
        *code_got_worse(within),
        is_of_late,
        ~exists().where(AlertChange.change_point_id == ChangePoint.id),
        or_(~is_asked_about, is_answered),
    )


def _new_check(within: timedelta) -> tuple[Any, ...]:
    """Select failed checks that nobody asked for by hand; of a pull request, that of its newest head alone."""
    pull = aliased(PullRequest)
    return (
        Check.conclusion == Conclusion.REGRESSED,
        Check.concluded_at > func.clock_timestamp() - within,
        Request.trigger.in_(TRIGGERS),
        or_(
            Request.trigger != TRIGGERS[0],
            exists().where(pull.check_id == Check.id, pull.state == "open"),
        ),
        ~exists().where(AlertCheck.check_id == Check.id),
    )


# --- what alerts know ---


def of_project(session: Session, project_id: int, closed_within: timedelta) -> Sequence[Alert]:
    """Return the open alerts, and those that were closed of late, the newest first."""
    late = func.clock_timestamp() - closed_within
    return session.scalars(
        select(Alert)
        .where(Alert.project_id == project_id, or_(Alert.state.in_(OPEN_STATES), Alert.moved_at > late))
        .order_by(Alert.id.desc())
    ).all()


def changes_of(session: Session, alert_ids: Collection[int]) -> dict[int, list[int]]:
    """Return the change points that each alert tells of."""
    found: dict[int, list[int]] = defaultdict(list)
    query = select(AlertChange).where(AlertChange.alert_id.in_(alert_ids))
    for row in session.scalars(query.order_by(AlertChange.change_point_id)):
        found[row.alert_id].append(row.change_point_id)
    return found


def kin_of(session: Session, alert_ids: Collection[int]) -> dict[int, set[Kin]]:
    """Return what the symptoms of each alert are about."""
    found: dict[int, set[Kin]] = defaultdict(set)
    rows = session.execute(
        select(
            AlertChange.alert_id,
            BenchmarkCase.benchmark,
            Series.metric,
            Series.device_class,
            BenchmarkCase.params_key,
        )
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(AlertChange.alert_id.in_(alert_ids))
    )
    for alert_id, *about in rows:
        found[alert_id].add(Kin(*about))
    of_alerts = select(AlertCheck).where(AlertCheck.alert_id.in_(alert_ids))
    its_checks = {row.check_id: row.alert_id for row in session.scalars(of_alerts)}
    for check_id, kin in kin_of_checks(session, its_checks).items():
        found[its_checks[check_id]] |= kin
    return found


def kin_of_checks(session: Session, check_ids: Collection[int]) -> dict[int, set[Kin]]:
    """Return what became worse by each check."""
    verdict = tables.Verdict
    rows = session.execute(
        select(Check.id, BenchmarkCase.benchmark, verdict.metric, Job.device_class, BenchmarkCase.params_key)
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .join(Run, Run.job_id == Job.id)
        .join(verdict, verdict.run_id == Run.id)
        .join(BenchmarkCase, BenchmarkCase.id == verdict.case_id)
        .where(Check.id.in_(check_ids), verdict.verdict == Verdict.REGRESSED, verdict.gating)
    )
    found: dict[int, set[Kin]] = defaultdict(set)
    for check_id, *about in rows:
        found[check_id].add(Kin(*about))
    return found


def places(session: Session, commit_ids: Collection[int]) -> dict[int, int | None]:
    """Return the place in first-parent order of each commit, None where it is not known."""
    rows = session.execute(select(Commit.id, Commit.position).where(Commit.id.in_(commit_ids)))
    return {row[0]: row[1] for row in rows}


# --- what becomes of them ---


def log(session: Session, alert_id: int, by: str, what: AlertEvent, **detail: Any) -> None:
    """Append to an alert's history."""
    session.add(AlertLog(alert_id=alert_id, by=by, what=what, detail=detail))


def locked(session: Session, alert_ids: Collection[int]) -> Sequence[Alert]:
    """Lock and return those of these alerts that there are, in id order."""
    query = select(Alert).where(Alert.id.in_(alert_ids)).order_by(Alert.id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).all()


def closed_by(session: Session, alert_ids: Collection[int]) -> dict[int, str]:
    """Return who moved each of these alerts last."""
    rows = session.execute(
        select(AlertLog.alert_id, AlertLog.by)
        .where(AlertLog.alert_id.in_(alert_ids), AlertLog.what == AlertEvent.MOVED)
        .order_by(AlertLog.id)
    )
    return {row[0]: row[1] for row in rows}


def reopened_by_people(session: Session, alert_ids: Collection[int]) -> set[int]:
    """Return those of these alerts that somebody has opened again."""
    query = select(AlertLog.alert_id).where(
        AlertLog.alert_id.in_(alert_ids), AlertLog.what == AlertEvent.REOPENED, AlertLog.by != SERVICE
    )
    return set(session.scalars(query))


def gone(session: Session, project_id: int) -> Sequence[tuple[AlertChange, ChangePoint]]:
    """Return the change points of the project's alerts that were taken back, and whose alert does not say so yet."""
    rows = session.execute(
        select(AlertChange, ChangePoint)
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .where(
            ChangePoint.project_id == project_id,
            ~AlertChange.has_left,
            ChangePoint.state != ChangeState.CONFIRMED,
        )
    )
    return [(row[0], row[1]) for row in rows]


@dataclass(frozen=True)
class Standing:
    """What of an open alert's changes still stands: how many, how many are accepted, and how many are mended."""

    n: int
    n_accepted: int
    n_mended: int
    accepted_by: str | None
    reason: str | None
    mended_by: str | None
    """The newest commit that mended something."""


def standing(session: Session, alert_ids: Collection[int]) -> dict[int, Standing]:
    """Return how the changes of these alerts stand; none where none of them stands."""
    mended = _mended_by().lateral("mended")
    rows = session.execute(
        select(AlertChange.alert_id, Acceptance, mended.c.sha, mended.c.confirmed_at)
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .outerjoin(Acceptance, Acceptance.change_point_id == ChangePoint.id)
        .outerjoin(mended, mended.c.series_id == ChangePoint.series_id)
        .where(AlertChange.alert_id.in_(alert_ids), ChangePoint.state == ChangeState.CONFIRMED)
    )
    by_alert: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        by_alert[row[0]].append(row)
    return {alert_id: _standing(its) for alert_id, its in by_alert.items()}


def _standing(rows: Sequence[Any]) -> Standing:
    accepted = sorted((row[1] for row in rows if row[1] is not None), key=lambda its: its.accepted_at)
    mended = sorted((row[3], row[2]) for row in rows if row[2] is not None)
    return Standing(
        n=len(rows),
        n_accepted=len(accepted),
        n_mended=len(mended),
        accepted_by=accepted[-1].accepted_by if accepted else None,
        reason=accepted[-1].reason if accepted else None,
        mended_by=mended[-1][1] if mended else None,
    )


def _mended_by() -> Any:
    """Select the commit of the newest change of the same history that undoes the one at hand."""
    later = aliased(ChangePoint)
    undone = (ChangePoint.after - later.after) / cast(ChangePoint.after - ChangePoint.before, Float)
    return (
        select(later.series_id, later.confirmed_at, Commit.sha)
        .join(Commit, Commit.id == later.commit_id)
        .where(
            later.series_id == ChangePoint.series_id,
            later.branch == ChangePoint.branch,
            later.state == ChangeState.CONFIRMED,
            later.index > ChangePoint.index,
            case((ChangePoint.after == ChangePoint.before, False), else_=undone >= UNDONE),
        )
        .order_by(later.index.desc())
        .limit(1)
        .correlate(ChangePoint)
    )


def answered_pulls(
    session: Session, alerts: Sequence[Alert]
) -> dict[int, tuple[str, int | None, str | None]]:
    """Return of each alert's pull request its state, its newest check and what that concluded."""
    asked = [its.id for its in alerts if its.number is not None]
    rows = session.execute(
        select(Alert.id, PullRequest.state, Check.id, Check.conclusion)
        .join(
            PullRequest,
            (PullRequest.repository_id == Alert.repository_id) & (PullRequest.number == Alert.number),
        )
        .outerjoin(Check, Check.id == PullRequest.check_id)
        .where(Alert.id.in_(asked))
    )
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


# --- reading ---


@dataclass(frozen=True)
class Listed:
    """An alert with what a list tells of it."""

    alert: Alert
    project: Project
    commit: Commit
    previous: Commit
    repository: Repository | None
    n_changes: int
    n_checks: int
    device_classes: Sequence[str] | None
    """Of the changes that are counted; None where there are none."""


def listed(
    session: Session,
    *,
    project_ids: Collection[int] | None,
    states: Collection[AlertState],
    owner: str | None,
    before: int | None,
    limit: int,
    alert_id: int | None = None,
    alert_ids: Collection[int] | None = None,
) -> Sequence[Listed]:
    """Return alerts, the newest first; what is None or empty leaves none out. An `owner` of "" means nobody's."""
    previous = aliased(Commit)
    standing = (
        select(func.count())
        .select_from(AlertChange)
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .where(AlertChange.alert_id == Alert.id, ChangePoint.state == ChangeState.CONFIRMED)
    )
    n_changes = standing.scalar_subquery()
    device_classes = (
        standing.join(Series, Series.id == ChangePoint.series_id)
        .with_only_columns(func.array_agg(distinct(Series.device_class)))
        .scalar_subquery()
    )
    n_checks = (
        select(func.count()).select_from(AlertCheck).where(AlertCheck.alert_id == Alert.id).scalar_subquery()
    )
    query = (
        select(Alert, Project, Commit, previous, Repository, n_changes, n_checks, device_classes)
        .join(Project, Project.id == Alert.project_id)
        .join(Commit, Commit.id == Alert.commit_id)
        .join(previous, previous.id == Alert.previous_commit_id)
        .outerjoin(Repository, Repository.id == Alert.repository_id)
        .order_by(Alert.id.desc())
        .limit(limit)
    )
    if project_ids is not None:
        query = query.where(Alert.project_id.in_(project_ids))
    if alert_id is not None:
        query = query.where(Alert.id == alert_id)
    if alert_ids is not None:
        query = query.where(Alert.id.in_(alert_ids))
    if states:
        query = query.where(Alert.state.in_(states))
    if owner is not None:
        query = query.where(Alert.owner == owner if owner else Alert.owner.is_(None))
    if before is not None:
        query = query.where(Alert.id < before)
    return [Listed(*row) for row in session.execute(query)]


@dataclass(frozen=True)
class Told:
    """A change point that an alert tells of."""

    alert_id: int
    change: ChangePoint
    series: Series
    case: BenchmarkCase
    commit: Commit
    previous: Commit
    acceptance: Acceptance | None

    @property
    def stands(self) -> bool:
        """Whether it was not taken back."""
        return self.change.state == ChangeState.CONFIRMED


def told_changes(session: Session, alert_ids: Collection[int], *, most: int | None) -> Sequence[Told]:
    """Return the change points of alerts, at most so many of each: those that stand first, and of them the largest."""
    previous = aliased(Commit)
    order = (
        ChangePoint.state != ChangeState.CONFIRMED,
        func.abs(ChangePoint.change).desc().nulls_last(),
        ChangePoint.id,
    )
    ranked = (
        select(
            AlertChange.alert_id,
            AlertChange.change_point_id,
            func.row_number().over(partition_by=AlertChange.alert_id, order_by=order).label("rank"),
        )
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .where(AlertChange.alert_id.in_(alert_ids))
        .subquery()
    )
    query = (
        select(ranked.c.alert_id, ChangePoint, Series, BenchmarkCase, Commit, previous, Acceptance)
        .select_from(ranked)
        .join(ChangePoint, ChangePoint.id == ranked.c.change_point_id)
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Commit, Commit.id == ChangePoint.commit_id)
        .join(previous, previous.id == ChangePoint.previous_commit_id)
        .outerjoin(Acceptance, Acceptance.change_point_id == ChangePoint.id)
        .order_by(ranked.c.rank)
    )
    if most is not None:
        query = query.where(ranked.c.rank <= most)
    return [Told(*row) for row in session.execute(query)]


def told_checks(session: Session, alert_ids: Collection[int]) -> Sequence[tuple[int, Check]]:
    """Return the failed checks of alerts, the newest first, each with its alert's id."""
    rows = session.execute(
        select(AlertCheck.alert_id, Check)
        .join(Check, Check.id == AlertCheck.check_id)
        .where(AlertCheck.alert_id.in_(alert_ids))
        .order_by(Check.id.desc())
    )
    return [(row[0], row[1]) for row in rows]


def history(session: Session, alert_id: int, limit: int) -> Sequence[AlertLog]:
    """Return the newest entries of an alert's history, in their order."""
    newest = select(AlertLog).where(AlertLog.alert_id == alert_id).order_by(AlertLog.id.desc()).limit(limit)
    return session.scalars(newest).all()[::-1]


def counts(session: Session, project_ids: Collection[int] | None) -> dict[AlertState, int]:
    """Return how many alerts are in each state."""
    query = select(Alert.state, func.count()).group_by(Alert.state)
    if project_ids is not None:
        query = query.where(Alert.project_id.in_(project_ids))
    return {AlertState(row[0]): row[1] for row in session.execute(query)}


def owners(session: Session, project_ids: Collection[int] | None) -> Sequence[str]:
    """Return who owns open alerts."""
    query = select(Alert.owner).where(Alert.owner.is_not(None), Alert.state.in_(OPEN_STATES)).distinct()
    if project_ids is not None:
        query = query.where(Alert.project_id.in_(project_ids))
    return sorted(owner for owner in session.scalars(query) if owner)
