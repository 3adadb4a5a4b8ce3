"""What must be true of the rows, whatever happened: each is a query for those of which it is not.

A row of an answer is one violation, told as a word that names it. Most of it the database refuses by itself, by unique
indexes, constraints and triggers; these queries look all the same, because a disk, a restoring or a hand may have put
there what no statement of ours could.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Invariant:
    """Something that must be true, as a sentence, and the query for the rows of which it is not."""

    name: str
    says: str
    query: str


_HELD = "state in ('leased', 'running')"
_ENDED = "state not in ('queued', 'leased', 'running')"

GUARDS = {
    "job_transition": "job",
    "verdict_stays": "verdict",
    "conclusion_stays": "check",
    "audit_log_appends": "audit_log",
    "change_point_guard": "change_point",
}
"""Triggers that refuse what would take back an end, with their tables."""

_KEYS = {
    "job": "key",
    "request": "key",
    "attempt": "lease_id",
    "invocation": "key",
    "upload": "project_id, key",
    "outbox": "key",
    "delivery": "guid",
    "target": "key",
    "pull_request": "repository_id, number",
    "schedule_tick": "schedule_id, planned_at",
    "token": "public_id",
    "verdict": "run_id, case_id, metric",
    "series": "case_id, metric, device_class, version",
}
"""What makes asking twice one row (reliability: idempotency keys)."""

_SUBJECTS = {
    "job_id": "job",
    "check_id": "check",
    "run_id": "run",
    "project_id": "project",
    "delivery_id": "delivery",
    "repository_id": "repository",
    "tick_id": "schedule_tick",
    "group_id": "merge_group",
    "request_id": "measure_request",
    "commit_id": "commit",
}
"""Keys of messages, and the tables that their numbers are of."""

_TWICE = " union all ".join(
    f"select '{table} ' || concat_ws('/', {columns}) || ' ' || count(*) || ' times'"
    f' from "{table}" group by {columns} having count(*) > 1'
    for table, columns in _KEYS.items()
)
_LOST_SUBJECTS = " union all ".join(
    f"select 'message ' || outbox.id || ' ' || outbox.topic || ' of {table} ' || (payload->>'{key}')"
    f" from outbox where sent_at is null and payload ? '{key}'"
    f" and not exists (select from \"{table}\" as its where its.id = (payload->>'{key}')::bigint)"
    for key, table in _SUBJECTS.items()
)
_NO_GUARD = " union all ".join(
    f"select 'trigger {name} of {table}' where not exists (select from pg_trigger where tgname = '{name}'"
    f" and tgrelid = to_regclass('public.\"{table}\"') and tgenabled <> 'D')"
    for name, table in GUARDS.items()
)

INVARIANTS = (
    # --- jobs and leases ---
    Invariant(
        "one_lease_a_device",
        "a device has one active lease at most",
        "select 'device ' || device_id || ' ' || count(*) || ' leases' from lease_device where active"
        " group by device_id having count(*) > 1",
    ),
    Invariant(
        "active_lease_has_its_job",
        "an active lease is that of a job which is being measured",
        f"select 'lease ' || lease_id || ' of device ' || device_id from lease_device where active and not exists"
        f" (select from job where job.lease_id = lease_device.lease_id and {_HELD})",
    ),
    Invariant(
        "held_job_has_its_lease",
        "a job that is being measured has a lease, and that an attempt which has not ended",
        f"select 'job ' || id from job where {_HELD} and not exists (select from attempt"
        " where attempt.lease_id = job.lease_id and attempt.job_id = job.id and ended_at is null)",
    ),
    Invariant(
        "free_job_has_no_lease",
        "a job that waits has no lease that anybody could post under",
        "select 'job ' || id from job where state = 'queued' and (lease_id is not null or lease_until is not null)",
    ),
    Invariant(
        "open_attempt_is_held",
        "an attempt that has not ended is that of its job's lease",
        f"select 'attempt ' || attempt.id || ' of job ' || job_id from attempt join job on job.id = job_id"
        f" where ended_at is null and not (job.lease_id is not distinct from attempt.lease_id and {_HELD})",
    ),
    Invariant(
        "ended_attempt_has_outcome",
        "an attempt has an outcome when it has ended, and not before",
        "select 'attempt ' || id from attempt where (ended_at is null) <> (outcome is null)",
    ),
    Invariant(
        "attempts_within_their_number",
        "a job has no more attempts than it may have, and as many as it counts",
        "select 'job ' || job.id || ' ' || job.attempt || ' of ' || max_attempts from job"
        " left join (select job_id, max(number) as last from attempt group by job_id) as tried on job_id = job.id"
        " where job.attempt > max_attempts or job.attempt <> coalesce(last, 0)",
    ),
    Invariant(
        "ended_job_has_its_end",
        "a job that has ended says when, and is leased to nobody",
        f"select 'job ' || id || ' ' || state from job where {_ENDED}"
        " and (finished_at is null or lease_until is not null)",
    ),
    Invariant(
        "unfinished_job_has_a_deadline",
        "a job that has not ended has a time by which it does",
        f"select 'job ' || id || ' ' || state from job where (state = 'queued' and deadline_at is null"
        f") or ({_HELD} and (lease_until is null or attempt_until is null))",
    ),
    # --- results ---
    Invariant(
        "published_run_was_measured",
        "nothing is published of an attempt that was lost, failed or cancelled",
        "select 'run ' || run.id || ' ' || coalesce(outcome, 'open') from run join attempt on attempt.id = attempt_id"
        " where published_at is not null and coalesce(outcome, '') not in ('ok', 'bench_failed')",
    ),
    Invariant(
        "one_run_is_published",
        "of a job's runs one is published at most",
        "select 'job ' || job_id || ' ' || count(*) || ' runs' from run where published_at is not null"
        " group by job_id having count(*) > 1",
    ),
    Invariant(
        "result_is_of_a_published_run",
        "a result is of a run that was published",
        "select 'result ' || result.id || ' of run ' || run_id from result join run on run.id = run_id"
        " where published_at is null",
    ),
    Invariant(
        "result_is_from_somewhere",
        "a result is of a run or of a document that was posted, and not of both",
        "select 'result ' || id from result where num_nonnulls(run_id, upload_id) <> 1",
    ),
    Invariant(
        "strangers_have_no_results",
        "code that nobody trusts has no results",
        "select 'result ' || result.id || ' of job ' || job.id from result join run on run.id = run_id"
        " join job on job.id = run.job_id where job.is_untrusted",
    ),
    Invariant(
        "places_are_in_order",
        "in a history no two commits have one place, and no commit has two",
        "select 'series ' || series_id || ' on ' || branch || ' place ' || place from result where place is not null"
        " group by series_id, branch, place having count(distinct commit_id) > 1"
        " union all select 'series ' || series_id || ' on ' || branch || ' commit ' || commit_id from result"
        " where place is not null group by series_id, branch, commit_id having count(distinct place) > 1",
    ),
    Invariant(
        "histories_are_as_long_as_they_say",
        "a history has as many points as it counts, and the last is where it says",
        "select 'series ' || history.series_id || ' on ' || history.branch || ' ' || length || ' of ' || coalesce(n, 0)"
        " from history left join (select series_id, branch, count(*) as n, max(place) as last from result"
        " where place is not null group by series_id, branch) as its using (series_id, branch)"
        " where length <> coalesce(n, 0) or last_place is distinct from last",
    ),
    # --- checks and changes ---
    Invariant(
        "concluded_check_is_complete",
        "a check is complete when it has a conclusion and a time of it, and not before",
        """select 'check ' || id from "check" where (state = 'complete') <> (conclusion is not null)"""
        """ or (conclusion is null) <> (concluded_at is null)""",
    ),
    Invariant(
        "concluded_check_has_no_open_jobs",
        "the jobs of a check that is concluded have ended",
        """select 'check ' || its.id || ' job ' || job.id from "check" as its join request_job using (request_id)"""
        f" join job on job.id = job_id where conclusion is not null and not job.{_ENDED}",
    ),
    Invariant(
        "verdicts_of_concluded_checks_are_set",
        "what a concluded check measured to its end has its verdicts",
        """select 'check ' || its.id || ' verdict ' || verdict.id from "check" as its"""
        " join request_job using (request_id) join run on run.job_id = request_job.job_id and published_at is not null"
        " join attempt on attempt.id = attempt_id and outcome = 'ok' join verdict on verdict.run_id = run.id"
        " where conclusion is not null and verdict is null",
    ),
    Invariant(
        "confirmed_change_says_when",
        "a change that is confirmed says since when",
        "select 'change ' || id from change_point where state = 'confirmed' and confirmed_at is null",
    ),
    # --- what is said outside ---
    Invariant(
        "message_has_its_subject",
        "a message that waits is about something that is there",
        _LOST_SUBJECTS,
    ),
    Invariant(
        "one_thing_told_once",
        "no two wishes have one check run or comment of the forge",
        "select kind || ' ' || external_id || ' of repository ' || repository_id from target"
        " where external_id is not null group by kind, external_id, repository_id having count(*) > 1",
    ),
    # --- the database's own guards ---
    Invariant("keys_are_unique", "what makes asking twice one row is there once", _TWICE),
    Invariant("guards_stand", "the triggers that refuse to take back an end are there and on", _NO_GUARD),
    Invariant(
        "constraints_hold",
        "every constraint was checked against every row, and every index can be used",
        "select 'constraint ' || conname from pg_constraint join pg_namespace on pg_namespace.oid = connamespace"
        " where nspname = 'public' and not convalidated"
        " union all select 'index ' || relname from pg_index join pg_class on pg_class.oid = indexrelid"
        " join pg_namespace on pg_namespace.oid = relnamespace where nspname = 'public' and not indisvalid",
    ),
    Invariant(
        "one_schema_revision",
        "the schema has one revision",
        "select 'revisions ' || count(*) from alembic_version having count(*) <> 1",
    ),
)


def violations(session: Session, invariant: Invariant, most: int) -> tuple[int, Sequence[str]]:
    """Return how many violations there are, and what some of them are of."""
    query = f"with found(what) as ({invariant.query}) select count(*) over (), what from found order by 2 limit :most"
    rows = session.execute(text(query), {"most": most}).all()
    return (int(rows[0][0]) if rows else 0), [str(row[1]) for row in rows]


def begin_looking(session: Session) -> None:
    """Have all that this transaction reads be of one moment, whatever others write, however long it takes."""
    session.execute(text("set transaction isolation level repeatable read read only"))
    session.execute(text("set local statement_timeout = 0"))
    session.execute(text("set local idle_in_transaction_session_timeout = 0"))
