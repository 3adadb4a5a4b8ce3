"""The forge: repositories, its messages, pull requests, and what it should say.

Revision: 0006
Follows: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

JSON = postgresql.JSONB()
WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    # Both in one statement and in this order, before anything else is held: whoever has one of them waits for neither.
    op.execute('lock table project, "check" in share row exclusive mode')
    op.create_table(
        "repository",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("external_id", sa.BigInteger(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("installation", sa.BigInteger(), nullable=True),
        sa.Column("project_id", sa.BigInteger(), nullable=True),
        sa.Column("branch_sha", sa.Text(), nullable=True),
        sa.Column("is_connected", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("busy_until", WHEN, nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_repository_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_repository"),
        sa.UniqueConstraint("external_id", name="uq_repository_external_id"),
    )
    op.create_index("ix_repository_project_id", "repository", ["project_id"])
    op.create_table(
        "delivery",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("guid", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("payload", JSON, nullable=False),
        sa.Column("received_at", WHEN, server_default=NOW, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.UniqueConstraint("guid", name="uq_delivery_guid"),
    )
    op.create_index("ix_delivery_waiting", "delivery", ["id"], postgresql_where=sa.text("outcome is null"))
    op.create_index("ix_delivery_received_at", "delivery", ["received_at"])
    op.create_table(
        "pull_request",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("is_fork", sa.Boolean(), nullable=False),
        sa.Column("base_ref", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=True),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("check_id", sa.BigInteger(), nullable=True),
        sa.Column("checks_made", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rerun", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("accepted_sha", sa.Text(), nullable=True),
        sa.Column("accepted_by", sa.Text(), nullable=True),
        sa.Column("accepted_reason", sa.Text(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("seen_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_pull_request_repository_id"),
        sa.ForeignKeyConstraint(["check_id"], ["check.id"], name="fk_pull_request_check_id"),
        sa.PrimaryKeyConstraint("id", name="pk_pull_request"),
        sa.UniqueConstraint("repository_id", "number", name="uq_pull_request_repository_id_number"),
    )
    op.create_index("ix_pull_request_check_id", "pull_request", ["check_id"])
    op.create_table(
        "target",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("wanted", JSON, nullable=False),
        sa.Column("wanted_digest", sa.Text(), nullable=False),
        sa.Column("told_digest", sa.Text(), nullable=True),
        sa.Column("external_id", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("not_before", WHEN, server_default=NOW, nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.Column("told_at", WHEN, nullable=True),
        sa.CheckConstraint("kind in ('check', 'comment')", name="ck_target_kind"),
        sa.ForeignKeyConstraint(["repository_id"], ["repository.id"], name="fk_target_repository_id"),
        sa.PrimaryKeyConstraint("id", name="pk_target"),
        sa.UniqueConstraint("key", name="uq_target_key"),
    )
    op.create_index("ix_target_repository_id", "target", ["repository_id"])
    op.create_index(
        "ix_target_waiting",
        "target",
        ["id"],
        postgresql_where=sa.text("wanted_digest is distinct from told_digest"),
    )


def downgrade() -> None:
    for table in ("target", "pull_request", "delivery", "repository"):
        op.drop_table(table)
