"""What holds each case back on each device class by the end of a week, and what to try next.

Told from the newest stored numbers of the project's branch, all of one commit: metrics of another commit are of another
program. Where our own agents measured them, what the run's timings tell of the devices is added. Numbers of commits
older than `RECENT` before the week's end say nothing of this week.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.accelerators.model import dtype_name
from app.analysis.efficiency.advice import advice
from app.domain.week import Week
from app.domain.weekly_bottlenecks import CaseBottleneck
from app.services.derive_values import figures_of_device
from app.services.query_runs import name_of_run
from app.services.read_efficiency import ACTIVE, SHARES, WATCHED, arm_efficiency
from app.services.weekly.scope import Scope
from app.store.repositories import runs, weekly_newest
from app.store.repositories.runs import CaseWork
from app.store.repositories.sides import StoredNumber
from app.store.repositories.weekly_newest import MeasuredRun, NewestNumber
from workers.protocol import params_key

METRICS = (*SHARES, *ACTIVE)
"""Metrics that are signs of what holds a case back."""

RECENT = timedelta(weeks=5)
"""A number of an older commit, counted from the week's end, is none of the week."""

RUNS = 60
"""Runs whose timings are read, the newest; cases of others are told by their stored numbers alone."""

INVOCATIONS = 8
"""Of each arm of such a run so many of its last invocations are read."""


def bottlenecks_week(session: Session, scope: Scope, week: Week) -> tuple[CaseBottleneck, ...]:
    """Return the cases that have such numbers, by project and name, in three statements."""
    found = weekly_newest.newest(
        session, scope.project_ids, METRICS, since=week.end - RECENT, before=week.end
    )
    cases = [_newest_commit(its) for its in _by_case(found)]
    run_ids = sorted({one.number.run_id for its in cases for one in its if one.number.run_id}, reverse=True)[
        :RUNS
    ]
    works = runs.works_of(session, run_ids, most=INVOCATIONS) if run_ids else {}
    measured = weekly_newest.measured_runs(session, run_ids) if run_ids else {}
    classes = {one.number.run_id: one.number.device_class for its in cases for one in its}
    of_runs = {
        run_id: _Run(run.base_sha, works.get(run_id, ()), _peaks(run, classes[run_id]))
        for run_id, run in measured.items()
    }
    return tuple(_case(its, of_runs) for its in cases)


@dataclass(frozen=True)
class _Run:
    """A run of ours that was read: the commit of its arm base, what it worked off, and peaks of its device [FLOP/s]."""

    base_sha: str | None
    works: Sequence[CaseWork]
    peaks: Mapping[str, float]

    def work_of(self, its: StoredNumber) -> CaseWork | None:
        """Return what the arm that a number is of did of its case."""
        wanted = its.benchmark, params_key(its.params), "base" if self.base_sha == its.sha else "head"
        same = (one for one in self.works if (one.benchmark, one.params_key, one.arm) == wanted)
        return next(same, None)


def _peaks(run: MeasuredRun, device_class: str) -> dict[str, float]:
    peaks = figures_of_device(device_class, run).peaks()
    return {dtype: given.value for dtype, given in peaks.items() if given.value is not None}


def _by_case(found: Iterable[NewestNumber]) -> list[list[NewestNumber]]:
    cases: dict[tuple[int, str], list[NewestNumber]] = defaultdict(list)
    for one in found:
        cases[one.number.case_id, one.number.device_class].append(one)
    return list(cases.values())


def _newest_commit(numbers: Sequence[NewestNumber]) -> list[NewestNumber]:
    """Return those of the newest commit; of two versions of a benchmark there those of the newer one."""
    newest = max(numbers, key=lambda one: (one.at, one.number.series_id))
    same = newest.number.sha, newest.number.version
    return [one for one in numbers if (one.number.sha, one.number.version) == same]


def _case(numbers: Sequence[NewestNumber], of_runs: Mapping[int, _Run]) -> CaseBottleneck:
    first = numbers[0]
    its = max(numbers, key=lambda one: one.number.run_id or 0).number
    run = of_runs.get(its.run_id or 0)
    work = run.work_of(its) if run else None
    watched = {name: value for name, value in (work.numbers if work else {}).items() if name in WATCHED}
    signs = watched | {one.number.metric: one.number.value for one in numbers}
    efficiency = arm_efficiency(signs)
    told = work.dtype if work else None
    dtype = told and (dtype_name(told) or told)
    return CaseBottleneck(
        project=first.project,
        benchmark=its.benchmark,
        params=its.params,
        device_class=its.device_class,
        commit=its.sha,
        at=first.at,
        run=name_of_run(its.run_id, its.upload_id),
        series={one.number.metric: one.number.series_id for one in numbers},
        dtype=dtype,
        found=efficiency,
        has_timings=work is not None,
        advice=advice(
            (efficiency.bottleneck, *efficiency.also),
            signs,
            dtype=dtype,
            peaks=run.peaks if run else {},
        ),
    )
