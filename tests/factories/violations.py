"""What must not be, planted: for each invariant the statements after which it does not hold."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

_JOB = """
    insert into job
      (project_id, key, suite, device_class, head_commit_id, spec, policy, budget_s, max_pairs, deadline_at)
    select project_id, 'k', 's', 'd', head_commit_id, '{}', '{}', 1, 1, now() from job limit 1
"""
_ATTEMPT = """
    insert into attempt (job_id, number, lease_id, worker_id)
    select id, 9, 'L9', (select id from worker limit 1) from job where state = 'succeeded' limit 1
"""
_FROM_RUN = (
    "update result set upload_id = null, run_id = (select id from run where published_at is not null limit 1)"
)

PLANTED = {
    "one_lease_a_device": """
        drop index uq_lease_device_active;
        insert into lease_device select gen_random_uuid(), id, true from device, generate_series(1, 2)
    """,
    "active_lease_has_its_job": """
        update lease_device set active = false;
        insert into lease_device select 'nobody', id, true from device limit 1
    """,
    "held_job_has_its_lease": f"{_JOB}; update job set state = 'leased' where key = 'k'",
    "free_job_has_no_lease": f"{_JOB}; update job set lease_id = 'left' where key = 'k'",
    "open_attempt_is_held": _ATTEMPT,
    "ended_attempt_has_outcome": "update attempt set outcome = null where ended_at is not null",
    "attempts_within_their_number": "update job set attempt = 7 where state in ('leased', 'running')",
    "ended_job_has_its_end": """
        alter table job disable trigger job_transition;
        update job set finished_at = null
    """,
    "unfinished_job_has_a_deadline": f"{_JOB}; update job set deadline_at = null where key = 'k'",
    "published_run_was_measured": "update attempt set outcome = 'lost' where outcome = 'ok'",
    "one_run_is_published": f"""
        {_ATTEMPT};
        insert into run (project_id, job_id, attempt_id, published_at)
        select project_id, job_id, attempt.id, now() from attempt join job on job.id = job_id where number = 9
    """,
    "result_is_of_a_published_run": f"{_FROM_RUN}; update run set published_at = null",
    "result_is_from_somewhere": "update result set upload_id = null, run_id = null",
    "strangers_have_no_results": f"""
        alter table job disable trigger job_transition;
        {_FROM_RUN};
        update job set is_untrusted = true
    """,
    "places_are_in_order": "update result set place = 1, branch = 'main'",
    "histories_are_as_long_as_they_say": "update history set length = length + 1",
    "concluded_check_is_complete": 'update "check" set concluded_at = null',
    "concluded_check_has_no_open_jobs": f"""
        {_JOB};
        insert into request_job
        select request_id, job.id from "check", job where conclusion is not null and job.key = 'k'
    """,
    "verdicts_of_concluded_checks_are_set": """
        alter table verdict disable trigger verdict_stays;
        update verdict set verdict = null
    """,
    "confirmed_change_says_when": """
        alter table change_point disable trigger change_point_guard;
        insert into change_point (project_id, series_id, branch, commit_id, previous_commit_id, end_commit_id,
          result_id, index, end_index, kind, state)
        select (select min(id) from project), series_id, 'main', commit_id, commit_id, commit_id, id,
          0, 0, 'step', 'confirmed' from result limit 1
    """,
    "message_has_its_subject": """
        insert into outbox (topic, key, payload)
        values ('check.conclude', 'x', jsonb_build_object('check_id', 99999))
    """,
    "one_thing_told_once": """
        insert into repository (external_id, slug, branch) values (5, 'a/b', 'main');
        insert into target (key, repository_id, kind, wanted, wanted_digest, external_id)
        select 'k' || n, (select max(id) from repository), 'check', '{}', '', 7 from generate_series(1, 2) as n
    """,
    "keys_are_unique": """
        alter table outbox drop constraint uq_outbox_key;
        insert into outbox (topic, key, payload) select 'series.examine', 'twice', '{}' from generate_series(1, 2)
    """,
    "guards_stand": "alter table job disable trigger job_transition",
    "constraints_hold": "alter table job add constraint odd check (band > 99) not valid",
    "one_schema_revision": "insert into alembic_version values ('9998')",
}
"""Invariant -> statements after which it does not hold."""


def plant(session: Session, name: str) -> None:
    """Have an invariant not hold."""
    for statement in PLANTED[name].split(";"):
        session.execute(text(statement))
