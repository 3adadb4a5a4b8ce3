"""When results came in is said once, by the run or the upload that brought them: a result is 8 bytes smaller.

Revision: 0021
Follows: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_ARRIVED = """
    update result set created_at = coalesce(
      (select published_at from run where run.id = run_id),
      (select created_at from upload where upload.id = upload_id), measured_at)
    """


def upgrade() -> None:
    op.drop_column("result", "created_at")


def downgrade() -> None:
    now = sa.text("clock_timestamp()")
    op.add_column("result", sa.Column("created_at", sa.DateTime(timezone=True), server_default=now, nullable=True))
    op.execute(_ARRIVED)
    op.alter_column("result", "created_at", nullable=False)
