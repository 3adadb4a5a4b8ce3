"""A trend is read from its index alone, and a list that is nearly always empty is null where it is.

The rows of a history lie as far apart as its commits; what a trend shows of each is in the index that finds them.

Revision: 0015
Follows: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

HISTORY = ["series_id", "branch", "place", "id"]
SHOWN = ["value", "low", "high", "n", "commit_id", "run_id", "upload_id", "flags"]
SEEN = {
    "autovacuum_vacuum_insert_scale_factor": "0.02",
    "autovacuum_vacuum_scale_factor": "0.05",
}
"""An index alone tells what the last vacuum has seen; so it comes by before a tenth of a history is new."""

LISTS = {
    ("result", "flags"): ("results", "result.flags", "text"),
    ("sample", "void"): ("samples", "void", "bigint"),
}
"""The lists with the view that shows each, the text of the column in it, and the type of their elements."""


def upgrade() -> None:
    op.drop_index("ix_result_history", "result")
    op.create_index("ix_result_history", "result", HISTORY, postgresql_include=SHOWN)
    for column in ("run_id", "upload_id"):
        name = f"ix_result_{column}"
        op.drop_index(name, "result")
        op.create_index(name, "result", [column], postgresql_where=sa.text(f"{column} is not null"))
    for (table, column), (view, shown, kind) in LISTS.items():
        op.alter_column(table, column, nullable=True)
        _redefine(view, shown, f"coalesce({shown}, cast('{{}}' as {kind}[])) as {column}")
    op.create_index(
        "ix_change_point_request_id",
        "change_point",
        ["request_id"],
        postgresql_where=sa.text("request_id is not null"),
    )
    op.execute(f"alter table result set ({', '.join(f'{name} = {value}' for name, value in SEEN.items())})")


def downgrade() -> None:
    op.execute(f"alter table result reset ({', '.join(SEEN)})")
    op.drop_index("ix_change_point_request_id", "change_point")
    for (table, column), (view, shown, kind) in LISTS.items():
        _redefine(view, f"COALESCE({shown}, '{{}}'::{kind}[]) AS {column}", shown)
        op.execute(f"update {table} set {column} = '{{}}' where {column} is null")
        op.alter_column(table, column, nullable=False)
    for column in ("run_id", "upload_id"):
        name = f"ix_result_{column}"
        op.drop_index(name, "result")
        op.create_index(name, "result", [column])
    op.drop_index("ix_result_history", "result")
    op.create_index("ix_result_history", "result", HISTORY)


def _redefine(view: str, old: str, new: str) -> None:
    """Have a view show another expression where it shows `old`."""
    its = op.get_bind().scalar(sa.text("select pg_get_viewdef(cast(:view as regclass))"), {"view": f"ratchet_views.{view}"})
    assert its is not None
    assert its.count(old) == 1, its
    op.execute(f"create or replace view ratchet_views.{view} as {its.replace(old, new)}")
