"""What a database holds, kept in memory: a history that took seconds to come about is there again at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import DateTime

from app.embedded import EmbeddedPostgres
from app.store.tables import Table

SEQUENCES = """
    select format('%I.%I', schemaname, sequencename), last_value from pg_sequences where last_value is not null
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
    """Have the tests' database hold this, as if all of it had happened just now."""
    with _connected(server) as connection, connection.cursor() as cursor:
        cursor.execute(
            "set session_replication_role = replica"
        )  # rows are put as they were: no trigger judges them
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


def _connected(server: EmbeddedPostgres) -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket_folder), user="postgres", dbname="ratchet")
