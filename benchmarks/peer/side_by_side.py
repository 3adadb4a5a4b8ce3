"""Ratchet and Conbench on one PostgreSQL, asked by the same client in turns, so that the machine's speed is in both.

What is posted and stored says the same to either: results of ten values, of the same commits, benchmarks and machines.
A turn goes there and back (ours, theirs, theirs, ours), and begins when what the last one left to do is done. What is
posted is made up before the clock runs, and becomes JSON while it does.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import mean, median
from typing import Any

import httpx
from sqlalchemy import Engine

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import make_engine
from benchmarks import reads
from benchmarks.bench_documents import VALUES
from benchmarks.figure import Beside, Figure, Note
from benchmarks.peer import conbench, filling
from benchmarks.peer.conbench import Conbench
from benchmarks.peer.installation import installed, version
from benchmarks.stack import api_mib, cpu_s, data_folder, descendants, running

TURNS = 3
"""Each goes there and back."""

SINGLE, A_COMMIT = 50, 10
"""Results posted in a row, one by one, and how many of them a commit has; the first row of each side does not count."""

AT_ONCE = 500
"""Results in a document, or documents in a batch."""

TRENDS, FEW, LARGE = 20, 4, 10
"""Questions in a row: of those that are quick, of others, and large posts."""

MACHINES = 3
ASKED_SERIES = 7
COMMITS_POSTED = 1_000
"""More than either gets one by one."""

QUIET_S, BUSY, LONGEST_S = 0.5, 0.05, 60.0
"""A service is quiet that used less than this share of a core for so long; it is waited for so long."""


@dataclass(frozen=True)
class Pair:
    """Both services, ready."""

    ours: httpx.Client
    peer: Conbench
    engine: Engine
    pid: int

    def wait_until_quiet(self) -> None:
        """Wait until neither works on what it was sent before."""
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            pids = descendants(self.pid) + descendants(self.peer.pid)
            before = cpu_s(pids)
            time.sleep(QUIET_S)
            after = cpu_s(pids)
            if sum(after[pid] - before[pid] for pid in after if pid in before) < BUSY * QUIET_S:
                return


def figures() -> Iterator[Beside | Figure | Note]:
    """Yield both numbers of each figure and what they are to each other.

    Raises:
        SkippedError: Conbench can be neither found nor installed, or does not start.
    """
    yield Note(f"the peer is Conbench {version()}, see benchmarks/peer/README.md")
    with _both() as pair:
        yield from _posts(pair)
    with _both() as pair:
        yield from _reads(pair)


@contextmanager
def _both() -> Iterator[Pair]:
    home = installed()
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, pid):
        postgres = EmbeddedPostgres(folder / "data" / "postgres")
        engine = make_engine(postgres.url())
        headers = {"Authorization": f"Bearer {token}"}
        with (
            httpx.Client(base_url=url, headers=headers, timeout=120) as ours,
            conbench.serving(home, folder, postgres) as peer,
        ):
            yield Pair(ours, peer, engine, pid)
        engine.dispose()


@dataclass
class Waits:
    """How long each answer took [s]."""

    ours: list[float] = field(default_factory=list)
    peers: list[float] = field(default_factory=list)


Ask = Callable[[], None]
"""Asks a service, and returns when it has answered."""

Prepare = Callable[[], Ask]
"""Makes up what is asked next."""


def in_turns(pair: Pair, ours: Prepare, peers: Prepare, *, each: int, peers_each: int | None = None) -> Waits:
    """Return the waits of `each` answers a row, there and back; one row of each before does not count.

    Where the peer's answers are much quicker, more of them are a row: `peers_each`.
    """
    found, warm = Waits(), Waits()
    peers_n = peers_each or each
    _row(pair, ours, each, warm.ours)
    _row(pair, peers, peers_n, warm.peers)
    for _ in range(TURNS):
        _row(pair, ours, each, found.ours)
        _row(pair, peers, peers_n, found.peers)
        _row(pair, peers, peers_n, found.peers)
        _row(pair, ours, each, found.ours)
    return found


def _row(pair: Pair, prepare: Prepare, n: int, waits: list[float]) -> None:
    prepared = [prepare() for _ in range(n)]
    pair.wait_until_quiet()
    for ask in prepared:
        begun = time.perf_counter()
        ask()
        waits.append(time.perf_counter() - begun)


def _posts(pair: Pair) -> Iterator[Beside]:
    pair.peer.know_commits(COMMITS_POSTED)
    peers_single = _peers_single(pair.peer)
    singles = in_turns(pair, _ours_single(pair.ours), peers_single, each=SINGLE)
    single_s, peers_s = mean(singles.ours), mean(singles.peers)
    yield Beside("a single result posted, one client, mean", single_s * 1e3, peers_s * 1e3, 4, "ms")
    for what, ours_many in (("document", _ours_document), ("batch", _ours_batch)):
        many = in_turns(pair, ours_many(pair.ours), peers_single, each=LARGE, peers_each=SINGLE)
        result_s = mean(many.ours) / AT_ONCE
        yield Beside(f"a result of {AT_ONCE} in a {what}", result_s * 1e3, mean(many.peers) * 1e3, 100, "ms")


def _values(draw: random.Random) -> list[float]:
    return [draw.gauss(0.01, 0.0001) for _ in range(VALUES)]


def _ours_single(client: httpx.Client) -> Prepare:
    posted, draw = count(), random.Random(1)

    def prepare() -> Ask:
        commit, benchmark = divmod(next(posted), A_COMMIT)
        return _posting(client, _document(commit + 1, [(f"benchmark_{benchmark}", _values(draw))]))

    return prepare


def _peers_single(peer: Conbench) -> Prepare:
    posted, draw = count(), random.Random(1)

    def prepare() -> Ask:
        commit, benchmark = divmod(next(posted), A_COMMIT)
        result = conbench.result(commit + 1, f"benchmark_{benchmark}", {"batch": "1"}, _values(draw))
        return lambda: peer.post(result)

    return prepare


def _ours_document(client: httpx.Client) -> Prepare:
    commits, draw = count(COMMITS_POSTED), random.Random(2)

    def prepare() -> Ask:
        results = [(f"benchmark_{n}", _values(draw)) for n in range(AT_ONCE)]
        return _posting(client, _document(next(commits), results))

    return prepare


def _posting(client: httpx.Client, document: dict[str, Any]) -> Ask:
    def post() -> None:
        client.post("/api/v1/results", json=document).raise_for_status()

    return post


def _ours_batch(client: httpx.Client) -> Prepare:
    posted, draw = count(), random.Random(3)

    def prepare() -> Ask:
        numbers = [divmod(next(posted), A_COMMIT) for _ in range(AT_ONCE)]
        documents = [
            _document(2 * COMMITS_POSTED + commit, [(f"benchmark_{n}", _values(draw))])
            for commit, n in numbers
        ]

        def post() -> None:
            body = "\n".join(map(json.dumps, documents))
            client.post("/api/v1/results/batch", content=body.encode()).raise_for_status()

        return post

    return prepare


def _document(commit: int, results: list[tuple[str, list[float]]]) -> dict[str, Any]:
    return {
        "project": "bench/peer",
        "commit": reads.sha(commit),
        "parent": reads.sha(commit - 1),
        "branch": "main",
        "device_class": "bench",
        "results": [
            {
                "benchmark": benchmark,
                "params": {"batch": 1},
                "metric": "latency_p50",
                "unit": "s",
                "better": "lower",
                "values": values,
            }
            for benchmark, values in results
        ],
    }


def _reads(pair: Pair) -> Iterator[Beside | Figure | Note]:
    filling.prepare(pair.peer, MACHINES)
    with pair.engine.connect() as connection:
        reads.fill(connection, range(1, reads.FEW + 1))
        filling.fill(pair.peer, range(1, reads.FEW + 1))
        few = _histories(pair)
        before = reads.size_b(connection), filling.size_b(pair.peer)
        reads.fill(connection, range(reads.FEW + 1, reads.SERIES + 1))
        filling.fill(pair.peer, range(reads.FEW + 1, reads.SERIES + 1))
        after = reads.size_b(connection), filling.size_b(pair.peer)
    yield Note(f"{reads.SERIES * reads.COMMITS} results stored in either")
    many = _histories(pair)
    ours_s, peers_s = median(many.ours), median(many.peers)
    yield Beside(f"history of {reads.COMMITS} commits, median", ours_s * 1e3, peers_s * 1e3, 16, "ms")
    growth, peers_growth = ours_s / median(few.ours), peers_s / median(few.peers)
    yield Figure(f"the same against a tenth of the results (peer {peers_growth:.2f} ×)", growth, 1.5, "×")
    compared = in_turns(pair, _ours_compared(pair.ours), _peers_compared(pair.peer), each=FEW)
    both_s = median(compared.ours), median(compared.peers)
    yield Beside(f"compare {reads.PAIRS} pairs, median", both_s[0] * 1e3, both_s[1] * 1e3, 25, "ms")
    added = (reads.SERIES - reads.FEW) * reads.COMMITS
    ours_b, peers_b = ((b - a) / added for a, b in zip(before, after, strict=True))
    yield Beside(f"a result of {VALUES} values, indexes included", ours_b, peers_b, 3, "B")
    memory = api_mib(pair.pid), pair.peer.resident_mib()
    yield Beside("memory of the process that answered", *memory, 2.2, "MiB")


def _histories(pair: Pair) -> Waits:
    return in_turns(pair, _ours_history(pair.ours), _peers_history(pair.peer), each=TRENDS)


def _ours_history(client: httpx.Client) -> Prepare:
    def ask() -> None:
        answer = client.get(reads.trend(ASKED_SERIES))
        _expect(len(answer.raise_for_status().json()["points"]["value"]), reads.COMMITS)

    return lambda: ask


def _peers_history(peer: Conbench) -> Prepare:
    asked = filling.result_id(ASKED_SERIES, reads.COMMITS)
    return lambda: lambda: _expect(len(peer.history(asked)), reads.COMMITS)


def _ours_compared(client: httpx.Client) -> Prepare:
    path = reads.Questions("bench/reads", newest=reads.COMMITS).comparison

    def ask() -> None:
        _expect(len(client.get(path).raise_for_status().json()["series"]), reads.PAIRS)

    return lambda: ask


def _peers_compared(peer: Conbench) -> Prepare:
    base, head = filling.first_run(1), filling.first_run(reads.COMMITS)
    return lambda: lambda: _expect(len(peer.compared(base, head)), reads.PAIRS)


def _expect(found: int, wanted: int) -> None:
    if found != wanted:
        raise RuntimeError(f"{found} in the answer, not {wanted}: the two are not asked the same")
