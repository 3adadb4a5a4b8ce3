"""What is known of one benchmark over all its series: how noisy it is, what it costs, how often it raised a change."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.store.tables import BenchmarkCase, ChangePoint, Device, SelfCheck, Series

NOISE_RUNS = 20
"""How many of its last runs say how noisy a series is, as for `runs.pair_noise`."""

SHARES = 100
"""Runs of which all pairs are counted."""


def pair_sds(session: Session, series_ids: Collection[int], *, fewest_pairs: int) -> dict[int, list[float]]:
    """Return the pair standard deviations of each series in its last published runs (ln units), the newest first.

    Runs of fewer pairs are left out, and those of strangers' commits; a series without any is left out.
    """
    which = {"ids": list(series_ids), "fewest": fewest_pairs, "most": NOISE_RUNS}
    return {row[0]: row[1] for row in session.execute(_PAIR_SDS, which) if row[1]}


_PAIR_SDS = text(
    """
    select series.id, array(
      select sigma_pair from verdict
        join run on run.id = verdict.run_id
        join job on job.id = run.job_id
      where verdict.case_id = series.case_id and verdict.metric = series.metric
        and sigma_pair is not null and n_pairs >= :fewest
        and run.published_at is not null and not job.is_untrusted and job.device_class = series.device_class
      order by verdict.id desc limit :most)
    from series where id = any(:ids)
    """
)


def self_checks(session: Session, device_classes: Collection[str]) -> list[tuple[str, SelfCheck]]:
    """Return the newest A/A of each device of these classes, with its class."""
    newest = select(func.max(SelfCheck.id)).group_by(SelfCheck.device_id)
    rows = session.execute(
        select(Device.device_class, SelfCheck)
        .join(Device, Device.id == SelfCheck.device_id)
        .where(Device.device_class.in_(device_classes), SelfCheck.id.in_(newest))
    )
    return [(row[0], row[1]) for row in rows]


class Cost(NamedTuple):
    """The device time that a benchmark took since then [s], in so many runs; some of the last ones were of checks."""

    device_s: float
    n_runs: int
    n_checks: int
    check_s: float | None
    """On average a check that was completed; None without any."""
    suites: list[str]
    written: dict[str, Any] | None
    """Where the newest of these runs found it: file and line."""


def cost(session: Session, project_id: int, benchmark: str, since: datetime) -> Cost:
    """Return what the benchmark cost since then: of each run the share of its pairs, by the run's device time.

    Shares are counted in its last `SHARES` runs; older ones have the mean of their suite.
    """
    which = {"project_id": project_id, "benchmark": benchmark, "since": since, "shares": SHARES}
    return Cost(*session.execute(_COST, which).one())


# The look for a verdict is one into an index a run; a case that failed has no pairs, and took part in one at least.
_COST = text(
    """
    with mine as (
      select array_agg(id) as ids from benchmark_case where project_id = :project_id and benchmark = :benchmark
    ), recent as materialized (
      select run.id, run.job_id, suite, sources, greatest(run.device_s, attempt.device_s) as device_s
      from run
        join attempt on attempt.id = run.attempt_id
        join job on job.id = run.job_id
        cross join lateral (
          select from verdict
          where run_id = run.id and case_id = any(cast((select ids from mine) as bigint[])) limit 1) as its
      where run.project_id = :project_id and run.created_at >= :since
    ), taken as (
      select run_id, case_id, greatest(1, max(n_pairs + n_void)) as pairs
      from verdict
      where run_id = any(array(select id from recent order by id desc limit :shares)) group by run_id, case_id
    ), share as (
      select run_id,
        cast(sum(pairs) filter (where case_id = any(cast((select ids from mine) as bigint[]))) as float8)
          / sum(pairs) as part
      from taken group by run_id
    ), cost as (
      select id, job_id, suite, sources, part is not null as is_counted,
        device_s * coalesce(part, avg(part) over (partition by suite), avg(part) over ()) as device_s
      from recent left join share on share.run_id = recent.id
    ), checked as (
      select sum(device_s) as device_s
      from cost
        join request_job using (job_id)
        join "check" on "check".request_id = request_job.request_id
      where is_counted and "check".state = 'complete' group by "check".id
    )
    select
      (select coalesce(sum(device_s), 0) from cost),
      (select count(*) from cost),
      (select count(*) from checked),
      (select avg(device_s) from checked),
      array(select distinct suite from cost order by suite),
      (select sources -> cast(:benchmark as text) from cost order by id desc limit 1)
    """
)


def changes_by_state(session: Session, project_id: int, benchmark: str) -> dict[tuple[str, bool], int]:
    """Return how many changes all series of the benchmark have by (state, whether the machine is to blame)."""
    is_machine = ChangePoint.label.is_not(None)
    rows = session.execute(
        select(ChangePoint.state, is_machine, func.count())
        .join(Series, Series.id == ChangePoint.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(BenchmarkCase.project_id == project_id, BenchmarkCase.benchmark == benchmark)
        .group_by(ChangePoint.state, is_machine)
    )
    return {(state, by_machine): n for state, by_machine, n in rows}
