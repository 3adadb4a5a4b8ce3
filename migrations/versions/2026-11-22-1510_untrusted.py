"""Strangers' commits: which jobs are about them, and which workers may measure them.

Revision: 0008
Follows: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

COLUMNS = (
    ("job", "is_untrusted", sa.Boolean(), "false"),
    ("worker", "takes_trusted", sa.Boolean(), "true"),
    ("worker", "takes_untrusted", sa.Boolean(), "false"),
    ("worker", "sandbox", sa.BigInteger(), "0"),
)


def upgrade() -> None:
    for table, name, kind, default in COLUMNS:
        op.add_column(table, sa.Column(name, kind, server_default=sa.text(default), nullable=False))


def downgrade() -> None:
    for table, name, _, _ in reversed(COLUMNS):
        op.drop_column(table, name)
