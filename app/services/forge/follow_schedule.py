"""A schedule is due: the branch's newest commit is measured against the one that it had measured last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.forge.growth import Branch, SeenBranch, ask_for_growth, branch_of, keep_branch
from app.services.forge.schedules import want_tick
from app.store.repositories import forge, schedules
from app.store.tables import Repository

TRIGGER = "schedule"
BAND = 20
"""After pull requests and pushes that wait."""


@dataclass(frozen=True)
class Due:
    """A time that a schedule was due at: of which branch, and its commit that the schedule had measured last."""

    tick_id: int
    repository_id: int
    branch: Branch
    name: str
    cron: str
    since: str | None


def due_at_tick(session: Session, tick_id: int) -> Due | None:
    """Return what is due; None where somebody looked at it already, or the schedule was due again meanwhile."""
    found = schedules.waiting_tick(session, tick_id)
    if found is None:
        return None
    tick, schedule = found
    newest = schedules.newest_tick(session, schedule.id)
    if newest is not None and newest.id != tick.id:
        tick.outcome = "it was due again before this could be looked at"
        return None
    repository = session.get_one(Repository, schedule.repository_id)
    its = branch_of(repository)
    return Due(tick.id, repository.id, its, schedule.name, schedule.cron, schedule.measured_sha)


def follow_schedule(
    session: Session, settings: ServiceSettings, due: Due, seen: SeenBranch, asked_at: datetime
) -> None:
    """Have measured what is due, once, and store what followed; if somebody else did meanwhile, look again."""
    repository = forge.locked(session, due.repository_id)
    found = schedules.waiting_tick(session, due.tick_id)
    if found is None:
        return
    tick, schedule = found
    if schedule.measured_sha != due.since:
        want_tick(session, tick.id)
        return
    why = keep_branch(session, repository, seen, asked_at) or _why_not_now(due, seen) or seen.why
    if why or seen.growth is None:
        tick.outcome = why
        return
    base, head = seen.growth.comparison.base, seen.growth.comparison.head
    key = f"{TRIGGER}/{schedule.id}/{tick.planned_at.isoformat()}"
    check = ask_for_growth(session, settings, repository, seen.growth, trigger=TRIGGER, key=key, band=BAND)
    schedule.measured_sha, tick.check_id = head.sha, check.id
    tick.outcome = f"{head.sha[:10]} is measured against {base.sha[:10]}"


def _why_not_now(due: Due, seen: SeenBranch) -> str:
    """Return why it is not due by the settings as they are now, which nobody told of; empty where it is."""
    if seen.settings is None:
        return ""
    cron = {one.name: one.cron for one in seen.settings.schedules}.get(due.name)
    if cron is None:
        return f"the settings of {seen.head.sha[:10]} have no schedule {due.name!r}"
    return "" if cron == due.cron else f"the settings of {seen.head.sha[:10]} have it at {cron!r}"


def refuse_tick(session: Session, tick_id: int, why: str) -> None:
    """Store why nothing follows."""
    found = schedules.waiting_tick(session, tick_id)
    if found is not None:
        found[0].outcome = why
