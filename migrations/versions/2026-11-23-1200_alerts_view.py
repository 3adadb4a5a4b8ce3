"""The view of alerts, for whoever asks in SQL how many are open and for how long.

Revision: 0018
Follows: 0017
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

VIEW = "ratchet_views.alerts"
READER = "ratchet_reader"
ABOUT = "Confirmed changes for the worse and failed checks of one cause, until somebody says what it is."
COLUMNS = {
    "id": ("alert.id", "Number of the alert, as in the address of its page"),
    "project_id": ("alert.project_id", "The project"),
    "branch": ("alert.branch", "The branch that it is of"),
    "pull_request": ("alert.number", "The pull request that it is of, or came with"),
    "previous_commit": ("previous.sha", "The last commit before what it tells of"),
    "commit": ("its_commit.sha", "The first commit of it"),
    "state": ("alert.state", "new, acknowledged, investigating, fixed, accepted, not_ours or noise"),
    "is_open": ("alert.state in ('new', 'acknowledged', 'investigating')", "Whether it waits for somebody"),
    "owner": ("alert.owner", "Who has it; null for nobody"),
    "opened_at": ("alert.opened_at", "When it was raised"),
    "moved_at": ("alert.moved_at", "Since when it is in its state"),
}
TABLES = (
    "alert join commit as its_commit on its_commit.id = alert.commit_id"
    " join commit as previous on previous.id = alert.previous_commit_id"
)


def upgrade() -> None:
    chosen = ", ".join(f"{made_of} as {column}" for column, (made_of, _) in COLUMNS.items())
    op.execute(f"create view {VIEW} as select {chosen} from {TABLES}")
    op.execute(f"comment on view {VIEW} is '{ABOUT}'")
    for column, (_, meaning) in COLUMNS.items():
        op.execute(f"comment on column {VIEW}.{column} is '{meaning}'")
    if op.get_bind().scalar(text("select 1 from pg_roles where rolname = :name"), {"name": READER}):
        op.execute(f"grant select on {VIEW} to {READER}")


def downgrade() -> None:
    op.execute(f"drop view {VIEW}")
