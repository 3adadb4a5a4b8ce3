"""A result names its series and commit by four bytes each and counts its values by four: 28 bytes less, indexes included.

Ids of results grow by every number that is stored; of series and commits there are no two thousand million. The table
is written anew, and its indexes with it: while that goes on, nothing is read or stored: seven seconds at two million results.

Revision: 0024
Follows: 0023
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

NARROW = ("series_id", "commit_id", "n")

_VIEWS = """
    select distinct view.oid, format('%I.%I', space.nspname, view.relname) as name, pg_get_viewdef(view.oid) as made_of,
      obj_description(view.oid, 'pg_class') as about
    from pg_depend
    join pg_rewrite on pg_rewrite.oid = pg_depend.objid
    join pg_class as view on view.oid = pg_rewrite.ev_class and view.relkind = 'v'
    join pg_namespace as space on space.oid = view.relnamespace
    where pg_depend.refobjid = 'result'::regclass and pg_depend.classid = 'pg_rewrite'::regclass
    """

_COMMENTS = """
    select attname, col_description(attrelid, attnum) as about
    from pg_attribute where attrelid = :view and attnum > 0
    """

_READERS = """
    select grantee::regrole::text as name from pg_class, aclexplode(relacl)
    where oid = :view and privilege_type = 'SELECT' and grantee <> relowner
    """


def upgrade() -> None:
    _have_them(sa.Integer())


def downgrade() -> None:
    _have_them(sa.BigInteger())


def _have_them(kind: sa.types.TypeEngine[int]) -> None:
    changes = ", ".join(f"alter column {name} type {kind.compile()}" for name in NARROW)
    with _without_views():
        op.execute(f"alter table result {changes}")  # all at once: the table is written once


@contextmanager
def _without_views() -> Iterator[None]:
    """Take away the views that show results, and make them again as they were, with what is said of them."""
    connection = op.get_bind()
    views = connection.execute(sa.text(_VIEWS)).all()
    said = {its.oid: connection.execute(sa.text(_COMMENTS), {"view": its.oid}).all() for its in views}
    readers = {its.oid: connection.scalars(sa.text(_READERS), {"view": its.oid}).all() for its in views}
    for its in views:
        op.execute(f"drop view {its.name}")
    yield
    for its in views:
        op.execute(f"create view {its.name} as {its.made_of}")
        _say(f"view {its.name}", its.about)
        for column in said[its.oid]:
            _say(f"column {its.name}.{column.attname}", column.about)
        for reader in readers[its.oid]:
            op.execute(f"grant select on {its.name} to {reader}")


def _say(what: str, about: str | None) -> None:
    if about is not None:
        op.execute(f"comment on {what} is {sa.literal(about).compile(compile_kwargs={'literal_binds': True})}")
