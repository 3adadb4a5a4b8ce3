"""Alerts with the states that people move them to, and the changes that the detector missed; whoever accepts a change needs no pull request.

Revision: 0011
Follows: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

JSON = postgresql.JSONB()
WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")
STATES = "state in ('new', 'acknowledged', 'investigating', 'fixed', 'accepted', 'not_ours', 'noise')"
EVENTS = "what in ('opened', 'joined', 'left', 'moved', 'owned', 'commented', 'reopened')"


def key() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False)


def of(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}")


def upgrade() -> None:
    op.create_table(
        "alert",
        key(),
        sa.Column("project_id", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("previous_commit_id", sa.BigInteger(), nullable=False),
        sa.Column("commit_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=True),
        sa.Column("number", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("opened_at", WHEN, server_default=NOW, nullable=False),
        sa.Column("moved_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint(STATES, name="ck_alert_state"),
        of("alert", "project_id", "project"),
        of("alert", "previous_commit_id", "commit"),
        of("alert", "commit_id", "commit"),
        of("alert", "repository_id", "repository"),
        sa.PrimaryKeyConstraint("id", name="pk_alert"),
    )
    op.create_index("ix_alert_project_id", "alert", ["project_id", "id"])
    op.create_index("ix_alert_state", "alert", ["state", "id"])
    op.create_table(
        "alert_change",
        sa.Column("change_point_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("alert_id", sa.BigInteger(), nullable=False),
        sa.Column("has_left", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        of("alert_change", "change_point_id", "change_point"),
        of("alert_change", "alert_id", "alert"),
        sa.PrimaryKeyConstraint("change_point_id", name="pk_alert_change"),
    )
    op.create_index("ix_alert_change_alert_id", "alert_change", ["alert_id"])
    op.create_table(
        "alert_check",
        sa.Column("check_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("alert_id", sa.BigInteger(), nullable=False),
        of("alert_check", "check_id", "check"),
        of("alert_check", "alert_id", "alert"),
        sa.PrimaryKeyConstraint("check_id", name="pk_alert_check"),
    )
    op.create_index("ix_alert_check_alert_id", "alert_check", ["alert_id"])
    op.create_table(
        "alert_log",
        key(),
        sa.Column("alert_id", sa.BigInteger(), nullable=False),
        sa.Column("at", WHEN, server_default=NOW, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("detail", JSON, nullable=False),
        sa.CheckConstraint(EVENTS, name="ck_alert_log_what"),
        of("alert_log", "alert_id", "alert"),
        sa.PrimaryKeyConstraint("id", name="pk_alert_log"),
    )
    op.create_index("ix_alert_log_alert_id", "alert_log", ["alert_id", "id"])
    op.create_table(
        "missed_change",
        key(),
        sa.Column("project_id", sa.BigInteger(), nullable=False),
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("commit_id", sa.BigInteger(), nullable=False),
        sa.Column("told_by", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("told_at", WHEN, server_default=NOW, nullable=False),
        of("missed_change", "project_id", "project"),
        of("missed_change", "series_id", "series"),
        of("missed_change", "commit_id", "commit"),
        sa.UniqueConstraint(
            "series_id", "branch", "commit_id", name="uq_missed_change_series_id_branch_commit_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_missed_change"),
    )
    op.create_index("ix_missed_change_project_id", "missed_change", ["project_id"])
    op.create_index(
        "ix_check_regressed",
        "check",
        ["concluded_at"],
        postgresql_where=sa.text("conclusion = 'regressed'"),
    )
    op.alter_column("acceptance", "repository_id", nullable=True)
    op.alter_column("acceptance", "number", nullable=True)


def downgrade() -> None:
    op.execute("delete from acceptance where repository_id is null or number is null")
    op.alter_column("acceptance", "number", nullable=False)
    op.alter_column("acceptance", "repository_id", nullable=False)
    op.drop_index("ix_check_regressed", "check")
    for table in ("missed_change", "alert_log", "alert_check", "alert_change", "alert"):
        op.drop_table(table)
