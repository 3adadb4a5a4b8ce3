"""What the service counts of itself, and what its numbers are read by.

Counts stay although the rows go that they were made of. Each text that the forge is told knows what asked for it, and
since when it waits; and the numbers of jobs, attempts and open checks are in indexes.

Revision: 0017
Follows: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

TIMES = ("asked_at", "untold_since")


def upgrade() -> None:
    op.create_table(
        "tally",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("total", sa.Double(), server_default="0", nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", "label", name="pk_tally"),
    )
    for name in TIMES:
        op.add_column("target", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_job_state", "job", ["state"])
    op.create_index("ix_attempt_outcome", "attempt", ["outcome"])
    op.create_index("ix_check_open", "check", ["id"], postgresql_where=sa.text("state <> 'complete'"))


def downgrade() -> None:
    op.drop_index("ix_check_open", "check")
    op.drop_index("ix_attempt_outcome", "attempt")
    op.drop_index("ix_job_state", "job")
    for name in reversed(TIMES):
        op.drop_column("target", name)
    op.drop_table("tally")
