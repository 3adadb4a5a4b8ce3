"""What the devices did in a time: who held them and how long, how attempts ended, what runs drew.

An attempt holds the devices of its lease from its start to its end, or until now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.domain.device_use import Span
from app.store.tables import Device, SelfCheck, Worker

RUNS = 300
"""Of so many runs, evenly over the time, invocations are read: each has some hundred, of some kilobytes."""


class KnownDevice(NamedTuple):
    """A device with its worker and the grade of its newest A/A."""

    device: Device
    worker: Worker
    grade: str | None


def known_devices(session: Session) -> Sequence[KnownDevice]:
    """Return all devices that are not retired, by class and id."""
    newest = (
        select(SelfCheck.grade)
        .where(SelfCheck.device_id == Device.id)
        .order_by(SelfCheck.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Device, Worker, newest)
        .join(Worker, Worker.id == Device.worker_id)
        .where(Device.health != "retired")
        .order_by(Device.device_class, Device.id)
    )
    return [KnownDevice(*row) for row in rows]


def there(session: Session, kind: str, start: datetime, end: datetime) -> Sequence[Device]:
    """Return the devices of a kind that may have been there between two moments and are not retired, by id."""
    query = (
        select(Device)
        .join(Worker, Worker.id == Device.worker_id)
        .where(Device.kind == kind, Device.health != "retired")
        .where(Device.created_at < end, Worker.last_seen_at > start)
        .order_by(Device.id)
    )
    return session.scalars(query).all()


def held_spans(session: Session, kind: str, start: datetime, end: datetime) -> dict[int, list[Span]]:
    """Return when each device of a kind was held that was held between two moments [s since 1970], by its id."""
    spans: dict[int, list[Span]] = defaultdict(list)
    for device_id, since, until in session.execute(_SPANS, {"kind": kind, "start": start, "end": end}):
        spans[device_id].append((since.timestamp(), until.timestamp()))
    return spans


@dataclass(frozen=True)
class Held:
    """Device time by one of three things: a device, a project's suite on a class, or a purpose on a class [s].

    What it is not by is None.
    """

    device_id: int | None
    project_id: int | None
    suite: str | None
    purpose: str | None
    device_class: str
    is_retired: bool | None
    seconds: float


def held(session: Session, start: datetime, end: datetime, project_ids: Collection[int] | None) -> list[Held]:
    """Return who held devices between two moments, in one look; of some projects' jobs, or of all (None)."""
    rows = session.execute(_HELD, _span(start, end, project_ids))
    return [Held(*row) for row in rows]


class Wait(NamedTuple):
    """Waits of the jobs of a device class whose first attempt began in a time [s]."""

    device_class: str
    n: int
    p50_s: float
    p95_s: float


def waits(
    session: Session, start: datetime, end: datetime, project_ids: Collection[int] | None
) -> list[Wait]:
    """Return how long jobs had waited whose first attempt began between two moments, by device class."""
    return [Wait(*row) for row in session.execute(_WAITS, _span(start, end, project_ids))]


def waiting(session: Session, project_ids: Collection[int] | None) -> list[tuple[str, int, datetime]]:
    """Return how many jobs wait now by device class, and since when the oldest does."""
    rows = session.execute(_WAITING, {"projects": _ids(project_ids)})
    return [(row[0], row[1], row[2]) for row in rows]


def ended(
    session: Session, start: datetime, end: datetime, project_ids: Collection[int] | None
) -> list[tuple[str, str, int]]:
    """Return how many attempts ended between two moments, by outcome and reason (empty without one)."""
    rows = session.execute(_ENDED, _span(start, end, project_ids))
    return [(row[0], row[1], row[2]) for row in rows]


@dataclass(frozen=True)
class RunRead:
    """One run of a sample, and what its invocations told.

    `size_s` is the device time of its lease [s]. Energy by counters, and by the median power with its lowest and
    highest where there is no counter [J]; `told_s` is the device time that either is of [s]. Shares by DCGM are means
    over the devices.
    """

    run_id: int
    device_class: str
    size_s: float
    is_simulated: bool
    n: int
    n_void: int
    counted_j: float
    power_j: float
    power_low_j: float
    power_high_j: float
    told_s: float
    sm_active: float | None
    tensor_active: float | None


@dataclass(frozen=True)
class RunsRead:
    """A sample of the runs that began in a time, all of them where they are few."""

    n_all: int
    size_all_s: float
    runs: tuple[RunRead, ...]


def runs_read(
    session: Session,
    start: datetime,
    end: datetime,
    project_ids: Collection[int] | None,
    *,
    most: int = RUNS,
) -> RunsRead:
    """Return what runs tell whose attempt began between two moments: of every k-th, so that `most` are read."""
    rows = session.execute(_READ, {**_span(start, end, project_ids), "most": most}).all()
    read = tuple(RunRead(*row[2:6], *map(_number, row[6:])) for row in rows)
    return RunsRead(rows[0][0], float(rows[0][1]), read) if rows else RunsRead(0, 0.0, ())


def _number(value: Any) -> Any:
    """Return a number as it is used; sums are exact in PostgreSQL, as an agent may tell numbers beyond any float."""
    return float(value) if isinstance(value, Decimal) else value


def _span(start: datetime, end: datetime, project_ids: Collection[int] | None) -> dict[str, Any]:
    return {"start": start, "end": end, "projects": _ids(project_ids)}


def _ids(project_ids: Collection[int] | None) -> list[int] | None:
    return None if project_ids is None else list(project_ids)


_OF_PROJECTS = "(cast(:projects as bigint[]) is null or job.project_id = any(cast(:projects as bigint[])))"

_HELD = text(
    f"""
    with held as (
      select device.id as device_id, job.project_id, job.suite, device.device_class,
        coalesce(job.policy ->> 'purpose', asked.trigger, '') as purpose, device.health = 'retired' as is_retired,
        extract(epoch from
          least(coalesce(attempt.ended_at, clock_timestamp()), :end, clock_timestamp())
          - greatest(attempt.started_at, :start)) as seconds
      from attempt
        join job on job.id = attempt.job_id
        join lease_device on lease_device.lease_id = attempt.lease_id
        join device on device.id = lease_device.device_id
        left join lateral (
          select request.trigger from request_job join request on request.id = request_job.request_id
          where request_job.job_id = job.id order by request.id limit 1) as asked on true
      where attempt.started_at < :end and (attempt.ended_at is null or attempt.ended_at > :start)
        and {_OF_PROJECTS}
    )
    select device_id, project_id, suite, purpose, device_class, is_retired,
      cast(sum(greatest(seconds, 0)) as float8)
    from held
    group by grouping sets (
      (device_id, device_class, is_retired), (project_id, suite, device_class), (purpose, device_class))
    """  # noqa: S608  # nothing of it is anybody's but ours
)

_SPANS = text("""
    select device.id, attempt.started_at, coalesce(attempt.ended_at, clock_timestamp())
    from attempt
      join lease_device on lease_device.lease_id = attempt.lease_id
      join device on device.id = lease_device.device_id
    where device.kind = :kind and attempt.started_at < :end
      and (attempt.ended_at is null or attempt.ended_at > :start)
""")

_WAITS = text(
    f"""
    select device_class, count(*),
      percentile_cont(0.5) within group (order by seconds), percentile_cont(0.95) within group (order by seconds)
    from (
      select job.device_class,
        cast(greatest(0, extract(epoch from attempt.started_at - job.created_at)) as float8) as seconds
      from attempt join job on job.id = attempt.job_id
      where attempt.number = 1 and attempt.started_at >= :start and attempt.started_at < :end and {_OF_PROJECTS}
    ) as begun
    group by device_class
    """  # noqa: S608
)

_WAITING = text(
    f"""
    select device_class, count(*), min(created_at) from job
    where state = 'queued' and {_OF_PROJECTS} group by device_class
    """  # noqa: S608
)

_ENDED = text(
    f"""
    select coalesce(outcome, ''), split_part(coalesce(attempt.reason, ''), ':', 1), count(*)
    from attempt join job on job.id = attempt.job_id
    where attempt.ended_at >= :start and attempt.ended_at < :end and {_OF_PROJECTS}
    group by 1, 2
    """  # noqa: S608
)

# A document of an agent is read as far as it has the form that is expected.
_READ = text(
    f"""
    with begun as materialized (
      select run.id, job.device_class, leased.is_simulated,
        leased.n * greatest(0, extract(epoch from
          coalesce(attempt.ended_at, clock_timestamp()) - attempt.started_at)) as size_s
      from attempt
        join job on job.id = attempt.job_id
        join run on run.attempt_id = attempt.id
        cross join lateral (
          select count(*) as n, coalesce(bool_or(device.kind = 'simulated'), false) as is_simulated
          from lease_device join device on device.id = lease_device.device_id
          where lease_device.lease_id = attempt.lease_id) as leased
      where attempt.started_at >= :start and attempt.started_at < :end and {_OF_PROJECTS}
    ), numbered as (
      select begun.*, row_number() over (order by id) - 1 as place, count(*) over () as n_all,
        sum(size_s) over () as size_all
      from begun
    ), chosen as materialized (
      select * from numbered where place % greatest(1, cast(ceil(n_all / cast(:most as numeric)) as bigint)) = 0
    )
    select n_all, size_all, chosen.id, device_class, cast(size_s as float8), is_simulated,
      told.n, told.n_void, told.counted_j, told.power_j, told.power_low_j, told.power_high_j, told.told_s,
      done.sm_active, done.tensor_active
    from chosen
      cross join lateral (
        select count(*) as n, count(*) filter (where void) as n_void,
          coalesce(sum(drawn.counted_j), 0) as counted_j, coalesce(sum(drawn.power_j), 0) as power_j,
          coalesce(sum(drawn.power_low_j), 0) as power_low_j, coalesce(sum(drawn.power_high_j), 0) as power_high_j,
          coalesce(sum(drawn.told_s), 0) as told_s
        from invocation
          cross join lateral (
            select sum(rise) as counted_j, sum(mid * span_s) filter (where rise is null) as power_j,
              sum(low * span_s) filter (where rise is null) as power_low_j,
              sum(high * span_s) filter (where rise is null) as power_high_j,
              sum(span_s) filter (where coalesce(rise, mid) is not null) as told_s
            from (
              select
                case when jsonb_typeof(its #> '{{counters,energy_j_total}}') = 'number'
                  then cast(its #>> '{{counters,energy_j_total}}' as numeric) end as rise,
                case when jsonb_typeof(its #> '{{gauges,power_w,0}}') = 'number'
                  then cast(its #>> '{{gauges,power_w,0}}' as numeric) end as low,
                case when jsonb_typeof(its #> '{{gauges,power_w,1}}') = 'number'
                  then cast(its #>> '{{gauges,power_w,1}}' as numeric) end as mid,
                case when jsonb_typeof(its #> '{{gauges,power_w,2}}') = 'number'
                  then cast(its #>> '{{gauges,power_w,2}}' as numeric) end as high,
                case when jsonb_typeof(its -> 'span_s') = 'number'
                  then cast(its ->> 'span_s' as numeric) end as span_s
              from jsonb_array_elements(
                case jsonb_typeof(detail -> 'telemetry') when 'array' then detail -> 'telemetry' else '[]' end
              ) as summary(its)
            ) as device
          ) as drawn
        where invocation.run_id = chosen.id
      ) as told
      cross join lateral (
        select
          avg(cast(document #>> '{{readings,sm_active,value}}' as numeric)) as sm_active,
          avg(cast(document #>> '{{readings,tensor_active,value}}' as numeric)) as tensor_active
        from run cross join lateral jsonb_each(coalesce(run.activity, '{{}}')) as of_device(name, document)
        where run.id = chosen.id
      ) as done
    order by chosen.id
    """  # noqa: S608
)
