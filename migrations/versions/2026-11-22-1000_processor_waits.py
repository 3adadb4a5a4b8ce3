"""Processor waits: what of each timed batch the processor spent on other programs, and the values without it.

Revision: 0004
Follows: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "timing",
        sa.Column("wait_ns", postgresql.ARRAY(sa.BigInteger()), server_default="{}", nullable=False),
    )
    op.add_column("estimate", sa.Column("net", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("estimate", "net")
    op.drop_column("timing", "wait_ns")
