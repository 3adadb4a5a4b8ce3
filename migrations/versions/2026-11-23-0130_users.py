"""People who sign in by name, their roles in projects, their sessions and tokens, and the searches that they keep.

Revision: 0014
Follows: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

WHEN = sa.DateTime(timezone=True)
NOW = sa.text("clock_timestamp()")
ROLES = "role in ('viewer', 'maintainer', 'admin')"
PAGES = "page in ('/series', '/alerts')"
ONE_HOLDER = "num_nonnulls(token_id, user_id) = 1"


def key() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False)


def of(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}")


def upgrade() -> None:
    op.create_table(
        "user_account",
        key(),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("is_admin", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("disabled_at", WHEN, nullable=True),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.UniqueConstraint("name", name="uq_user_account_name"),
        sa.PrimaryKeyConstraint("id", name="pk_user_account"),
    )
    op.create_table(
        "membership",
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint(ROLES, name=op.f("ck_membership_role")),
        of("membership", "user_id", "user_account"),
        of("membership", "project_id", "project"),
        sa.PrimaryKeyConstraint("user_id", "project_id", name="pk_membership"),
    )
    op.create_index("ix_membership_project_id", "membership", ["project_id"])
    op.create_table(
        "sign_in_attempts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("began_at", WHEN, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_sign_in_attempts"),
    )
    op.create_table(
        "saved_search",
        key(),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("page", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("created_at", WHEN, server_default=NOW, nullable=False),
        sa.CheckConstraint(PAGES, name=op.f("ck_saved_search_page")),
        of("saved_search", "user_id", "user_account"),
        sa.UniqueConstraint("user_id", "page", "name", name="uq_saved_search_user_id_page_name"),
        sa.PrimaryKeyConstraint("id", name="pk_saved_search"),
    )

    op.add_column("token", sa.Column("user_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key("fk_token_user_id", "token", "user_account", ["user_id"], ["id"])
    op.create_index("ix_token_user_id", "token", ["user_id"])

    op.alter_column("browser_session", "token_id", nullable=True)
    op.add_column("browser_session", sa.Column("number", sa.BigInteger(), sa.Identity(), nullable=False))
    op.create_unique_constraint("uq_browser_session_number", "browser_session", ["number"])
    op.add_column("browser_session", sa.Column("user_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key("fk_browser_session_user_id", "browser_session", "user_account", ["user_id"], ["id"])
    op.create_index("ix_browser_session_user_id", "browser_session", ["user_id"])
    for column in ("address", "agent"):
        op.add_column("browser_session", sa.Column(column, sa.Text(), server_default="", nullable=False))
    op.add_column("browser_session", sa.Column("seen_at", WHEN, server_default=NOW, nullable=False))
    op.create_check_constraint(op.f("ck_browser_session_one_holder"), "browser_session", ONE_HOLDER)


def downgrade() -> None:
    op.execute("delete from browser_session where token_id is null")
    op.drop_constraint(op.f("ck_browser_session_one_holder"), "browser_session")
    for column in ("seen_at", "agent", "address", "user_id", "number"):
        op.drop_column("browser_session", column)
    op.alter_column("browser_session", "token_id", nullable=False)
    op.execute(
        "update token set revoked_at = coalesce(revoked_at, clock_timestamp()) where user_id is not null"
    )
    op.drop_column("token", "user_id")
    for table in ("saved_search", "sign_in_attempts", "membership", "user_account"):
        op.drop_table(table)
