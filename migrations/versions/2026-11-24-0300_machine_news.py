"""Incidents of machines, who was told of them, and agents that sign off.

Revision: 0023
Follows: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")
KINDS = "kind in ('quarantined', 'moved', 'lost', 'unserved')"
ENDS = (
    "ended_by in ('calibration', 'administrator', 'usual', 'heard', 'taken_over', 'forgotten', 'served', "
    "'nothing_waits')"
)
MESSAGE_KIND = "ck_notification_kind"
MESSAGES = "kind in ('alerts', 'machines', 'digest', 'test', 'report')"
MESSAGES_BEFORE = "kind in ('alerts', 'digest', 'test', 'report')"


def of(table: str, column: str, target: str, **more: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}", **more)


def upgrade() -> None:
    op.create_table(
        "incident",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("classes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("detail", postgresql.JSONB(), nullable=False),
        sa.Column("opened_at", WHEN, server_default=NOW, nullable=False),
        sa.Column("closed_at", WHEN, nullable=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("is_news", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.CheckConstraint(KINDS, name=op.f("ck_incident_kind")),
        sa.CheckConstraint(ENDS, name=op.f("ck_incident_ended_by")),
        sa.PrimaryKeyConstraint("id", name="pk_incident"),
    )
    op.create_index(
        "uq_incident_open",
        "incident",
        ["object", "kind"],
        unique=True,
        postgresql_where=sa.text("closed_at is null"),
    )
    op.create_index("ix_incident_news", "incident", ["id"], postgresql_where=sa.text("is_news"))
    op.create_table(
        "incident_news",
        sa.Column("notifier_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("incident_id", sa.BigInteger(), autoincrement=False, nullable=False),
        of("incident_news", "notifier_id", "notifier"),
        of("incident_news", "incident_id", "incident"),
        sa.PrimaryKeyConstraint("notifier_id", "incident_id", name="pk_incident_news"),
    )
    op.create_table(
        "told_incident",
        sa.Column("notifier_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("incident_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("notification_id", sa.BigInteger(), nullable=True),
        sa.Column("is_over", sa.Boolean(), nullable=False),
        of("told_incident", "notifier_id", "notifier"),
        of("told_incident", "incident_id", "incident"),
        of("told_incident", "notification_id", "notification", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("notifier_id", "incident_id", name="pk_told_incident"),
    )
    op.create_index("ix_told_incident_notification_id", "told_incident", ["notification_id"])
    op.drop_constraint(op.f(MESSAGE_KIND), "notification")
    op.create_check_constraint(op.f(MESSAGE_KIND), "notification", MESSAGES)
    op.add_column("worker", sa.Column("left_at", WHEN, nullable=True))


def downgrade() -> None:
    op.drop_column("worker", "left_at")
    for table in ("told_incident", "incident_news", "incident"):
        op.drop_table(table)
    op.execute("delete from notification where kind = 'machines'")
    op.drop_constraint(op.f(MESSAGE_KIND), "notification")
    op.create_check_constraint(op.f(MESSAGE_KIND), "notification", MESSAGES_BEFORE)
