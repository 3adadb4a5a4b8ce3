"""People sign in with GitHub: whose account there is whose here, and who was sent there and is not back yet.

Somebody who only signs in so has no password.

Revision: 0022
Follows: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.alter_column("user_account", "password_hash", nullable=True)
    op.execute("update user_account set password_hash = null where password_hash = ''")
    op.create_table(
        "github_account",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("by_organization", sa.Boolean(), nullable=False),
        sa.Column("linked_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_github_account_user_id"),
        sa.PrimaryKeyConstraint("user_id", name="pk_github_account"),
        sa.UniqueConstraint("github_id", name="uq_github_account_github_id"),
    )
    op.create_table(
        "github_visit",
        sa.Column("state_sha256", sa.Text(), nullable=False),
        sa.Column("verifier_sha256", sa.Text(), nullable=False),
        sa.Column("next", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("began_at", WHEN, server_default=NOW, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_github_visit_user_id"),
        sa.PrimaryKeyConstraint("state_sha256", name="pk_github_visit"),
    )


def downgrade() -> None:
    op.drop_table("github_visit")
    op.drop_table("github_account")
    # No password is right for an empty hash, in the release before as in this one.
    op.execute("update user_account set password_hash = '' where password_hash is null")
    op.alter_column("user_account", "password_hash", nullable=False)
