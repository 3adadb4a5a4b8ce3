"""What a database holds, and what goes with it, kept: what took seconds to come about is there again at once."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import DateTime

from app.embedded import EmbeddedPostgres
from app.store.tables import Table

SEQUENCES = """
    select format('%I.%I', schemaname, sequencename), last_value from pg_sequences where last_value is not null
"""
KEEP_TOKENS = """
    update token set public_id = held.public_id, secret_sha256 = held.secret_sha256 from held
    where held.name = token.name
"""
ADD_TOKENS = """
    insert into token (public_id, secret_sha256, name, scopes)
    select public_id, secret_sha256, name, scopes from held where name not in (select name from token)
"""


@dataclass(frozen=True)
class Snapshot:
    """The rows of all tables, and what ids have been given out."""

    tables: dict[str, bytes]
    sequences: list[tuple[str, int]]
    taken_at: datetime


def take(server: EmbeddedPostgres) -> Snapshot:
    """Return what the tests' database holds now."""
    with _connected(server) as connection, connection.cursor() as cursor:
        tables = {}
        for table in Table.metadata.sorted_tables:
            with cursor.copy(SQL("copy {} to stdout").format(Identifier(table.name))) as copy:
                tables[table.name] = b"".join(map(bytes, copy))
        sequences = cursor.execute(SEQUENCES).fetchall()
        now = cursor.execute("select now()").fetchone()
    assert now is not None
    return Snapshot({name: rows for name, rows in tables.items() if rows}, sequences, now[0])


def restore(server: EmbeddedPostgres, snapshot: Snapshot) -> None:
    """Have the tests' database hold this, as if all of it had happened just now; tokens are those that it has."""
    with _connected(server) as connection, connection.cursor() as cursor:
        # Rows are put as they were: no trigger judges them.
        cursor.execute("set session_replication_role = replica")
        cursor.execute("create temporary table held on commit drop as table token")
        for table in Table.metadata.sorted_tables:
            name = Identifier(table.name)
            cursor.execute(SQL("delete from {}").format(name))
            if table.name not in snapshot.tables:
                continue
            with cursor.copy(SQL("copy {} from stdin").format(name)) as copy:
                copy.write(snapshot.tables[table.name])
            moments = [Identifier(c.name) for c in table.columns if isinstance(c.type, DateTime)]
            if moments:
                ago = SQL("now() - {}").format(Literal(snapshot.taken_at))
                later = [SQL("{0} = {0} + ({1})").format(moment, ago) for moment in moments]
                cursor.execute(SQL("update {} set {}").format(name, SQL(", ").join(later)))
        for sequence, value in snapshot.sequences:
            cursor.execute("select setval(%s, %s)", (sequence, value))
        cursor.execute(KEEP_TOKENS)
        cursor.execute(ADD_TOKENS)


def _connected(server: EmbeddedPostgres) -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket_folder), user="postgres", dbname="ratchet")


class Beginnings:
    """What tests of a process begin with: the first that wants one has it come about, others find it as it was then."""

    def __init__(self, server: EmbeddedPostgres, attic: Path) -> None:
        """Name the database's server, and where copies of folders are kept."""
        self._server = server
        self._attic = attic
        self._known: dict[Hashable, tuple[Snapshot, list[dict[str, Any]], Path | None]] = {}

    def have(
        self,
        how: Callable[[], object],
        parts: Sequence[object],
        *,
        own: Sequence[str],
        name: Hashable,
        folder: Path | None = None,
    ) -> None:
        """Have something come about in this way, or again, under this name.

        Args:
            how: brings it about.
            parts: the test's objects that change with it.
            own: their attributes that stay the test's own: connections, and one another.
            name: what to remember it by.
            folder: one that belongs to it; it has the same place in each test.
        """
        if name not in self._known:
            how()
            kept = None
            if folder is not None:
                kept = self._attic / f"{len(self._known)}"
                shutil.copytree(folder, kept, symlinks=True)
            theirs = [{key: its for key, its in vars(part).items() if key not in own} for part in parts]
            self._known[name] = take(self._server), copy.deepcopy(theirs), kept
            return
        snapshot, theirs, kept = self._known[name]
        restore(self._server, snapshot)
        if folder is not None and kept is not None:
            shutil.rmtree(folder)
            shutil.copytree(kept, folder, symlinks=True)
        for part, its in zip(parts, copy.deepcopy(theirs), strict=True):
            vars(part).update(its)
