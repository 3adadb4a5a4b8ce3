"""Machines: epochs of devices, control workload, self checks, telemetry, and what values were made of.

All tables that are changed or referred to are locked before anything is done. Only for the first of them is waited, as
long as none is held; where another is in use, all are let go and it begins again. So the migration is in no deadlock
with what the previous release does meanwhile.

Revision: 0005
Follows: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

JSON = postgresql.JSONB()
WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")

LOCKS = """
do $$
declare tries int := 0;
begin
  loop
    begin
      lock table device in {others} mode;
      lock table invocation, audit_log in {others} mode nowait;
      lock table job, run, timing, verdict, change_point in access exclusive mode nowait;
      exit;
    exception when lock_not_available then
      tries := tries + 1;
      if tries = 300 then
        raise exception 'device, invocation, audit_log, job, run, timing, verdict and change_point are in use all the'
          ' time: stop what uses them, and migrate again' using errcode = 'lock_not_available';
      end if;
      perform pg_sleep(0.1);
    end;
  end loop;
end $$;
"""


def upgrade() -> None:
    op.execute(LOCKS.format(others="share row exclusive"))
    op.create_table(
        "telemetry",
        sa.Column("invocation_id", sa.BigInteger(), nullable=False),
        sa.Column("ticks", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocation.id"], name="fk_telemetry_invocation_id"),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_telemetry"),
    )
    op.create_table(
        "epoch",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("device_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("machine_hash", sa.Text(), nullable=False),
        sa.Column("machine", JSON, nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("began_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["device_id"], ["device.id"], name="fk_epoch_device_id"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_epoch_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_epoch"),
    )
    op.create_index("ix_epoch_device_id", "epoch", ["device_id", "id"])
    op.create_table(
        "control",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("device_id", sa.BigInteger(), nullable=False),
        sa.Column("moment", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("probes", JSON, nullable=False),
        sa.Column("unavailable", JSON, nullable=False),
        sa.Column("duration_s", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("measured_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint("moment in ('start', 'block', 'end')", name="ck_control_moment"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_control_run_id"),
        sa.ForeignKeyConstraint(["device_id"], ["device.id"], name="fk_control_device_id"),
        sa.PrimaryKeyConstraint("id", name="pk_control"),
    )
    op.create_index("ix_control_device_id", "control", ["device_id", "moment", "measured_at"])
    op.create_index("ix_control_run_id", "control", ["run_id"])
    op.create_table(
        "self_check",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("device_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("sigma_pair", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("n_verdicts", sa.BigInteger(), nullable=False),
        sa.Column("false_alarms", sa.BigInteger(), nullable=False),
        sa.Column("mde", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("clocks_locked", sa.Boolean(), nullable=False),
        sa.Column("is_exclusive", sa.Boolean(), nullable=False),
        sa.Column("grade", sa.Text(), nullable=False),
        sa.Column("measured_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["device_id"], ["device.id"], name="fk_self_check_device_id"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_self_check_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_self_check"),
        sa.UniqueConstraint("run_id", name="uq_self_check_run_id"),
    )
    op.create_index("ix_self_check_device_id", "self_check", ["device_id", "id"])
    op.add_column("job", sa.Column("device_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key("fk_job_device_id", "job", "device", ["device_id"], ["id"])
    op.create_index(
        "ix_job_device_id", "job", ["device_id"], postgresql_where=sa.text("device_id is not null")
    )
    op.add_column("run", sa.Column("idle", JSON, server_default="[]", nullable=False))
    op.add_column("run", sa.Column("activity", JSON, nullable=True))
    op.add_column("timing", sa.Column("work", JSON, server_default="{}", nullable=False))
    op.add_column("verdict", sa.Column("provenance", JSON, nullable=True))
    op.add_column("change_point", sa.Column("label", sa.Text(), nullable=True))
    op.add_column("change_point", sa.Column("evidence", JSON, nullable=True))
    op.create_index("ix_audit_log_object", "audit_log", ["object", "action", "id"])


def downgrade() -> None:
    op.execute(LOCKS.format(others="access exclusive"))
    op.drop_index("ix_audit_log_object", "audit_log")
    op.drop_column("change_point", "evidence")
    op.drop_column("change_point", "label")
    op.drop_column("verdict", "provenance")
    op.drop_column("timing", "work")
    op.drop_column("run", "activity")
    op.drop_column("run", "idle")
    op.drop_index("ix_job_device_id", "job")
    op.drop_constraint("fk_job_device_id", "job", type_="foreignkey")
    op.drop_column("job", "device_id")
    for table in ("self_check", "control", "epoch", "telemetry"):
        op.drop_table(table)
