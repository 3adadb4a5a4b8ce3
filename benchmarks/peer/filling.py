"""Conbench with as many results as ours has: what its own posts wrote, written again for other commits and series.

Posting 100 000 results takes it half an hour. One is posted for each machine, and its rows are copied with other ids
and other values, whatever columns there are, so that what is read afterwards is what posts would have left.
"""

from __future__ import annotations

import hashlib

from benchmarks.peer.conbench import Conbench, result, run_id
from benchmarks.reads import COMMITS, PAIRS

TEMPLATE_COMMIT = COMMITS + 1
"""Of the results that are copied; no history reaches it."""


def prepare(peer: Conbench, machines: int) -> None:
    """Store commits, and of each machine one result and the runs of all commits."""
    peer.know_commits(TEMPLATE_COMMIT)
    for machine in range(machines):
        values = [0.01 + 0.00001 * n for n in range(10)]
        peer.post(result(TEMPLATE_COMMIT, "template", {"batch": "0"}, values, f"device-{machine}"))
    peer.database.execute(_RUNS, {"commits": COMMITS, "template": TEMPLATE_COMMIT})


def fill(peer: Conbench, series: range) -> None:
    """Store a result of ten values of each commit for each of the series, commit by commit."""
    numbers = {"first": series.start, "last": series.stop - 1, "commits": COMMITS, "pairs": PAIRS}
    peer.database.execute(_CASES, numbers)
    peer.database.execute(_RESULTS, numbers)
    peer.database.execute("vacuum analyze")


def result_id(series: int, commit: int) -> str:
    """Return the id of a result that was filled in."""
    return hashlib.md5(f"result {series} {commit}".encode(), usedforsecurity=False).hexdigest()


def first_run(commit: int) -> str:
    """Return the id of a commit's run on the first machine."""
    return run_id(f"device-0-{commit}")


def size_b(peer: Conbench) -> int:
    """Return what results take with their values and indexes [B]."""
    row = peer.database.execute("select pg_total_relation_size('benchmark_result')").fetchone()
    assert row is not None
    return int(row[0])


_RUNS = """
    insert into run
    select copied.* from run as template
      cross join generate_series(1, %(commits)s) as n
      cross join lateral (select regexp_replace(template.name, '[0-9]+$', n::text) as name) as its
      cross join lateral jsonb_populate_record(template, jsonb_build_object(
        'id', md5(its.name), 'name', its.name, 'commit_id', md5('commit' || n))) as copied
    where template.name like 'device-%%-' || %(template)s
"""

_CASES = """
    insert into "case"
    select copied.* from (select "case" from "case" where name = 'template') as one(template)
      cross join generate_series(%(first)s::int, %(last)s::int) as n
      cross join lateral jsonb_populate_record(template, jsonb_build_object(
        'id', md5('case' || n), 'name', 'bench_' || n / 5, 'tags', jsonb_build_object('batch', n::text))) as copied
"""

_RESULTS = """
    insert into benchmark_result
    select copied.* from generate_series(1, %(commits)s) as commit
      cross join generate_series(%(first)s::int, %(last)s::int) as n
      cross join lateral (select 0.01 * (1 + 0.02 * random() + commit * 0 + n * 0) as v) as drawn
      cross join lateral (select md5(format('device-%%s-%%s', n / (%(pairs)s + 1), commit)) as run) as its
      join lateral (
        select benchmark_result from benchmark_result
        where run_id = md5(format('device-%%s-%%s', n / (%(pairs)s + 1), %(commits)s + 1))) as one(template) on true
      cross join lateral (
        select jsonb_agg(v * (0.99 + 0.02 * random()) + g * 0) as measured from generate_series(1, 10) as g) as values
      cross join lateral jsonb_populate_record(template, jsonb_build_object(
        'id', md5(format('result %%s %%s', n, commit)), 'case_id', md5('case' || n), 'run_id', run, 'batch_id', run,
        'data', measured, 'times', measured,
        'mean', v, 'median', v, 'min', v * 0.99, 'max', v * 1.01, 'q1', v * 0.995, 'q3', v * 1.005,
        'iqr', v * 0.01, 'stdev', v * 0.006)) as copied
"""
