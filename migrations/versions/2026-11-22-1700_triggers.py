"""What starts a measurement besides a pull request and a push: schedules, merge groups, people.

Revision: 0010
Follows: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")
TEXTS = postgresql.ARRAY(sa.Text())


def upgrade() -> None:
    # Before anything else is held, and in this order: whoever has one of them waits for none of the others.
    op.execute('lock table project, "check" in share row exclusive mode')
    op.add_column("repository", sa.Column("branch_seen_at", WHEN, nullable=True))
    _schedules()
    _merge_groups()
    _measure_requests()


def _schedules() -> None:
    op.create_table(
        "schedule",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("due_at", WHEN, nullable=True),
        sa.Column("measured_sha", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_schedule_repository_id"),
        sa.PrimaryKeyConstraint("id", name="pk_schedule"),
        sa.UniqueConstraint("repository_id", "name", name="uq_schedule_repository_id_name"),
    )
    op.create_index(
        "ix_schedule_due_at", "schedule", ["due_at"], postgresql_where=sa.text("due_at is not null")
    )
    op.create_table(
        "schedule_tick",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("schedule_id", sa.BigInteger(), nullable=False),
        sa.Column("planned_at", WHEN, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedule.id"], name="fk_schedule_tick_schedule_id"),
        sa.ForeignKeyConstraint(["check_id"], ["check.id"], name="fk_schedule_tick_check_id"),
        sa.PrimaryKeyConstraint("id", name="pk_schedule_tick"),
        sa.UniqueConstraint("schedule_id", "planned_at", name="uq_schedule_tick_schedule_id_planned_at"),
    )
    op.create_index(
        "ix_schedule_tick_waiting", "schedule_tick", ["id"], postgresql_where=sa.text("outcome is null")
    )
    op.create_index("ix_schedule_tick_created_at", "schedule_tick", ["created_at"])
    op.create_index("ix_schedule_tick_check_id", "schedule_tick", ["check_id"])


def _merge_groups() -> None:
    op.create_table(
        "merge_group",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("head_ref", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=False),
        sa.Column("base_ref", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("is_kept_out", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("checks_made", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rerun", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint("state in ('open', 'destroyed')", name="ck_merge_group_state"),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_merge_group_repository_id"),
        sa.ForeignKeyConstraint(["check_id"], ["check.id"], name="fk_merge_group_check_id"),
        sa.PrimaryKeyConstraint("id", name="pk_merge_group"),
        sa.UniqueConstraint("repository_id", "head_sha", name="uq_merge_group_repository_id_head_sha"),
    )
    op.create_index("ix_merge_group_check_id", "merge_group", ["check_id"])
    op.create_index(
        "ix_merge_group_open", "merge_group", ["id"], postgresql_where=sa.text("state = 'open'")
    )


def _measure_requests() -> None:
    op.create_table(
        "measure_request",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("project_id", sa.BigInteger(), nullable=False),
        sa.Column("pull", sa.BigInteger(), nullable=True),
        sa.Column("head", sa.Text(), nullable=True),
        sa.Column("base", sa.Text(), nullable=True),
        sa.Column("suites", TEXTS, nullable=False),
        sa.Column("devices", TEXTS, nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint("(pull is null) <> (head is null)", name="ck_measure_request_one_head"),
        sa.CheckConstraint(
            "outcome in ('checked', 'not_measured', 'refused')", name="ck_measure_request_outcome"
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"], ["repository.id"], name="fk_measure_request_repository_id"
        ),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_measure_request_project_id"),
        sa.ForeignKeyConstraint(["check_id"], ["check.id"], name="fk_measure_request_check_id"),
        sa.PrimaryKeyConstraint("id", name="pk_measure_request"),
        sa.UniqueConstraint("key", name="uq_measure_request_key"),
    )
    op.create_index("ix_measure_request_repository_id", "measure_request", ["repository_id"])
    op.create_index("ix_measure_request_check_id", "measure_request", ["check_id"])
    op.create_index(
        "ix_measure_request_waiting", "measure_request", ["id"], postgresql_where=sa.text("outcome is null")
    )


def downgrade() -> None:
    for table in ("measure_request", "merge_group", "schedule_tick", "schedule"):
        op.drop_table(table)
    op.drop_column("repository", "branch_seen_at")
