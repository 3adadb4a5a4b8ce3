"""What people answer: a fork's commit that is approved, suites that are to be measured besides. Where benchmarks are.

Revision: 0007
Follows: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pull_request", sa.Column("approved_sha", sa.Text(), nullable=True))
    op.add_column("pull_request", sa.Column("approved_by", sa.Text(), nullable=True))
    op.add_column(
        "pull_request",
        sa.Column("wishes", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
    )
    op.add_column(
        "pull_request", sa.Column("retries", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column("check", sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "update outbox set key = concat_ws('/', topic, payload->>'repository_id', payload->>'number', payload->>'comment')"
        " where topic = 'pull.obey'"
    )
    op.add_column("run", sa.Column("sources", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("run", "sources")
    op.execute(
        "update outbox set key = concat_ws('/', topic, payload->>'repository_id', payload->>'comment')"
        " where topic = 'pull.obey'"
    )
    op.drop_column("check", "cancelled_at")
    for name in ("retries", "wishes", "approved_by", "approved_sha"):
        op.drop_column("pull_request", name)
