"""What a merged pull request is told: one comment of all confirmed changes for the worse that came with it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.analysis.efficiency.cost import extra_cost
from app.config import ServiceSettings
from app.domain.changes import ChangeState
from app.domain.forge import CommentText
from app.domain.notices import Acceptance, CommitRange, ExtraCost, Notice, NoticedChange
from app.domain.results import CommitRef
from app.reports.pull_request.notice import notice_body, notice_marker
from app.services.derive_values import price_for
from app.services.forge.want_text import want_text
from app.store.repositories import origins, targets
from app.store.repositories.origins import Told
from app.store.tables import ChangePoint, Project, Repository


def key_of(repository: Repository, number: int) -> str:
    """Return what a pull request's notice is known by."""
    return f"alert/{repository.id}/{number}"


def tell_notice(
    session: Session, settings: ServiceSettings, repository: Repository, number: int, *, is_silent: bool
) -> None:
    """Have a merged pull request told what came with it, once there is something; the caller has locked the repository.

    Args:
        session: the session.
        settings: the service's.
        repository: where the pull request is.
        number: its number.
        is_silent: whether no comment is made; one that is there is kept true all the same.
    """
    rows = origins.told(session, repository.id, number)
    told = notice_of(session, repository, rows)
    key = key_of(repository, number)
    has_one = targets.one(session, key) is not None
    if has_one or (not is_silent and any(change.stands for change in told.changes)):
        marker = notice_marker(repository.external_id, number)
        text = CommentText(number, marker, notice_body(told, marker, settings.address))
        want_text(session, repository, key, text)
    for row in rows:
        row.origin.shown = row.change.state
    session.flush()


def notice_of(session: Session, repository: Repository, rows: Sequence[Told]) -> Notice:
    """Return what is told of these changes; of two that are one corrected and its correction, the newer alone."""
    replaced = {row.change.corrects_id for row in rows}
    shown = [
        row for row in rows if row.change.id not in replaced or row.change.state != ChangeState.CORRECTED
    ]
    asked = {row.change.request_id for row in shown if row.change.request_id is not None}
    runs = origins.runs_of_requests(session, asked) if asked else {}
    accepted = origins.acceptances(session, [row.change.id for row in shown])
    project = session.get_one(Project, repository.project_id)
    changes = tuple(
        _change(row, runs.get(row.change.request_id or 0), accepted.get(row.change.id)) for row in shown
    )
    return Notice(project.name, repository.branch, changes)


def _change(row: Told, run: int | None, acceptance: Acceptance | None) -> NoticedChange:
    change, series = row.change, row.series
    return NoticedChange(
        series=series.id,
        benchmark=row.case.benchmark,
        params=row.case.params,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        device_class=series.device_class,
        before=change.before,
        after=change.after,
        change=change.change,
        ci_low=change.ci_low,
        ci_high=change.ci_high,
        is_exact=change.p_value is None,
        range=_range(row),
        reason=change.reason or "",
        run=run,
        cost=_cost(row),
        acceptance=acceptance,
        taken_back=_why_taken_back(change) if change.state == ChangeState.CORRECTED else "",
    )


def _why_taken_back(change: ChangePoint) -> str:
    """Return why a change does not hold, without a word of how that is stored."""
    return (change.reason or "").partition(", told by a row")[0] or "later results say otherwise"


def _range(row: Told) -> CommitRange:
    commits = tuple(CommitRef(sha, subject) for sha, subject in row.origin.commits)
    return CommitRange(row.previous.sha, commits[0], commits, row.origin.n_commits)


def _cost(row: Told) -> ExtraCost | None:
    """Return what the change costs, where the job that measured it tells its devices."""
    change = row.change
    if row.job is None or change.before is None or change.after is None:
        return None
    price = price_for(row.job)
    return extra_cost(
        row.series.metric, row.series.unit, change.before, change.after, row.job.devices_needed, price
    )
