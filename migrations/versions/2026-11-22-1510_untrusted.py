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
    # The release before would give them to any worker, unconfined, and take what they measured for trusted.
    if op.get_bind().scalar(sa.text("select exists (select from job where is_untrusted)")):
        raise RuntimeError("there are jobs of strangers' commits, which an older release takes for trusted: delete them first")
    for table, name, _, _ in reversed(COLUMNS):
        op.drop_column(table, name)
