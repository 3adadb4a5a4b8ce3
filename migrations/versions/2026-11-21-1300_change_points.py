"""Change points: the order of a series' history, and where it changed.

A result says of which branch's history it is a point, and its place there, which the examination of its series fills
in; what was stored before gets its branch here and its place from the first sweep. Results that the previous release
stores from then on until it is restarted get their branch from the sweep, too.

All tables that are changed or referred to are locked before anything is done. Only for the first of them is waited, as
long as none is held; where another is in use, all are let go and it begins again. So the migration is in no deadlock
with what the previous release does meanwhile.

Revision: 0003
Follows: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

GUARD = """
create function change_point_guard() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'change point % is history and stays', old.id using errcode = 'check_violation';
  end if;
  if tg_op = 'INSERT' then
    if new.state not in ('suspected', 'confirmed', 'episode') then
      raise exception 'a change point does not begin as %', new.state using errcode = 'check_violation';
    end if;
    return new;
  end if;
  if old.state <> new.state and (old.state, new.state) not in (
    ('suspected', 'confirmed'), ('suspected', 'withdrawn'), ('suspected', 'episode'), ('confirmed', 'corrected')
  ) then
    raise exception 'change point % cannot go from % to %', old.id, old.state, new.state
      using errcode = 'check_violation';
  end if;
  if (new.series_id, new.branch, new.first_seen_at) is distinct from (old.series_id, old.branch, old.first_seen_at)
  then
    raise exception 'change point % is of series % since %', old.id, old.series_id, old.first_seen_at
      using errcode = 'check_violation';
  end if;
  if old.state <> 'suspected' and
    (new.commit_id, new.previous_commit_id, new.end_commit_id, new.result_id, new.kind, new.before, new.after,
     new.change, new.ci_low, new.ci_high, new.p_value, new.corrects_id, new.request_id, new.confirmed_at)
    is distinct from
    (old.commit_id, old.previous_commit_id, old.end_commit_id, old.result_id, old.kind, old.before, old.after,
     old.change, old.ci_low, old.ci_high, old.p_value, old.corrects_id, old.request_id, old.confirmed_at)
  then
    raise exception 'change point % is % and keeps its numbers', old.id, old.state using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger change_point_guard before insert or update or delete on change_point
  for each row execute function change_point_guard();
"""

LOCKS = """
do $$
declare tries int := 0;
begin
  loop
    begin
      lock table project in {others} mode;
      lock table commit, series, request in {others} mode nowait;
      lock table result in access exclusive mode nowait;
      exit;
    exception when lock_not_available then
      tries := tries + 1;
      if tries = 300 then
        raise exception 'project, commit, series, request and result are in use all the time: stop what uses them,'
          ' and migrate again' using errcode = 'lock_not_available';
      end if;
      perform pg_sleep(0.1);
    end;
  end loop;
end $$;
"""

BRANCHES_OF_WHAT_IS_THERE = """
update result set branch = coalesce(its_commit.branch, project.branch)
from series join project on project.id = series.project_id, commit as its_commit
where series.id = result.series_id and its_commit.id = result.commit_id
  and (result.upload_id is not null or result.arm = 'base')
"""


def upgrade() -> None:
    op.execute(LOCKS.format(others="share row exclusive"))
    op.add_column("result", sa.Column("branch", sa.Text(), nullable=True))
    op.add_column("result", sa.Column("place", sa.DOUBLE_PRECISION(), nullable=True))
    op.execute(BRANCHES_OF_WHAT_IS_THERE)
    op.create_index("ix_result_history", "result", ["series_id", "branch", "place", "id"])
    op.create_index(
        "ix_result_unplaced",
        "result",
        ["series_id"],
        postgresql_where=sa.text("branch is not null and place is null"),
    )
    op.create_index(
        "ix_result_without_branch",
        "result",
        ["id"],
        postgresql_where=sa.text("branch is null and (upload_id is not null or arm = 'base')"),
    )
    op.create_index("ix_commit_parent_sha", "commit", ["project_id", "parent_sha"])
    op.create_table(
        "history",
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("last_place", sa.DOUBLE_PRECISION(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_history_series_id"),
        sa.PrimaryKeyConstraint("series_id", "branch", name="pk_history"),
    )
    _create_change_point()
    op.execute(GUARD)


def _create_change_point() -> None:
    def key(name: str, table: str, *, nullable: bool = False) -> tuple[sa.Column[int], sa.ForeignKeyConstraint]:
        return (
            sa.Column(name, sa.BigInteger(), nullable=nullable),
            sa.ForeignKeyConstraint([name], [f"{table}.id"], name=f"fk_change_point_{name}"),
        )

    keys = [
        key("project_id", "project"),
        key("series_id", "series"),
        key("commit_id", "commit"),
        key("previous_commit_id", "commit"),
        key("end_commit_id", "commit"),
        key("result_id", "result"),
        key("corrects_id", "change_point", nullable=True),
        key("request_id", "request", nullable=True),
    ]
    numbers = ("before", "after", "change", "ci_low", "ci_high", "p_value")
    now = {"server_default": sa.text("clock_timestamp()"), "nullable": False}
    op.create_table(
        "change_point",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        *(column for column, _ in keys),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("end_index", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        *(sa.Column(name, sa.DOUBLE_PRECISION(), nullable=True) for name in numbers),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), **now),
        sa.Column("examined_at", sa.DateTime(timezone=True), **now),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('suspected', 'confirmed', 'withdrawn', 'episode', 'corrected')",
            name=op.f("ck_change_point_state"),
        ),
        sa.CheckConstraint("kind in ('step', 'ramp', 'spike', 'variance')", name=op.f("ck_change_point_kind")),
        sa.PrimaryKeyConstraint("id", name="pk_change_point"),
        *(constraint for _, constraint in keys),
    )
    op.create_index("ix_change_point_series_id", "change_point", ["series_id", "branch", "index"])
    op.create_index("ix_change_point_project_id", "change_point", ["project_id", "id"])
    op.create_index(
        "ix_change_point_suspected", "change_point", ["first_seen_at"], postgresql_where=sa.text("state = 'suspected'")
    )
    op.create_index(
        "uq_change_point_confirmed",
        "change_point",
        ["series_id", "branch", "commit_id"],
        unique=True,
        postgresql_where=sa.text("state = 'confirmed'"),
    )


def downgrade() -> None:
    op.execute(LOCKS.format(others="access exclusive"))
    op.execute("delete from outbox where topic = 'series.examine'")  # which the release before does not know
    op.execute("drop trigger change_point_guard on change_point")
    op.execute("drop function change_point_guard()")
    op.drop_table("change_point")
    op.drop_table("history")
    op.drop_index("ix_commit_parent_sha", "commit")
    op.drop_index("ix_result_without_branch", "result")
    op.drop_index("ix_result_unplaced", "result")
    op.drop_index("ix_result_history", "result")
    op.drop_column("result", "place")
    op.drop_column("result", "branch")
