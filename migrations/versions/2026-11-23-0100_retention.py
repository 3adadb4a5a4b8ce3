"""Retention: what is kept of a run whose raw values are gone, how such runs are found, and what may be forgotten.

A log may be emptied of what is settled, and entries of the audit log may be deleted by whoever prunes, which says so in
its transaction; all else of the guards stays. Tables from which much is deleted are vacuumed earlier.

Revision: 0013
Follows: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

OFTEN = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 2"
EMPTIED = ("sample", "timing", "estimate", "telemetry")

FORGOTTEN_LOG = """
  if new.log_tail is null then
    old.log_tail := null;
  end if;
"""

VERDICTS_STAY = """
create or replace function verdict_guard() returns trigger language plpgsql as $$
begin{forgotten_log}
  if old.verdict is not null and new is distinct from old then
    raise exception 'verdict % is % and stays so', old.id, old.verdict using errcode = 'check_violation';
  end if;
  if new.plan is distinct from old.plan or new.gating is distinct from old.gating then
    raise exception 'the plan of verdict % was fixed before pair 1', old.id using errcode = 'check_violation';
  end if;
  return new;
end $$;
"""

JOB_TRANSITIONS = """
create or replace function job_transition_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'queued' then
      raise exception 'a job begins as queued, not as %', new.state using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if new.state = old.state and old.state in ('queued', 'leased', 'running') then
    return new;
  end if;{forgotten_log}
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
"""

FORGOTTEN_JOB_LOG = (
    FORGOTTEN_LOG
    + """  if new is not distinct from old then
    return new;
  end if;
"""
)

AUDIT_APPENDS = """
create or replace function audit_log_guard() returns trigger language plpgsql as $$
begin{old_may_go}
  raise exception 'the audit log is append-only' using errcode = 'check_violation';
end $$;
"""

OLD_MAY_GO = """
  if tg_op = 'DELETE' and current_setting('ratchet.prunes', true) = 'audit_log'
    and old.created_at < clock_timestamp() - interval '30 days' then
    return old;
  end if;
"""


def upgrade() -> None:
    op.add_column("run", sa.Column("summary", postgresql.JSONB(), nullable=True))
    op.add_column("run", sa.Column("is_bare", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("run", sa.Column("has_logs", sa.Boolean(), server_default=sa.true(), nullable=False))
    op.create_index("ix_run_with_raw", "run", ["id"], postgresql_where=sa.text("not is_bare"))
    op.create_index("ix_run_with_logs", "run", ["id"], postgresql_where=sa.text("has_logs"))
    op.execute(VERDICTS_STAY.format(forgotten_log=FORGOTTEN_LOG))
    op.execute(JOB_TRANSITIONS.format(forgotten_log=FORGOTTEN_JOB_LOG))
    op.execute(AUDIT_APPENDS.format(old_may_go=OLD_MAY_GO))
    for table in EMPTIED:
        op.execute(f"alter table {table} set ({OFTEN})")


def downgrade() -> None:
    for table in EMPTIED:
        op.execute(f"alter table {table} reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay)")
    op.execute(AUDIT_APPENDS.format(old_may_go=""))
    op.execute(JOB_TRANSITIONS.format(forgotten_log=""))
    op.execute(VERDICTS_STAY.format(forgotten_log=""))
    op.drop_index("ix_run_with_logs", "run")
    op.drop_index("ix_run_with_raw", "run")
    for column in ("has_logs", "is_bare", "summary"):
        op.drop_column("run", column)
