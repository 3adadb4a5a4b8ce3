"""The schedules of repositories: kept as their settings have them, and asked each time they are due, once.

Times are UTC. A service that was away asks once for all that it missed: the newest commit is what counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Unpack

from cronsim import CronSim
from sqlalchemy.orm import Session

from app.settings.values import ScheduleSettings
from app.store.repositories import clock, outbox, schedules
from app.store.tables import Schedule

TOPIC = "schedule.follow"


def next_time(cron: str, after: datetime) -> datetime:
    """Return the first time after this one that cron's five fields name; settings that name none are refused."""
    return next(CronSim(cron, after.astimezone(UTC)))


def last_time(cron: str, until: datetime) -> datetime:
    """Return the last time that they name until this one, which counts."""
    return next(CronSim(cron, until.astimezone(UTC) + timedelta(microseconds=1), reverse=True))


def keep_schedules(session: Session, repository_id: int, wanted: Iterable[ScheduleSettings]) -> None:
    """Have a repository's schedules be these: new and changed ones are due from now on, others never again.

    The caller has locked the repository.
    """
    known = {schedule.name: schedule for schedule in schedules.of_repository(session, repository_id)}
    named = {schedule.name: schedule.cron for schedule in wanted}
    now = clock.now(session)
    for name, cron in named.items():
        its = known.get(name)
        if its is None:
            its = Schedule(repository_id=repository_id, name=name)
            session.add(its)
        elif its.cron == cron and its.due_at is not None:
            continue
        its.cron, its.due_at = cron, next_time(cron, now)
    for name in known.keys() - named.keys():
        known[name].due_at = None
    session.flush()


def ask_due(session: Session, now: datetime) -> int:
    """Have looked at what is due; return how many schedules are. Of times that were missed the last one counts."""
    due = schedules.take_due(session, now)
    for schedule in due:
        tick_id = schedules.add_tick(session, schedule.id, last_time(schedule.cron, now))
        if tick_id is not None:
            want_tick(session, tick_id)
        schedule.due_at = next_time(schedule.cron, now)
    session.flush()
    return len(due)


def want_tick(session: Session, tick_id: int, **when: Unpack[outbox.When]) -> None:
    """Have looked at what a schedule has measured; several wishes are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{tick_id}", {"tick_id": tick_id}, **when)


def find_lost_ticks(session: Session, *, older_than: timedelta) -> int:
    """Have looked at again what nobody looked at for so long; return how many times."""
    lost = schedules.waiting_ticks(session, older_than=older_than)
    for tick_id in lost:
        want_tick(session, tick_id, sent_before=older_than)
    return len(lost)
