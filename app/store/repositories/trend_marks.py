"""What is marked beside a history: its machines, the control workload, what was void, runs without a point, its budget.

All of it is asked for in the trip that fetches what is behind the points, and only of histories that have it: what
programs elsewhere posted has neither a control, nor void values, nor budgets.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.store.tables import Series
from app.store.wire import Statement

PROBES = ("gemm_bf16", "gemm_fp32", "triad")
"""The probes of the control that every start of a run has, as far as its device can run them."""

NEWEST_RUNS = 100
"""So many of the newest runs are looked through for settings that have landed."""

CHECKS = 200
"""So many of the newest checks of the project are looked through for runs without a point."""

REASONS = 50
"""So many of the newest points with void values are told with the reasons."""

MOST_FAILED = 100
"""Runs without a point that are told at the most; older ones are left out."""


@dataclass(frozen=True)
class Sought:
    """What the marks are of: a series' history on a branch.

    `runs` are the newest of the whole history, `controlled` those whose control is to be told, `results` those that
    are looked through for void values, and `arrived` those whose machines are to be told.
    """

    series: Series
    branch: str
    own_branch: str
    runs: Sequence[int]
    controlled: Sequence[int]
    results: Sequence[int]
    arrived: Sequence[int]


class ControlTimes(NamedTuple):
    """What probes took at the starts of runs [s], 0 where one did not run; of one kit on one way to make devices work.

    A run on several devices is there once for each.
    """

    run_ids: tuple[int, ...]
    seconds: tuple[tuple[float, ...], ...]


class VoidRow(NamedTuple):
    """A result some of whose values do not count; `reasons` are codes, None where nobody looked for them."""

    result_id: int
    n_void: int
    n_values: int
    reasons: Sequence[str] | None


class FailedRow(NamedTuple):
    """A job that should have brought a point of the history, and did not; it stands after the result `after`."""

    sha: str
    subject: str
    run_id: int | None
    verdict: str | None
    reason: str | None
    after: int | None


class MachineRow(NamedTuple):
    """The machine that a result was measured on, as it was told."""

    result_id: int
    sha: str
    subject: str
    machine: dict[str, Any]


@dataclass(frozen=True)
class Marks:
    """What is marked beside a history; `budgets` are those of the newest settings that have landed, all of them."""

    machines: tuple[MachineRow, ...] = ()
    control: tuple[ControlTimes, ...] = ()
    void: tuple[VoidRow, ...] = ()
    failed: tuple[FailedRow, ...] = ()
    budgets: Sequence[dict[str, Any]] = ()


def statements(sought: Sought) -> list[Statement]:
    """Return what is to be asked; `marks` reads the answers."""
    asked: list[Statement] = []
    if sought.arrived:
        asked.append((_MACHINES, {"arrived": sought.arrived}))
    if sought.runs:
        its = sought.series
        of_history = {"series": its.id, "its_branch": sought.branch, "runs": sought.runs}
        of_project = {"project": its.project_id, "own_branch": sought.own_branch, "checks": CHECKS}
        of_series = {
            "case": its.case_id,
            "metric": its.metric,
            "device_class": its.device_class,
            "version": its.version,
        }
        asked += [
            (_CONTROL, {"runs": sought.controlled}),
            (_VOID, {"results": sought.results, "reasons": REASONS}),
            (_FAILED, {**of_history, **of_project, **of_series, "most": MOST_FAILED}),
            (_BUDGETS, of_history),
        ]
    return asked


def marks(sought: Sought, answers: Sequence[Sequence[tuple[Any, ...]]]) -> Marks:
    """Read the answers to `statements`."""
    told = iter(answers)
    machines = tuple(map(MachineRow._make, next(told))) if sought.arrived else ()
    if not sought.runs:
        return Marks(machines)
    return Marks(
        machines,
        tuple(map(_times, next(told))),
        tuple(map(VoidRow._make, next(told))),
        tuple(map(FailedRow._make, next(told))),
        next((row[0] for row in next(told)), ()),
    )


def _times(row: tuple[bytes, ...]) -> ControlTimes:
    runs, *seconds = row
    return ControlTimes(whole(runs), tuple(map(real, seconds)))


def whole(numbers: bytes | None) -> tuple[int, ...]:
    """Return what `string_agg` made of whole numbers that were each sent as eight bytes."""
    return _numbers("q", numbers or b"")


def real(numbers: bytes | None) -> tuple[float, ...]:
    """Return the same of real numbers."""
    return _numbers("d", numbers or b"")


def _numbers(kind: str, numbers: bytes) -> tuple[Any, ...]:
    return struct.unpack(f">{len(numbers) // 8}{kind}", numbers)


_MACHINES = """
    select result.id, sha, subject, machine
    from result
      join commit on commit.id = result.commit_id
      left join run on run.id = run_id
      left join upload on upload.id = upload_id
      join environment on environment.id = coalesce(run.environment_id, upload.environment_id)
    where result.id = any(%(arrived)s)
"""


_SECONDS = ", ".join(
    f"string_agg(float8send(coalesce((probes -> '{probe}' -> 'seconds')::float8, 0)), '')" for probe in PROBES
)

# One row for each version and backend: bytes of PostgreSQL's own binary protocol.
_CONTROL = f"""
    select string_agg(int8send(run_id), ''), {_SECONDS}
    from control
    where run_id = any(%(runs)s) and moment = 'start' and not unavailable ? 'disturbed'
    group by version, backend
    order by version, backend
"""  # noqa: S608  # nothing of it is anybody's but ours

_VOID = """
    with spoilt as materialized (
      select result_id, cardinality(void) as n_void, cardinality("values") as n_values,
        row_number() over (order by result_id desc) as nth
      from sample where result_id = any(%(results)s) and void <> '{}')
    select result_id, n_void, n_values,
      case when nth <= %(reasons)s then array(
        select distinct split_part(void_reason, ':', 1) as reason
        from result join invocation on invocation.run_id = result.run_id and invocation.arm = result.arm
        where result.id = result_id and invocation.void and void_reason is not null
        order by reason)
      end
    from spoilt
"""

# Whose history an arm extends is as `services.publish` has it. A job stands after the point of its commit's parent, or
# else after the last result of the runs before its own.
_FAILED = """
    with suites as (
      select array_agg(distinct suite) as names
      from run join job on job.id = run.job_id where run.id = any(%(runs)s)
    ), recent as materialized (
      select request_id from "check" where project_id = %(project)s order by id desc limit %(checks)s
    ), fruitless as (
      select distinct on (arm.commit_id) job.id, job.suite, job.state, job.reason, arm.name as arm, arm.commit_id
      from recent
        join request_job using (request_id)
        join job on job.id = request_job.job_id
        cross join lateral (values
          ('head', head_commit_id, coalesce(policy ->> 'history', policy ->> 'branch')),
          ('base', base_commit_id,
            coalesce(policy ->> 'history', policy ->> 'branch', policy ->> 'base_branch', %(own_branch)s))
        ) as arm (name, commit_id, branch)
      where job.device_class = %(device_class)s and not job.is_untrusted
        and job.state in ('succeeded', 'failed', 'expired', 'no_capacity')
        and arm.branch = %(its_branch)s
        and not exists (
          select from result
          where result.series_id = %(series)s and result.commit_id = arm.commit_id
            and result.branch = %(its_branch)s)
      order by arm.commit_id, job.id desc
    )
    select commit.sha, commit.subject, its.id, verdict.verdict, coalesce(verdict.reason, fruitless.reason),
      coalesce(
        (select max(result.id)
         from commit as parent join result on result.commit_id = parent.id
         where parent.project_id = commit.project_id and parent.sha = commit.parent_sha
           and result.series_id = %(series)s and result.branch = %(its_branch)s),
        (select result.id from result
         where result.run_id < coalesce(
           its.id, (select id from run where job_id < fruitless.id order by job_id desc, id desc limit 1))
         order by result.run_id desc, result.id desc limit 1))
    from fruitless
      join commit on commit.id = fruitless.commit_id
      left join lateral (
        select id, n_gating from run where job_id = fruitless.id order by id desc limit 1) as its on true
      left join verdict
        on verdict.run_id = its.id and verdict.case_id = %(case)s and verdict.metric = %(metric)s
    where case
      when verdict.id is not null then verdict.series_version = %(version)s
        and (fruitless.arm, coalesce(verdict.verdict, '')) not in (('base', 'new'), ('head', 'removed'))
      else its.n_gating is null and fruitless.state <> 'succeeded'
        and fruitless.suite = any((select names from suites)::text[])
      end
    order by fruitless.id desc
    limit %(most)s
"""

# Whose settings count is as `jobs.newest_landed` has it.
_BUDGETS = """
    select policy -> 'budgets'
    from unnest(%(runs)s::bigint[]) with ordinality as newest (run_id, nth)
      join run on run.id = newest.run_id
      join job on job.id = run.job_id
    where not is_untrusted and not policy ? 'history' and policy ? 'budgets'
      and exists (
        select from result join run as other on other.id = result.run_id
        where result.series_id = %(series)s and result.branch = %(its_branch)s
          and result.commit_id = job.head_commit_id and other.job_id <> job.id)
    order by nth limit 1
"""
