"""Results are found by ranges of their commits, and weekly reports are kept as they were made.

A week's commits lie together, and so do their results: an index of ranges finds them, and takes next to no space.

Revision: 0016
Follows: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_result_commit_id",
        "result",
        ["commit_id"],
        postgresql_using="brin",
        postgresql_with={"autosummarize": True, "pages_per_range": 32},
    )
    op.create_index("ix_commit_project_time", "commit", ["project_id", sa.text("coalesce(authored_at, created_at)")])
    op.create_table(
        "weekly_report",
        sa.Column("id", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("project_id", sa.BigInteger, nullable=True),
        sa.Column("monday", sa.Date, nullable=False),
        sa.Column("headline", sa.Text, nullable=False),
        sa.Column("html_gz", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.clock_timestamp(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_weekly_report"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_weekly_report_project_id"),
        sa.UniqueConstraint(
            "project_id", "monday", name="uq_weekly_report_project_id_monday", postgresql_nulls_not_distinct=True
        ),
    )


def downgrade() -> None:
    op.drop_table("weekly_report")
    op.drop_index("ix_commit_project_time", "commit")
    op.drop_index("ix_result_commit_id", "result")
