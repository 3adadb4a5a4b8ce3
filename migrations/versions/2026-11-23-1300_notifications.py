"""Notifiers, what they were told, and messages until they have arrived; issues among what the forge should say.

Revision: 0019
Follows: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")
KINDS = "kind in ('slack', 'webhook', 'email', 'github_issue')"
MESSAGES = "kind in ('alerts', 'digest', 'test', 'report')"
STATES = "state in ('waiting', 'sent', 'failed', 'handed')"
TARGET_KIND = "ck_target_ck_target_kind"
"""As 0006 has called it."""
TARGETS = "kind in ('check', 'comment', 'issue')"
TARGETS_BEFORE = "kind in ('check', 'comment')"


def key() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False)


def of(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}")


def upgrade() -> None:
    op.create_table(
        "notifier",
        key(),
        sa.Column("project_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("address", sa.LargeBinary(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("wishes", postgresql.JSONB(), nullable=False),
        sa.Column("due_at", WHEN, nullable=True),
        sa.Column("digest_from", WHEN, server_default=NOW, nullable=False),
        sa.Column("spaced_until", WHEN, nullable=True),
        sa.Column("busy_until", WHEN, nullable=True),
        sa.Column("paused_at", WHEN, nullable=True),
        sa.Column("paused_because", sa.Text(), server_default="", nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint(KINDS, name=op.f("ck_notifier_kind")),
        of("notifier", "project_id", "project"),
        sa.UniqueConstraint("project_id", "name", name="uq_notifier_project_id_name"),
        sa.PrimaryKeyConstraint("id", name="pk_notifier"),
    )
    op.create_index(
        "ix_notifier_due_at", "notifier", ["due_at"], postgresql_where=sa.text("due_at is not null")
    )
    op.create_table(
        "notification",
        key(),
        sa.Column("notifier_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), server_default="", nullable=False),
        sa.Column("message", postgresql.JSONB(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "taken_by", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("gone", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("not_before", WHEN, server_default=NOW, nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.Column("sent_at", WHEN, nullable=True),
        sa.CheckConstraint(MESSAGES, name=op.f("ck_notification_kind")),
        sa.CheckConstraint(STATES, name=op.f("ck_notification_state")),
        of("notification", "notifier_id", "notifier"),
        sa.UniqueConstraint("key", name="uq_notification_key"),
        sa.PrimaryKeyConstraint("id", name="pk_notification"),
    )
    op.create_index("ix_notification_notifier_id", "notification", ["notifier_id", "id"])
    op.create_index("ix_notification_created_at", "notification", ["created_at"])
    op.create_index(
        "ix_notification_waiting",
        "notification",
        ["not_before"],
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "notifier_news",
        sa.Column("notifier_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("alert_id", sa.BigInteger(), autoincrement=False, nullable=False),
        of("notifier_news", "notifier_id", "notifier"),
        of("notifier_news", "alert_id", "alert"),
        sa.PrimaryKeyConstraint("notifier_id", "alert_id", name="pk_notifier_news"),
    )
    op.create_table(
        "told_alert",
        sa.Column("notifier_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("alert_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("notification_id", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("level", postgresql.DOUBLE_PRECISION(), nullable=False),
        of("told_alert", "notifier_id", "notifier"),
        of("told_alert", "alert_id", "alert"),
        sa.ForeignKeyConstraint(
            ["notification_id"], ["notification.id"], name="fk_told_alert_notification_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("notifier_id", "alert_id", name="pk_told_alert"),
    )
    op.create_index("ix_told_alert_notification_id", "told_alert", ["notification_id"])

    # What the previous release writes meanwhile is no news: it knows of nobody who is told.
    op.add_column(
        "alert_log", sa.Column("is_news", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.create_index("ix_alert_log_news", "alert_log", ["alert_id"], postgresql_where=sa.text("is_news"))
    op.add_column("alert", sa.Column("owners", postgresql.ARRAY(sa.Text()), nullable=True))
    op.drop_constraint(op.f(TARGET_KIND), "target")
    op.create_check_constraint(op.f(TARGET_KIND), "target", TARGETS)


def downgrade() -> None:
    op.execute("delete from target where kind = 'issue'")
    op.drop_constraint(op.f(TARGET_KIND), "target")
    op.create_check_constraint(op.f(TARGET_KIND), "target", TARGETS_BEFORE)
    op.drop_column("alert", "owners")
    op.drop_column("alert_log", "is_news")
    for table in ("told_alert", "notifier_news", "notification", "notifier"):
        op.drop_table(table)
