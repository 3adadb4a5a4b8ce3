"""Runs: invocations as they arrive, their timings and estimates, and the verdict rows that they feed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import DateTime, Select, case, cast, false, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased, defer

from app.store.tables import (
    Attempt,
    BenchmarkCase,
    Commit,
    Device,
    Environment,
    Estimate,
    Invocation,
    Job,
    LeaseDevice,
    Project,
    RequestJob,
    Run,
    Telemetry,
    Timing,
    Verdict,
    Worker,
)

BUSY_PROCESSOR = "host_cpu"
"""The gate that is raised when other programs keep the host's processors busy: it spoils only some values."""

WHOLLY_VOID = Invocation.void & func.coalesce(~Invocation.void_reason.startswith(f"{BUSY_PROCESSOR}:"), True)
"""Of an invocation: that no value of it counts."""

NEWEST = 1_000
"""Among so many of the newest runs is looked for those whose message was lost."""

NOISE_RUNS = 20
"""How many of its last runs say how noisy a case is."""


@dataclass(frozen=True)
class ArmValue:
    """What one invocation says of one (case, metric): a value, or the status that stands in its place."""

    case_id: int
    pair_index: int
    block: int
    position: int
    arm: str
    status: str
    reason: str
    value: float | None
    metric: str | None
    void: bool
    void_reason: str | None
    invocation_id: int
    k: int
    timer_resolution_s: float
    is_net: bool = False
    """Whether `value` is without the time of other programs."""


def of_attempt(session: Session, attempt_id: int) -> Run | None:
    """Return the attempt's run."""
    return session.scalars(select(Run).where(Run.attempt_id == attempt_id)).one_or_none()


def latest_of_job(session: Session, job_id: int) -> Run | None:
    """Return the job's newest run: the one that counts."""
    return session.scalars(
        select(Run).where(Run.job_id == job_id).order_by(Run.id.desc()).limit(1)
    ).one_or_none()


def last_sample_at(session: Session, request_id: int) -> datetime | None:
    """Return when the last invocation of a request's jobs arrived; None where there is none."""
    return session.scalar(
        select(func.max(Invocation.received_at))
        .join(Run, Run.id == Invocation.run_id)
        .join(RequestJob, RequestJob.job_id == Run.job_id)
        .where(RequestJob.request_id == request_id)
    )


def any_summed_up(session: Session, job_ids: Collection[int]) -> bool:
    """Tell whether any run of these jobs has its raw values no more."""
    query = select(Run.id).where(Run.job_id.in_(job_ids), Run.summary.is_not(None)).limit(1)
    return session.scalar(query) is not None


def environment_of(session: Session, run: Run) -> Environment | None:
    """Return the environment that the run ran in."""
    return session.get(Environment, run.environment_id) if run.environment_id else None


def attempt_of(session: Session, run: Run) -> tuple[Attempt, Worker]:
    """Return the run's attempt and the worker that made it."""
    row = session.execute(
        select(Attempt, Worker)
        .join(Worker, Worker.id == Attempt.worker_id)
        .where(Attempt.id == run.attempt_id)
    ).one()
    return row[0], row[1]


def add_invocation(session: Session, values: dict[str, Any]) -> Invocation | None:
    """Store an invocation; None if its key is already there."""
    statement = insert(Invocation).values(**values).on_conflict_do_nothing(index_elements=["key"])
    return session.scalars(statement.returning(Invocation)).one_or_none()


def invocation_by_key(session: Session, key: str) -> Invocation:
    """Return the invocation of this key."""
    return session.scalars(select(Invocation).where(Invocation.key == key)).one()


def invocations(session: Session, run_id: int) -> Sequence[Invocation]:
    """Return the run's invocations in the order in which they ran."""
    return session.scalars(
        select(Invocation).where(Invocation.run_id == run_id).order_by(Invocation.t_start_ns, Invocation.id)
    ).all()


@dataclass(frozen=True)
class InvocationTimes:
    """When an invocation ran by its agent's clock, and when it was received by the database's."""

    pair_index: int
    is_void: bool
    started_at: datetime
    duration_ns: int
    received_at: datetime

    @property
    def ended_at(self) -> datetime:
        """When it ended, by its agent's clock."""
        return self.started_at + timedelta(microseconds=self.duration_ns / 1_000)


def times_of(session: Session, run_id: int) -> Sequence[InvocationTimes]:
    """Return when the run's invocations were, in the order in which they ran."""
    query = (
        select(
            Invocation.pair_index,
            WHOLLY_VOID.label("is_void"),
            Invocation.started_at,
            Invocation.duration_ns,
            Invocation.received_at,
        )
        .where(Invocation.run_id == run_id)
        .order_by(Invocation.t_start_ns, Invocation.id)
    )
    return [InvocationTimes(**row._mapping) for row in session.execute(query)]


def locked(session: Session, run_id: int) -> Run:
    """Lock and return the run."""
    return session.get_one(Run, run_id, with_for_update=True, populate_existing=True)


def without_activity(
    session: Session, kind: str, *, older_than: timedelta, newer_than: timedelta
) -> Sequence[int]:
    """Return runs on devices of this kind, ended in that time, that nobody was asked about although it is time."""
    its_kind = (
        select(LeaseDevice.lease_id)
        .join(Device, Device.id == LeaseDevice.device_id)
        .where(LeaseDevice.lease_id == Attempt.lease_id, Device.kind == kind)
    )
    counting = select(Invocation.id).where(Invocation.run_id == Run.id, ~WHOLLY_VOID)
    now = func.clock_timestamp()
    told = func.jsonb_each(Run.activity).table_valued("value", name="told")
    again_at = cast(told.c.value.op("->>")("ask_again_at"), DateTime(timezone=True))
    late = select(told).where(again_at < now - older_than)
    query = (
        select(Run.id)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .where(
            Run.id > (select(func.max(Run.id)).scalar_subquery() - NEWEST),
            Attempt.ended_at.between(now - newer_than, now - older_than),
            its_kind.exists(),
            case((Run.activity.is_(None), counting.exists()), else_=late.exists()),
        )
    )
    return session.scalars(query).all()


def verdict_of(session: Session, run_id: int, case_id: int, metric: str) -> Verdict | None:
    """Return what the run says of one metric of one case, or None."""
    return session.scalars(
        select(Verdict).where(Verdict.run_id == run_id, Verdict.case_id == case_id, Verdict.metric == metric)
    ).one_or_none()


def plan_of(session: Session, run_id: int, case_id: int, metric: str) -> tuple[str, dict[str, Any]] | None:
    """Return how the run compared the metric of the case, and the plan that it had for that; None for unknown."""
    row = verdict_of(session, run_id, case_id, metric)
    return (row.kind, row.plan) if row else None


def progress(session: Session, run_id: int) -> tuple[int, int]:
    """Return how many pairs were begun and how many invocations are in."""
    row = session.execute(
        select(func.count(func.distinct(Invocation.pair_index)), func.count()).where(
            Invocation.run_id == run_id
        )
    ).one()
    return int(row[0]), int(row[1])


def add_measurements(
    session: Session, timings: list[dict[str, Any]], estimates: list[dict[str, Any]]
) -> None:
    """Store the raw timings and the estimates of one invocation."""
    if timings:
        session.execute(insert(Timing), timings)
    if estimates:
        session.execute(insert(Estimate), estimates)


def verdict_rows(
    session: Session, run_id: int, *, only_open: bool = False
) -> Sequence[tuple[Verdict, BenchmarkCase]]:
    """Return the run's verdict rows with their cases, in the order in which they were planned."""
    query = select(Verdict, BenchmarkCase).join(BenchmarkCase, BenchmarkCase.id == Verdict.case_id)
    query = query.where(Verdict.run_id == run_id)
    if only_open:
        query = query.where(Verdict.verdict.is_(None))
    return [(row[0], row[1]) for row in session.execute(query.order_by(Verdict.id))]


def pair_noise(
    session: Session, device_class: str, case_ids: Iterable[int], *, fewest_pairs: int
) -> dict[tuple[int, str], list[float]]:
    """Return the pair standard deviations of each (case, metric) in its last published runs, in ln units.

    Newest first; runs of fewer pairs than that are left out, and those of strangers' commits.
    """
    newest = (
        select(
            Verdict.case_id,
            Verdict.metric,
            Verdict.sigma_pair,
            func.row_number()
            .over(partition_by=(Verdict.case_id, Verdict.metric), order_by=Verdict.id.desc())
            .label("age"),
        )
        .join(Run, Run.id == Verdict.run_id)
        .join(Job, Job.id == Run.job_id)
        .where(
            Verdict.case_id.in_(list(case_ids)),
            Verdict.sigma_pair.is_not(None),
            Verdict.n_pairs >= fewest_pairs,
            Run.published_at.is_not(None),
            Job.device_class == device_class,
            ~Job.is_untrusted,
        )
        .subquery()
    )
    rows = session.execute(select(newest).where(newest.c.age <= NOISE_RUNS).order_by(newest.c.age)).all()
    noise: dict[tuple[int, str], list[float]] = {}
    for case_id, metric, sigma, _ in rows:
        noise.setdefault((case_id, metric), []).append(sigma)
    return noise


def settled_discoveries(session: Session, run_id: int) -> int:
    """Return how many gating metrics of the run are known to have changed, by their noise alone.

    Not those without noise, and not those with a budget, by which they may have got their verdict.
    """
    unlimited = (Verdict.plan[end].as_string().is_(None) for end in ("budget_max", "budget_min"))
    query = select(func.count()).where(
        Verdict.run_id == run_id,
        Verdict.gating,
        Verdict.kind == "sampled",
        Verdict.verdict.in_(["regressed", "improved"]),
        *unlimited,
    )
    return session.scalar(query) or 0


@dataclass(frozen=True)
class Plan:
    """What a run measures: its cases, and the unit of each (case, metric)."""

    cases: Sequence[BenchmarkCase]
    units: dict[tuple[int, str], str]


def planned(session: Session, run_id: int) -> Plan:
    """Return the run's plan."""
    rows = session.execute(
        select(BenchmarkCase, Verdict.metric, Verdict.unit)
        .join(Verdict, Verdict.case_id == BenchmarkCase.id)
        .where(Verdict.run_id == run_id)
    ).all()
    cases = {case.id: case for case, _, _ in rows}
    return Plan(list(cases.values()), {(case.id, metric): unit for case, metric, unit in rows})


def usual_flags(session: Session, run_id: int) -> dict[int, tuple[str, ...]]:
    """Return by case the flags that at least half of its successful timings have, in the order of their names."""
    found: dict[int, tuple[str, ...]] = {}
    for case_id, flag in session.execute(_USUAL_FLAGS, {"run_id": run_id}):
        found[case_id] = (*found.get(case_id, ()), flag)
    return found


_USUAL_FLAGS = text(
    """
    with timed as (
        select timing.case_id, timing.flags, count(*) over (partition by timing.case_id) as n
        from timing join invocation on invocation.id = timing.invocation_id
        where invocation.run_id = :run_id and timing.status = 'ok'
    )
    select case_id, flag from timed, unnest(flags) as flag
    group by case_id, flag, n having 2 * count(*) >= n order by case_id, flag
    """
)


def open_verdicts(session: Session, run_id: int, metrics: Iterable[str]) -> dict[tuple[int, str], Verdict]:
    """Return the run's open verdict rows of these metrics by (case, metric)."""
    query = select(Verdict).where(
        Verdict.run_id == run_id, Verdict.metric.in_(list(metrics)), Verdict.verdict.is_(None)
    )
    return {(row.case_id, row.metric): row for row in session.scalars(query)}


def keep_provenance(
    row: Verdict, arm: str, made_of: dict[str, Any], flags: Iterable[str] = (), *, is_newest: bool
) -> None:
    """Keep what a derived value of an arm was made of, with its open verdict; flags add up.

    An arm's first one is kept, then only what `is_newest` says is to stand in its place, and what has a value where
    the one before had none, or has none any more: a row is not written again for another number alone.
    """
    kept = (row.provenance or {}).get(arm)
    if is_newest or kept is None or (kept["value"] is None) != (made_of["value"] is None):
        row.provenance = {**(row.provenance or {}), arm: made_of}
    new = [flag for flag in flags if flag not in row.flags]
    if new:
        row.flags = [*row.flags, *dict.fromkeys(new)]


def gates_of(session: Session, run_id: int) -> Sequence[tuple[str, list[str]]]:
    """Return the arm of each invocation of the run that is not void, with the gates that it raised."""
    rows = session.execute(
        select(Invocation.arm, Invocation.detail["gates"])
        .where(Invocation.run_id == run_id, ~WHOLLY_VOID)
        .order_by(Invocation.id)
    )
    return [(arm, gates or []) for arm, gates in rows]


def telemetry_of(session: Session, run_id: int) -> Sequence[tuple[str, list[Any]]]:
    """Return the arm of each invocation of the run that is not void, with the summaries of its telemetry."""
    rows = session.execute(
        select(Invocation.arm, Invocation.detail["telemetry"])
        .where(Invocation.run_id == run_id, ~WHOLLY_VOID)
        .order_by(Invocation.id)
    )
    return [(arm, summaries or []) for arm, summaries in rows]


@dataclass(frozen=True)
class CaseWork:
    """What one arm's invocations of a case come to: medians of the numbers that they told, by name.

    `numbers` has the declared `flop` and `bytes` of a call, the `signs` of what the devices did meanwhile, and
    `device_share`, the time by the device's clock over that by the host's.
    """

    benchmark: str
    params_key: str
    arm: str
    dtype: str | None
    numbers: dict[str, float]


def work_of(session: Session, run_id: int) -> Sequence[CaseWork]:
    """Return what each arm of each case worked off and what the devices did meanwhile, of what is not void."""
    return works_of(session, [run_id]).get(run_id, ())


def works_of(
    session: Session, run_ids: Collection[int], *, most: int | None = None
) -> dict[int, Sequence[CaseWork]]:
    """Return the same of several runs, by their ids; of each arm's `most` last invocations, or of all (None)."""
    found: dict[int, dict[tuple[str, str, str], CaseWork]] = {}
    for run_id, benchmark, params_key, arm, name, dtype, number in session.execute(
        _WORK, {"run_ids": list(run_ids), "by_others": f"{BUSY_PROCESSOR}:", "most": most}
    ):
        known = found.setdefault(run_id, {}).setdefault(
            (benchmark, params_key, arm), CaseWork(benchmark, params_key, arm, dtype, {})
        )
        known.numbers[name] = number
    return {run_id: list(its.values()) for run_id, its in found.items()}


_WORK = text(
    """
    with told as (
        select its.run_id, timing.case_id, invocation.arm, timing.work ->> 'dtype' as dtype,
               coalesce(timing.work -> 'signs', '{}') || jsonb_build_object(
                   'flop', timing.work #> '{units,flop}',
                   'bytes', timing.work #> '{units,bytes}',
                   'device_share', case when cardinality(timing.device_ns) > 0 then
                       (select sum(ns) from unnest(timing.device_ns) as ns)
                       / (select nullif(sum(ns), 0) from unnest(timing.host_ns) as ns) end) as numbers
        from unnest(cast(:run_ids as bigint[])) as its(run_id)
          cross join (values ('base'), ('head')) as of_run(arm)
          cross join lateral (
            select id, arm from invocation
            where invocation.run_id = its.run_id and invocation.arm = of_run.arm
              and not (void and coalesce(not starts_with(void_reason, :by_others), true))
            order by t_start_ns desc, id desc limit :most) as invocation
          join timing on timing.invocation_id = invocation.id
        where timing.status = 'ok'
    )
    select told.run_id, benchmark_case.benchmark, benchmark_case.params_key, told.arm, one.name, max(told.dtype),
           percentile_cont(0.5) within group (order by cast(one.number as double precision))
    from told join benchmark_case on benchmark_case.id = told.case_id,
         jsonb_each_text(told.numbers) as one(name, number)
    where one.number is not null
    group by told.run_id, benchmark_case.id, told.arm, one.name
    order by told.run_id, benchmark_case.id, told.arm, one.name
    """
)


def add_telemetry(session: Session, invocation_id: int, ticks: bytes) -> None:
    """Store the raw readings beside an invocation."""
    session.add(Telemetry(invocation_id=invocation_id, ticks=ticks))


def states_of(session: Session, run_id: int) -> Sequence[tuple[int, str | None, bool]]:
    """Return (case, verdict, gating) of each row of the run's plan, in order: all that progress needs."""
    rows = session.execute(
        select(Verdict.case_id, Verdict.verdict, Verdict.gating)
        .where(Verdict.run_id == run_id)
        .order_by(Verdict.id)
    ).all()
    return [(row[0], row[1], row[2]) for row in rows]


def arm_values(session: Session, run_id: int, case_ids: Iterable[int] | None = None) -> Sequence[ArmValue]:
    """Return every (invocation, case, metric) of the run in time order; a failed case has one row without metric.

    Where both arms of a pair know their value without the time of other programs, that is the value of both, so that
    like is compared with like. Of a run that was summed up there are none, as some may be gone.
    """
    pair = (Timing.case_id, Estimate.metric, Invocation.pair_index)
    both_net = func.bool_and(Estimate.net.is_not(None)).over(partition_by=pair)
    query = (
        select(
            Timing.case_id,
            Invocation.pair_index,
            Invocation.block,
            Invocation.position,
            Invocation.arm,
            Timing.status,
            Timing.reason,
            case((both_net, Estimate.net), else_=Estimate.value).label("value"),
            func.coalesce(both_net, false()).label("is_net"),
            Estimate.metric,
            Invocation.void,
            Invocation.void_reason,
            Invocation.id.label("invocation_id"),
            Timing.k,
            Invocation.detail["timer_resolution_s"].as_float().label("timer_resolution_s"),
        )
        .join(Invocation, Invocation.id == Timing.invocation_id)
        .outerjoin(
            Estimate, (Estimate.invocation_id == Timing.invocation_id) & (Estimate.case_id == Timing.case_id)
        )
        .join(Run, Run.id == Invocation.run_id)
        .where(Invocation.run_id == run_id, Run.summary.is_(None))
        .order_by(Invocation.t_start_ns, Invocation.id)
    )
    if case_ids is not None:
        query = query.where(Timing.case_id.in_(list(case_ids)))
    return [ArmValue(**row._mapping) for row in session.execute(query)]


def last_failure(session: Session, run_id: int, case_id: int, arm: str) -> Timing | None:
    """Return what the arm's last failing invocation of the case said, if it failed."""
    return session.scalars(
        select(Timing)
        .join(Invocation, Invocation.id == Timing.invocation_id)
        .where(
            Invocation.run_id == run_id,
            Invocation.arm == arm,
            Timing.case_id == case_id,
            Timing.status != "ok",
        )
        .order_by(Invocation.t_start_ns.desc())
        .limit(1)
    ).one_or_none()


@dataclass(frozen=True)
class RunContext:
    """A run with everything that names it; `base` is None where only one commit was measured."""

    run: Run
    job: Job
    attempt: Attempt
    worker: Worker
    project: Project
    base: Commit | None
    head: Commit


_UNREAD = defer(Run.activity), defer(Run.summary)
"""What is large of a run, and no list shows."""


def recent(
    session: Session,
    limit: int,
    *,
    project_ids: Collection[int] | None = None,
    commit_id: int | None = None,
) -> Sequence[RunContext]:
    """Return the newest runs; `commit_id` is on either arm."""
    query = _with_context().options(*_UNREAD).order_by(Run.id.desc()).limit(limit)
    if project_ids is not None:
        query = query.where(Run.project_id.in_(project_ids))
    if commit_id is not None:
        query = query.where((Job.head_commit_id == commit_id) | (Job.base_commit_id == commit_id))
    return [RunContext(*row) for row in session.execute(query)]


def contexts(session: Session, run_ids: Collection[int]) -> Sequence[RunContext]:
    """Return these runs with what names them; one that is not there is left out."""
    query = _with_context().options(*_UNREAD).where(Run.id.in_(run_ids))
    return [RunContext(*row) for row in session.execute(query)]


def with_context(session: Session, run_id: int) -> RunContext | None:
    """Return the run with what names it, or None."""
    row = session.execute(_with_context().where(Run.id == run_id)).one_or_none()
    return RunContext(*row) if row else None


def _with_context() -> Select[*tuple[Any, ...]]:
    base, head = aliased(Commit), aliased(Commit)
    return (
        select(Run, Job, Attempt, Worker, Project, base, head)
        .join(Job, Job.id == Run.job_id)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .join(Worker, Worker.id == Attempt.worker_id)
        .join(Project, Project.id == Run.project_id)
        .outerjoin(base, base.id == Job.base_commit_id)
        .join(head, head.id == Job.head_commit_id)
    )


class InvocationCounts(NamedTuple):
    """How many invocations a run has, how many of them are void, and how many succeeded, void or not."""

    n: int = 0
    n_void: int = 0
    n_ok: int = 0


def invocation_counts(session: Session, run_ids: Collection[int]) -> dict[int, InvocationCounts]:
    """Return what each run has of invocations; a run without any is left out."""
    is_ok = Invocation.status == "ok"
    rows = session.execute(
        select(Invocation.run_id, func.count(), func.count().filter(WHOLLY_VOID), func.count().filter(is_ok))
        .where(Invocation.run_id.in_(run_ids))
        .group_by(Invocation.run_id)
    )
    return {run_id: InvocationCounts(*counts) for run_id, *counts in rows}


def invocation_tally(session: Session, run_id: int) -> Sequence[tuple[str, str, bool, int]]:
    """Return how many invocations of the run there are by (arm, status, void)."""
    rows = session.execute(
        select(Invocation.arm, Invocation.status, WHOLLY_VOID.label("is_void"), func.count())
        .where(Invocation.run_id == run_id)
        .group_by(Invocation.arm, Invocation.status, text("is_void"))
        .order_by(Invocation.arm, Invocation.status, text("is_void"))
    )
    return [(row[0], row[1], row[2], int(row[3])) for row in rows]


@dataclass(frozen=True)
class TimingStrip:
    """One invocation's batches of one case: some of them in time order [ns for a batch of `k` iterations].

    `n_batches` counts all that were stored; `ns` are evenly spaced ones among them.
    """

    case_id: int
    invocation_id: int
    status: str
    k: int
    clock: str
    n_batches: int
    ns: list[int]


def timing_strips(
    session: Session, run_id: int, case_ids: Collection[int], *, points: int
) -> Sequence[TimingStrip]:
    """Return the cases' raw timings in time order, at most about `points` of each invocation.

    Thinned in the database, because one invocation may have a million. They are the device's own times where
    it has a clock, else the host's without what other programs took of them.
    """
    return [
        TimingStrip(*row)
        for row in session.execute(
            _TIMING_STRIPS, {"run_id": run_id, "case_ids": list(case_ids), "points": points}
        )
    ]


_TIMING_STRIPS = text(
    """
    with measured as materialized (
        -- materialised, so that the array's length is taken once and not again for each of its elements
        select timing.case_id, timing.invocation_id, timing.status, timing.k, timing.clock, invocation.t_start_ns,
               case when cardinality(device_ns) > 0 then device_ns else host_ns end as ns,
               case when cardinality(device_ns) > 0 then '{}' else wait_ns end as waits,
               cardinality(case when cardinality(device_ns) > 0 then device_ns else host_ns end) as n
        from timing join invocation on invocation.id = timing.invocation_id
        where invocation.run_id = :run_id and timing.case_id = any(:case_ids)
    )
    select case_id, invocation_id, status, k, clock, n,
           array(select x - coalesce(waited, 0) from unnest(ns, waits) with ordinality as batch(x, waited, i)
                 where (i - 1) % greatest(1, (n + :points - 1) / :points) = 0 order by i)
    from measured
    order by t_start_ns, invocation_id
    """
)
