"""How fast stored numbers are read over HTTP: with 10 000 and 100 000 results, and a history of 2 000 points.

The peer is Conbench, measured on two cores with its database and the client beside it; `benchmarks.peer` asks both in
the same run. Pages are also drawn, in a browser that keeps nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from statistics import median, quantiles

import httpx
from sqlalchemy import Connection, text

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import make_engine
from benchmarks import drawn
from benchmarks.figure import Figure, Note
from benchmarks.stack import data_folder, running

COMMITS, SERIES, FEW = 200, 500, 50
"""Each series has a result of each commit: 100 000 in all, and 10 000 of the first few."""

LONG = 2_000
"""Points of the one long history."""

PAIRS = 200
"""Series on the device class whose commits are compared."""

ASKED = 100
"""How often each is asked for; the first tenth does not count."""

FOR_P99 = 1_000
"""How often that is asked for whose 99th percentile is told: of a hundred waits that would be the longest."""


def figures() -> Iterator[Figure | Note]:
    """Yield waits for answers [s], how they grow, how long until pages are drawn [s], and the size of a result [B]."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        engine = make_engine(EmbeddedPostgres(folder / "data" / "postgres").url())
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            with engine.connect() as connection:
                fill(connection, range(1, FEW + 1))
                few = median(waits_s(client, trend(7)))
                empty_b = size_b(connection)
                fill(connection, range(FEW + 1, SERIES + 1))
                result_b = (size_b(connection) - empty_b) / ((SERIES - FEW) * COMMITS)
                _lengthen(connection)
            yield from _answers(client, few)
        yield from drawn.figures(url, token, Questions("bench/reads", newest=COMMITS).pages(1))
        yield Figure("a result of 10 values, indexes included", result_b, 450, "B")
        engine.dispose()


def _answers(client: httpx.Client, few_s: float) -> Iterator[Figure]:
    asked = Questions("bench/reads", newest=COMMITS)
    many = median(waits_s(client, trend(7)))
    yield Figure(f"history of {COMMITS} commits at 100 000 results, median", many, 0.006, "s")
    yield Figure("the same against 10 000 results", many / few_s, 1.5, "×")
    waits = waits_s(client, trend(1), asked=FOR_P99)
    yield Figure(f"trend of {LONG} points, p99", high(waits, 99), 0.025, "s")
    yield from asked.compared(client)
    for name, path in asked.pages(7):
        yield Figure(f"page: {name}, p95", high(waits_s(client, path), 95), 0.3, "s")


@dataclass(frozen=True)
class Questions:
    """What is asked about a project, whose commits are numbered up to its newest."""

    project: str
    newest: int

    def compared(self, client: httpx.Client) -> Iterator[Figure]:
        """Yield how long it takes to compare the first commit with the newest on one device class [s]."""
        compared = waits_s(client, self.comparison)
        yield Figure(f"compare {PAIRS} pairs, median", median(compared), 0.06, "s")

    @property
    def comparison(self) -> str:
        """The path of that comparison."""
        return f"/api/v1/compare?{self._sides}"

    def pages(self, series_id: int) -> Iterator[tuple[str, str]]:
        """Yield what each page is called, and its path; the series is the project's seventh."""
        project = f"project={self.project}"
        newest = sha(self.newest)
        yield "overview", "/"
        yield "series found by a word", "/series?q=bench"
        yield "series of a project and a device class", f"/series?{project}&device_class=device-0"
        yield "series", f"/series/{series_id}"
        yield "comparison", f"/compare?{self._sides}"
        yield "commit", f"/commits/{newest}?{project}"
        yield "benchmark", f"/benchmarks?{project}&name=bench_1"
        yield "runs", f"/runs?{project}"
        yield "alerts", f"/alerts?{project}"

    @property
    def _sides(self) -> str:
        return f"project={self.project}&base={sha(1)}&head={sha(self.newest)}&base_device_class=device-0"


def trend(series_id: int) -> str:
    """Return the path of a series' history."""
    return f"/api/v1/series/{series_id}/trend"


def waits_s(client: httpx.Client, *paths: str, asked: int = ASKED) -> list[float]:
    """Return how long each of so many answers took, the paths in turn; the first tenth does not count [s]."""
    waits = []
    for path in islice(cycle(paths), asked):
        begun = time.perf_counter()
        client.get(path).raise_for_status()
        waits.append(time.perf_counter() - begun)
    return waits[asked // 10 :]


def high(waits: list[float], percent: int) -> float:
    """Return a high percentile of waits [s]."""
    return quantiles(waits, n=100)[percent - 1]


def sha(number: int) -> str:
    """Return the id of a commit."""
    return f"{number:040x}"


def fill(connection: Connection, series: range) -> None:
    """Store the series with a result of ten values for each commit, as posts would have; ids count from 1."""
    for statement in _STATEMENTS:
        connection.execute(
            text(statement),
            {"first": series.start, "last": series.stop - 1, "commits": COMMITS, "pairs": PAIRS},
        )
    connection.commit()
    settle(connection)


def _lengthen(connection: Connection) -> None:
    """Have the first series go on to the length of the long history."""
    connection.execute(text(_MORE_COMMITS), {"first": COMMITS + 1, "last": LONG})
    connection.execute(text(_RESULTS), {"series": 1, "first": COMMITS + 1, "last": LONG})
    connection.execute(
        text("update history set length = :n, last_place = :n where series_id = 1"), {"n": LONG}
    )
    connection.commit()
    settle(connection)


def settle(connection: Connection) -> None:
    """Have the tables looked through, as the database does by itself some time after they have grown."""
    its = connection.execution_options(isolation_level="AUTOCOMMIT")
    its.execute(text("vacuum analyze"))
    its.commit()
    connection.execution_options(isolation_level="READ COMMITTED")


def size_b(connection: Connection) -> int:
    """Return what results take with their values and indexes [B]."""
    query = "select pg_total_relation_size('result') + pg_total_relation_size('sample')"
    return int(connection.scalar(text(query)) or 0)


_MORE_COMMITS = """
    insert into commit (id, project_id, sha, parent_sha, position, branch, subject, author, authored_at)
    overriding system value
    select n, 1, lpad(to_hex(n), 40, '0'), lpad(to_hex(n - 1), 40, '0'), n, 'main',
      'Make the thing number ' || n || ' a little quicker', 'Ada Lovelace', now() - (3000 - n) * interval '4 hours'
    from generate_series(cast(:first as int), cast(:last as int)) as n on conflict do nothing
    """

_RESULTS = """
    with stored as (
      insert into result (series_id, commit_id, arm, value, low, high, n, flags, measured_at, branch, place)
      select :series, n, 'head', 0.01, 0.0099, 0.0101, 10, null, now(), 'main', n
      from generate_series(cast(:first as int), cast(:last as int)) as n returning id)
    insert into sample (result_id, "values", void)
    select id, (select array_agg(0.01 + random() * 0.0002 + g * 0 + id * 0) from generate_series(1, 10) as g), null
    from stored
    """

_STATEMENTS = (
    "insert into project (id, name) overriding system value values (1, 'bench/reads') on conflict do nothing",
    _MORE_COMMITS.replace(":first", "1").replace(":last", ":commits"),
    """
    insert into benchmark_case (id, project_id, benchmark, params, params_key) overriding system value
    select n, 1, 'bench_' || n / 5, jsonb_build_object('batch', n), '{"batch":' || n || '}'
    from generate_series(cast(:first as int), cast(:last as int)) as n
    """,
    """
    insert into series (id, project_id, case_id, metric, unit, better, device_class) overriding system value
    select n, 1, n, 'latency_p50', 's', 'lower', 'device-' || n / (cast(:pairs as int) + 1)
    from generate_series(cast(:first as int), cast(:last as int)) as n
    """,
    """
    with stored as (
      insert into result (series_id, commit_id, arm, value, low, high, n, flags, measured_at, branch, place)
      select its.n, of.n, 'head', v, v * 0.99, v * 1.01, 10, null, now(), 'main', of.n
      from generate_series(1, cast(:commits as int)) as of(n)
        cross join generate_series(cast(:first as int), cast(:last as int)) as its(n)
        cross join lateral (select 0.01 * (1 + 0.02 * random() + of.n * 0) as v) as drawn
      returning id, value)
    insert into sample (result_id, "values", void)
    select id, (select array_agg(value * (0.99 + 0.02 * random()) + g * 0) from generate_series(1, 10) as g), null
    from stored
    """,
    """
    insert into history (series_id, branch, length, last_place)
    select n, 'main', cast(:commits as int), cast(:commits as int)
    from generate_series(cast(:first as int), cast(:last as int)) as n
    """,
)
