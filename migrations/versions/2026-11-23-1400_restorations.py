"""What a restored database knows of its restoring: it observes until somebody has it go on, and adopts what was told.

Revision: 0020
Follows: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "restoration",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("backup", sa.Text(), nullable=False),
        sa.Column("backup_at", WHEN, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("restored_at", WHEN, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("resumed_at", WHEN, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_restoration"),
    )
    op.add_column("check", sa.Column("adopted_at", WHEN, nullable=True))


def downgrade() -> None:
    op.drop_column("check", "adopted_at")
    op.drop_table("restoration")
