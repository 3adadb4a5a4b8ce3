"""Whether deleting old values slows reads: trends of 2 000 points in a million results, half of them old.

Reads go on all the time, and the pruning with its rests is let go on and held back in turns of a second, so that both
are measured on the same machine at the same time; so are reads afterwards, and reads of a copy that nothing was deleted
of. Beside it: what a trend costs where results are partitioned by time, which is what batches are in place of.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from statistics import median, quantiles

from sqlalchemy import Connection, make_url, text

from app.config import ServiceSettings
from app.embedded.postgres import EmbeddedPostgres
from app.services.read_trend import read_trend
from app.services.retention.prune_old import prune_old
from app.store.migrate import migrate
from app.store.session import Database
from benchmarks.figure import Figure
from benchmarks.stack import data_folder

SERIES, COMMITS, AT_ONCE = 500, 2_000, 100
"""Each series has a result of ten values for every commit; so many commits are stored in a transaction."""

PARTS = 20
"""Partitions, if results had any."""

READS = 400
"""Reads of each of two that are held against each other."""

TURN_S, TURNS = 1.0, 60
"""How long is pruned, and then not, while reads go on [s]; and how many turns there are of both at the most."""

LIMIT = 1.10
"""How much reads may be slowed."""

Waits = list[float]


def figures() -> Iterator[Figure]:
    """Yield how reads while old values are deleted compare with reads while none are."""
    with data_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        database = Database(server.url())
        migrate(database.engine)
        with database.engine.connect() as connection:
            _fill(connection)
            yield from _parts(connection)
        copy = _copy(database, server)
        settings = ServiceSettings(database_url=server.url(), redis_url="redis://")
        without, during, rows, took_s = _prune(database, settings)
        untouched, after = _read_in_turns(copy, database)
        copy.close()
        database.close()
    yield Figure(f"trend of {COMMITS} points, median", median(without), 0.1, "s")
    yield Figure("the same, p99", _high(without), 0.2, "s")
    for name, waits, held_against in (
        ("while values are deleted", during, without),
        ("when they are gone", after, untouched),
    ):
        yield Figure(f"{name}: median against without", median(waits) / median(held_against), LIMIT, "×")
        yield Figure(f"{name}: p99 against without", _high(waits) / _high(held_against), LIMIT, "×")
    yield Figure(f"time to delete a million, of {rows} deleted", took_s / rows * 1e6, 600, "s")


def _copy(database: Database, server: EmbeddedPostgres) -> Database:
    """Return a copy of the database, on the same server."""
    database.close()
    name = make_url(server.url()).database
    other = Database(server.url("postgres"))
    with other.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("set statement_timeout = 0"))
        connection.execute(text(f"create database untouched template {name}"))
    other.close()
    return Database(server.url("untouched"))


def _read_in_turns(one: Database, other: Database) -> tuple[Waits, Waits]:
    waits: tuple[Waits, Waits] = [], []
    for n in range(2 * READS):
        waits[n % 2].extend(_read((one, other)[n % 2], 1))
    return waits


def _prune(database: Database, settings: ServiceSettings) -> tuple[Waits, Waits, int, float]:
    """Return waits of reads in turns without and with pruning [s], the rows that went, and how long that took [s]."""
    going, is_measured = threading.Event(), threading.Event()
    rows: dict[str, int] = {}

    def pause(seconds: float) -> None:
        if not is_measured.is_set():
            time.sleep(seconds)
            going.wait()

    def prune() -> None:
        for tally in prune_old(database, settings, pause=pause):
            rows[tally.policy.name] = tally.rows

    pruning = threading.Thread(target=prune, daemon=True)
    waits: tuple[Waits, Waits] = [], []
    pruning.start()
    for turn in range(TURNS):
        is_on = turn % 2
        (going.set if is_on else going.clear)()
        until = time.monotonic() + TURN_S
        while time.monotonic() < until:
            waits[is_on].extend(_read(database, 1))
        if not pruning.is_alive():
            break
    took_s, measured = turn / 2 * TURN_S, sum(rows.values())
    is_measured.set()
    going.set()
    pruning.join()
    return *waits, measured, took_s


def _read(database: Database, n: int) -> Waits:
    waits = []
    for _ in range(n):
        series_id = random.randint(1, SERIES)
        begun = time.perf_counter()
        with database.session() as session:
            read_trend(session, lambda: None, series_id)
        waits.append(time.perf_counter() - begun)
    return waits


def _high(waits: Waits) -> float:
    return quantiles(waits, n=100)[98]


def _parts(connection: Connection) -> Iterator[Figure]:
    """Yield what reading the columns of a trend takes from partitions by time, against from one table."""
    for statement in _PARTITIONED:
        connection.execute(text(statement))
    each = SERIES * COMMITS // PARTS
    for part in range(PARTS):
        bounds = f"from ({part * each + 1}) to ({(part + 1) * each + 1})"
        connection.execute(text(f"create table parted_{part} partition of parted for values {bounds}"))
    connection.execute(text("insert into parted select * from result order by id"))
    connection.commit()
    _settle(connection)
    waits: dict[str, Waits] = {"result": [], "parted": []}
    for n in range(2 * READS):
        table = ("result", "parted")[n % 2]
        begun = time.perf_counter()
        connection.execute(text(_COLUMNS.format(table=table)), {"id": random.randint(1, SERIES)}).one()
        waits[table].append(time.perf_counter() - begun)
    connection.execute(text("drop table parted"))
    connection.commit()
    ratio = median(waits["parted"]) / median(waits["result"])
    yield Figure(f"columns of a trend from {PARTS} partitions against one table", ratio, LIMIT, "×")


def _fill(connection: Connection) -> None:
    """Store the results in the order of the commits, the older half of them before they are kept."""
    for statement in _ONCE:
        connection.execute(text(statement), {"series": SERIES, "commits": COMMITS})
    for first in range(1, COMMITS + 1, AT_ONCE):
        some = {"series": SERIES, "commits": COMMITS, "first": first, "last": first + AT_ONCE - 1}
        connection.execute(text(_RESULTS), some)
        connection.commit()
    _settle(connection)


def _settle(connection: Connection) -> None:
    """Have the tables looked through, as the database does by itself some time after they have grown."""
    its = connection.execution_options(isolation_level="AUTOCOMMIT")
    its.execute(text("set statement_timeout = 0"))
    its.execute(text("vacuum analyze"))
    its.commit()
    connection.execution_options(isolation_level="READ COMMITTED")


_ONCE = (
    "set statement_timeout = 0",
    "insert into project (id, name) overriding system value values (1, 'bench/retention')",
    """
    insert into commit (id, project_id, sha, parent_sha, position, branch, subject, author, authored_at)
    overriding system value
    select n, 1, lpad(to_hex(n), 40, '0'), lpad(to_hex(n - 1), 40, '0'), n, 'main',
      'Make the thing number ' || n || ' a little quicker', 'Ada Lovelace', now() - (2001 - n) * interval '8 hours'
    from generate_series(1, cast(:commits as int)) as n
    """,
    """
    insert into benchmark_case (id, project_id, benchmark, params, params_key) overriding system value
    select n, 1, 'bench_' || n / 5, jsonb_build_object('batch', n), '{"batch":' || n || '}'
    from generate_series(1, cast(:series as int)) as n
    """,
    """
    insert into series (id, project_id, case_id, metric, unit, better, device_class) overriding system value
    select n, 1, n, 'latency_p50', 's', 'lower', 'device' from generate_series(1, cast(:series as int)) as n
    """,
    """
    insert into history (series_id, branch, length, last_place)
    select n, 'main', cast(:commits as int), cast(:commits as int)
    from generate_series(1, cast(:series as int)) as n
    """,
)

_RESULTS = """
    with stored as (
      insert into result (series_id, commit_id, arm, value, low, high, n, flags, measured_at, branch, place)
      select its.n, of.n, 'head', v, v * 0.99, v * 1.01, 10, '{}', at, 'main', of.n
      from generate_series(cast(:first as int), cast(:last as int)) as of(n)
        cross join generate_series(1, cast(:series as int)) as its(n)
        cross join lateral (select 0.01 * (1 + 0.02 * random() + of.n * its.n * 0) as v,
          now() - 802.0 * (cast(:commits as int) + 1 - of.n) / cast(:commits as int) * interval '1 day' as at) as drawn
      order by of.n, its.n
      returning id, value)
    insert into sample (result_id, "values", void)
    select id, array[value, value * 1.001, value * 0.999, value * 1.002, value * 0.998, value * 1.003, value * 0.997,
      value * 1.004, value * 0.996, value * 1.005], '{}'
    from stored
    """

_PARTITIONED = (
    "create table parted (like result including defaults) partition by range (id)",
    "create index on parted (series_id, branch, place, id)",
)

_COLUMNS = """
    select string_agg(int8send(id), '' order by place, id), string_agg(float8send(value), '' order by place, id),
      string_agg(float8send(low), '' order by place, id), string_agg(float8send(high), '' order by place, id),
      string_agg(int8send(n), '' order by place, id)
    from {table} where series_id = :id and branch = 'main' and place is not null
    """
