"""Guards: what the tables must refuse whoever writes to them.

A job moves along its transition table only (app.domain.jobs has the same table, and a test compares them); a
verdict that is set stays; the audit log is append-only.

Revision: 0002
Follows: 0001
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

JOB_TRANSITIONS = """
create function job_transition_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'queued' then
      raise exception 'a job begins as queued, not as %', new.state using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if new.state = old.state and old.state in ('queued', 'leased', 'running') then
    return new;
  end if;
  if (old.state, new.state) in (
    ('queued', 'leased'), ('queued', 'failed'), ('queued', 'cancelled'), ('queued', 'superseded'),
    ('queued', 'expired'), ('queued', 'no_capacity'),
    ('leased', 'running'), ('leased', 'queued'), ('leased', 'succeeded'), ('leased', 'failed'),
    ('leased', 'cancelled'), ('leased', 'superseded'),
    ('running', 'queued'), ('running', 'succeeded'), ('running', 'failed'),
    ('running', 'cancelled'), ('running', 'superseded')
  ) then
    return new;
  end if;
  raise exception 'job % cannot go from % to %', old.id, old.state, new.state using errcode = 'check_violation';
end $$;
create trigger job_transition before insert or update on job
  for each row execute function job_transition_guard();
"""

VERDICTS_STAY = """
create function verdict_guard() returns trigger language plpgsql as $$
begin
  if old.verdict is not null and new is distinct from old then
    raise exception 'verdict % is % and stays so', old.id, old.verdict using errcode = 'check_violation';
  end if;
  if new.plan is distinct from old.plan or new.gating is distinct from old.gating then
    raise exception 'the plan of verdict % was fixed before pair 1', old.id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger verdict_stays before update on verdict for each row execute function verdict_guard();
create function check_guard() returns trigger language plpgsql as $$
begin
  if old.conclusion is not null and new.conclusion is distinct from old.conclusion then
    raise exception 'check % is % and stays so', old.id, old.conclusion using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger conclusion_stays before update on "check" for each row execute function check_guard();
"""

AUDIT_APPENDS = """
create function audit_log_guard() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'check_violation';
end $$;
create trigger audit_log_appends before update or delete on audit_log
  for each row execute function audit_log_guard();
"""


def upgrade() -> None:
    for statement in (JOB_TRANSITIONS, VERDICTS_STAY, AUDIT_APPENDS):
        op.execute(statement)


def downgrade() -> None:
    for table, trigger, function in (
        ("job", "job_transition", "job_transition_guard"),
        ("verdict", "verdict_stays", "verdict_guard"),
        ('"check"', "conclusion_stays", "check_guard"),
        ("audit_log", "audit_log_appends", "audit_log_guard"),
    ):
        op.execute(f"drop trigger {trigger} on {table}")
        op.execute(f"drop function {function}()")
