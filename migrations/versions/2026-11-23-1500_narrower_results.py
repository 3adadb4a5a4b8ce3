"""When results came in is said once, by the run or the upload that brought them: a result is 8 bytes smaller.

The column stays, as the release before reads it while this one is brought in; it is null where nobody fills it.

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
    where created_at is null
    """


def upgrade() -> None:
    op.alter_column("result", "created_at", nullable=True, server_default=None)


def downgrade() -> None:
    op.execute(_ARRIVED)
    op.alter_column("result", "created_at", nullable=False, server_default=sa.text("clock_timestamp()"))
