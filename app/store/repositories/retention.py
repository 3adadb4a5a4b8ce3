"""What is older than it is kept: looked for in the order of its arrival, and deleted some rows at a time.

Every statement looks at a bounded number of rows behind a cursor, so that it is short however much there is, and skips
what somebody else holds. Rows have their ids in the order of their arrival: where none of those looked at is old, none
behind them is. What is spared stays where it is until nothing needs it any more, and is passed over each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.alerts import OPEN_STATES
from app.domain.changes import STANDING
from app.domain.jobs import TERMINAL
from app.store.tables import Watermark

ADVISORY_LOCK = 0x5052554E
"""Key of the lock that lets one process prune at a time ("PRUN")."""

NAME = "retention"


@dataclass(frozen=True)
class Rows:
    """One kind of row: where it is, when it arrived, and which of them stay whatever their age.

    `looked` yields the `id` and the time `at` of the next `:most` rows behind `:after`. `spared` is a condition on
    `looked`, and `size` says roughly how much a row takes [B].
    """

    table: str
    looked: str
    key: str = "id"
    spared: str = "false"
    size: str = "0"
    is_in_order: bool = True
    """Whether a younger row never stands before an older one."""


class Looked(NamedTuple):
    """What one look came upon: how many rows it saw, which was the last of them, and how much was due, since when."""

    seen: int
    last: int
    any_old: bool
    rows: int
    size_b: int
    oldest: datetime | None
    ids: list[int]


def _listed(words: tuple[str, ...] | frozenset[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))


_OPEN, _TERMINAL, _STANDING = map(_listed, (tuple(OPEN_STATES), tuple(TERMINAL), tuple(STANDING)))

# A run is needed while its job goes on or a check waits for it; while an alert that waits for somebody tells of that
# check, or of a change that it was to confirm; and while its device is in quarantine, as that may be calibrating it.
_RUN_NEEDED = f"""
    exists (
      select from job left join device on device.id = job.device_id
      where job.id = run.job_id and (job.state not in ({_TERMINAL}) or device.health = 'quarantined'))
    or exists (
      select from request_job
        join "check" on "check".request_id = request_job.request_id
        left join alert_check on alert_check.check_id = "check".id
        left join alert on alert.id = alert_check.alert_id
      where request_job.job_id = run.job_id and ("check".state <> 'complete' or alert.state in ({_OPEN})))
    or exists (
      select from request_job
        join change_point on change_point.request_id = request_job.request_id
        left join alert_change on alert_change.change_point_id = change_point.id
        left join alert on alert.id = alert_change.alert_id
      where request_job.job_id = run.job_id
        and (change_point.state = 'suspected' or alert.state in ({_OPEN})))
"""  # noqa: S608  # nothing of it is anybody's but ours

# Values stay of a result that nobody examined, that ends its history, as what comes next is held against it, and of the
# commits of a change that stands: it is what alerts and acceptances rest on.
_RESULT_NEEDED = f"""
    exists (
      select from result
      where result.id = looked.id and (
        result.branch is not null and result.place is null
        or exists (
          select from history
          where history.series_id = result.series_id and history.branch = result.branch
            and last_place = result.place)
        or exists (
          select from change_point
          where change_point.series_id = result.series_id and state in ({_STANDING})
            and result.commit_id in (change_point.commit_id, previous_commit_id, end_commit_id))
        or exists (select from run where run.id = result.run_id and ({_RUN_NEEDED}))))
"""  # noqa: S608

# The audit log is asked for the newest of each: since when a device is in quarantine, and who gave it back.
_ENTRY_NEEDED = """
    exists (
      select from audit_log its
      where its.id = looked.id and action in ('device.quarantined', 'device.released') and not exists (
        select from audit_log later
        where later.object = its.object and later.action = its.action and later.id > its.id
          and (later.detail ->> 'by') is not distinct from (its.detail ->> 'by')))
"""


_NEWEST_OF_SCHEDULE = """
    not exists (
      select from schedule_tick its join schedule_tick later on later.schedule_id = its.schedule_id
      where its.id = looked.id and later.planned_at > its.planned_at)
"""


def _arrived(table: str, at: str = "created_at", *, which: str = "true") -> str:
    return f"""
        select id, {at} as at from {table} where id > :after and ({which}) order by id limit :most
    """  # noqa: S608


SAMPLES = Rows(
    "sample",
    """
      select result_id as id, (
        select coalesce(
          (select created_at from run where run.id = run_id),
          (select created_at from upload where upload.id = upload_id), measured_at)
        from result where result.id = result_id) as at
      from sample where result_id > :after order by result_id limit :most
    """,
    key="result_id",
    spared=_RESULT_NEEDED,
    size='pg_column_size("values") + 40',
)
REPORTS = Rows(
    "report",
    "select check_id as id, created_at as at from report where check_id > :after order by check_id limit :most",
    key="check_id",
    size="pg_column_size(html_gz) + 40",
)
WEEKLY_REPORTS = Rows(
    "weekly_report",
    _arrived("weekly_report"),
    size="pg_column_size(html_gz) + 100",
    is_in_order=False,  # one that is made again has the time of then
)
DELIVERIES = Rows(
    "delivery",
    _arrived("delivery", "received_at", which="outcome is not null"),
    size="pg_column_size(payload) + 100",
)
TICKS = Rows(
    "schedule_tick", _arrived("schedule_tick", which="outcome is not null"), spared=_NEWEST_OF_SCHEDULE
)
WISHES = Rows("measure_request", _arrived("measure_request", which="outcome is not null"))
GROUPS = Rows("merge_group", _arrived("merge_group", which="state = 'destroyed' and check_id is null"))
MESSAGES = Rows("outbox", _arrived("outbox", "sent_at", which="sent_at is not null"), is_in_order=False)
# A message is needed until it is sent, and so is the one that it goes on from; by the thread of an alert or incident
# until the notifier was told that it is over; and by an issue of alerts, which may be opened again.
_THREAD_NEEDED = f"""
    exists (
      select from notification its
        left join told_alert on told_alert.notification_id = its.id
        left join alert on alert.id = told_alert.alert_id
        left join told_incident on told_incident.notification_id = its.id
      where its.id = looked.id and (
        its.state = 'waiting' or alert.state in ({_OPEN}) or told_alert.state in ({_OPEN})
        or (its.state = 'handed' and alert.id is not null)
        or not told_incident.is_over
        or its.key in (select thread from notification where state = 'waiting')))
"""  # noqa: S608  # nothing of it is anybody's but ours
NOTIFICATIONS = Rows(
    "notification",
    _arrived("notification"),
    spared=_THREAD_NEEDED,
    size="pg_column_size(message) + 200",
)
ENTRIES = Rows(
    "audit_log",
    _arrived("audit_log"),
    spared=_ENTRY_NEEDED,
    size="pg_column_size(detail) + 100",
)
_OF_LOOKED = f"exists (select from run where run.id = looked.id and ({_RUN_NEEDED}))"
LOGGED_RUNS = Rows("run", _arrived("run", which="has_logs"), spared=_OF_LOOKED)
RAW_RUNS = Rows("run", _arrived("run", which="not is_bare"), spared=_OF_LOOKED)

_LOOK = """
    with looked as materialized ({looked}),
      due as materialized (select id, at from looked where at < :before and not ({spared})),
      found as materialized (
        select {key} as id, {size} as size from {table} where {key} in (select id from due) {lock})
      {delete}
    select count(*), coalesce(max(looked.id), :after), coalesce(bool_or(looked.at < :before), false),
      (select count(*) from found), (select coalesce(sum(size), 0) from found),
      (select min(at) from due where id in (select id from found)), (select array_agg(id order by id) from found)
    from looked
"""


def _sql(kind: Rows, *, lock: str = "", delete: str = "") -> str:
    its = {name: getattr(kind, name) for name in ("table", "key", "looked", "spared", "size")}
    return _LOOK.format(lock=lock, delete=delete, **its)


def look(session: Session, kind: Rows, *, before: datetime, after: int, most: int) -> Looked:
    """Return what is due of the next `most` rows behind the id `after`, and change nothing."""
    return _found(session, _sql(kind), before, after, most)


def delete(session: Session, kind: Rows, *, before: datetime, after: int, most: int) -> Looked:
    """Delete what is due of the next `most` rows behind the id `after`, and return what that was."""
    session.execute(text("select set_config('ratchet.prunes', :table, true)"), {"table": kind.table})
    gone = f", gone as (delete from {kind.table} where {kind.key} in (select id from found))"  # noqa: S608
    return _found(session, _sql(kind, lock="for update skip locked", delete=gone), before, after, most)


def _found(session: Session, query: str, before: datetime, after: int, most: int) -> Looked:
    row = session.execute(text(query), {"before": before, "after": after, "most": most}).one()
    return Looked(int(row[0]), int(row[1]), bool(row[2]), int(row[3]), int(row[4]), row[5], row[6] or [])


def lock_due_runs(session: Session, kind: Rows, *, before: datetime, after: int, most: int) -> Looked:
    """Lock those that are due of the next `most` runs behind the id `after`, and return what they are."""
    return _found(session, _sql(kind, lock="for update skip locked"), before, after, most)


_RAW_SIZE = {
    "timing": "pg_column_size(host_ns) + pg_column_size(device_ns) + pg_column_size(wait_ns) + 150",
    "estimate": "80",
    "telemetry": "pg_column_size(ticks) + 40",
}
"""Tables with the raw values of invocations: roughly how much a row takes [B]."""


def raw_of(session: Session, run_ids: list[int]) -> tuple[int, int]:
    """Return how many rows of raw values these runs have, and roughly how much they take [B]."""
    rows = size_b = 0
    for table, size in _RAW_SIZE.items():
        query = f"""
            select count(*), coalesce(sum({size}), 0) from {table}
            where invocation_id in (select id from invocation where run_id = any(:ids))
        """  # noqa: S608
        row = session.execute(text(query), {"ids": run_ids}).one()
        rows, size_b = rows + int(row[0]), size_b + int(row[1])
    return rows, size_b


def delete_raw(session: Session, run_id: int, most: int) -> tuple[int, int]:
    """Delete up to `most` rows of a run's raw values; return how many went and what they took [B]."""
    rows = size_b = 0
    for table, size in _RAW_SIZE.items():
        query = f"""
            with chosen as (
              select {table}.ctid, {size} as size from invocation join {table} on invocation_id = invocation.id
              where run_id = :id limit :most),
            gone as (delete from {table} where ctid = any(array(select ctid from chosen)))
            select count(*), coalesce(sum(size), 0) from chosen
        """  # noqa: S608
        row = session.execute(text(query), {"id": run_id, "most": most - rows}).one()
        rows, size_b = rows + int(row[0]), size_b + int(row[1])
    return rows, size_b


_LOGS = (
    "update invocation set log_tail = '' where run_id = any(:ids) and log_tail <> ''",
    """
    update timing set log_tail = '' from invocation
    where invocation.id = timing.invocation_id and run_id = any(:ids) and timing.log_tail <> ''
    """,
    """
    update attempt set log_tail = null from run
    where attempt.id = run.attempt_id and run.id = any(:ids) and attempt.log_tail is not null
    """,
    "update job set log_tail = null from run where job.id = run.job_id and run.id = any(:ids)"
    " and job.log_tail is not null",
    "update verdict set log_tail = null where run_id = any(:ids) and log_tail is not null",
    """
    update run set has_logs = false, arms = coalesce((
      select jsonb_object_agg(arm, report || jsonb_build_object('log_tail', ''))
      from jsonb_each(run.arms) as its(arm, report)), run.arms)
    where id = any(:ids)
    """,
)
"""Statements that forget the logs of runs, the runs themselves last."""


def forget_logs(session: Session, run_ids: list[int]) -> int:
    """Empty every log of these runs, of their attempts and of their jobs; return how many there were."""
    told = [session.execute(text(statement), {"ids": run_ids}) for statement in _LOGS]
    return sum(int(getattr(result, "rowcount", 0)) for result in told[:-1])


def may_prune(session: Session) -> bool:
    """Take the right to prune until the transaction's end; False where another process has it."""
    return bool(session.scalar(text("select pg_try_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK}))


def note_done(session: Session, at: datetime) -> None:
    """Note that everything was looked at then."""
    statement = insert(Watermark).values(name=NAME, at=at)
    session.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"at": at}))


def done_s_ago(session: Session) -> float | None:
    """Return how long ago everything was last looked at [s]; None where that never was."""
    age = func.extract("epoch", func.clock_timestamp() - Watermark.at)
    found = session.scalar(select(age).where(Watermark.name == NAME))
    return None if found is None else float(found)
