"""Where confirmed changes for the worse came from, and which of them somebody has accepted; keys of the installation, messages asked for again.

Revision: 0009
Follows: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

JSON = postgresql.JSONB()
WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")

# In the order in which the service takes them, before anything else is held.
LOCKS = (
    "lock table repository in share row exclusive mode",
    "lock table pull_request in access exclusive mode",
    "lock table change_point in share row exclusive mode",
)


def upgrade() -> None:
    for lock in LOCKS:
        op.execute(lock)
    op.create_table(
        "origin",
        sa.Column("change_point_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=True),
        sa.Column("commits", JSON, nullable=False),
        sa.Column("n_commits", sa.BigInteger(), nullable=True),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["change_point_id"], ["change_point.id"], name="fk_origin_change_point_id"),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_origin_repository_id"),
        sa.PrimaryKeyConstraint("change_point_id", name="pk_origin"),
    )
    op.create_index("ix_origin_repository_id", "origin", ["repository_id", "number"])
    op.create_table(
        "acceptance",
        sa.Column("change_point_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("accepted_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("accepted_at", WHEN, nullable=False),
        sa.ForeignKeyConstraint(
            ["change_point_id"], ["change_point.id"], name="fk_acceptance_change_point_id"
        ),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_acceptance_repository_id"),
        sa.PrimaryKeyConstraint("change_point_id", name="pk_acceptance"),
    )
    op.add_column("pull_request", sa.Column("accepted_at", WHEN, nullable=True))
    op.create_table(
        "key",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_key"),
    )
    op.create_table(
        "redelivery",
        sa.Column("guid", sa.Text(), nullable=False),
        sa.Column("failed_id", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", WHEN, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("guid", name="pk_redelivery"),
    )
    op.create_table(
        "watermark",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", WHEN, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_watermark"),
    )
    op.create_index(
        "ix_change_point_confirmed_at",
        "change_point",
        ["confirmed_at"],
        postgresql_where=sa.text("state = 'confirmed' and label is null"),
    )


def downgrade() -> None:
    op.execute("delete from outbox where topic = 'change.follow'")  # which the release before does not know
    op.drop_index("ix_change_point_confirmed_at", "change_point")
    for table in ("watermark", "redelivery", "key"):
        op.drop_table(table)
    op.drop_column("pull_request", "accepted_at")
    op.drop_table("acceptance")
    op.drop_table("origin")
