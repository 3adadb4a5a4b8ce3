"""A run's provisional measurements become results: points of series, with their samples apart."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from sqlalchemy.orm import Session

from app.services.announce_results import announce_results
from app.services.voids import is_void
from app.store.repositories import clock, runs
from app.store.repositories import series as series_rows
from app.store.repositories.runs import ArmValue
from app.store.repositories.series import KnownSeries, NewResult, SeriesKey
from app.store.tables import Job, Project, Run
from app.store.tables import Verdict as VerdictRow


def publish_run(session: Session, run: Run) -> int:
    """Extend the series by what the run measured on each arm; return how many results there were.

    What came of a stranger's code extends nothing, base's values neither: it was there when they were measured.
    """
    job = session.get_one(Job, run.job_id)
    if job.is_untrusted:
        run.published_at = clock.now(session)
        return 0
    rows = [row for row, _ in runs.verdict_rows(session, run.id)]
    wanted = {_key(job, row): (row.unit, row.better) for row in rows}
    series = series_rows.ensure(session, run.project_id, wanted)
    samples = _samples(session, run)
    run.published_at = clock.now(session)
    branches = _branches(session, job)
    results = [
        _result(
            job,
            run,
            row,
            series[_key(job, row)].id,
            arm,
            samples[row.case_id, row.metric, arm],
            branches[arm],
        )
        for row in rows
        if _fits(row, series[_key(job, row)])
        for arm in _arms(job)
        if any(not is_void(value) for value in samples[row.case_id, row.metric, arm])
    ]
    series_rows.add_results(session, results)
    if results:
        announce_results(session, run.project_id)
    return len(results)


def _arms(job: Job) -> tuple[str, ...]:
    """Return whose values become results: not those of a base that is of no history."""
    return ("head",) if job.policy.get("base_branch") == "" else ("base", "head")


def _branches(session: Session, job: Job) -> dict[str, str | None]:
    """Return whose history each arm's results extend: a check's head is on no branch yet, its base usually is."""
    own: str | None = job.policy.get("history") or job.policy.get("branch")
    known: str | None = own or job.policy.get("base_branch")
    of_base = session.get_one(Project, job.project_id).branch if known is None else known
    return {"base": of_base or None, "head": own}


def _fits(row: VerdictRow, series: KnownSeries) -> bool:
    """Tell whether values of this plan may extend the series: one that changed its unit begins no mixture."""
    return (row.unit, row.better) == (series.unit, series.better)


def _key(job: Job, row: VerdictRow) -> SeriesKey:
    return SeriesKey(row.case_id, row.metric, job.device_class, row.series_version)


def _samples(session: Session, run: Run) -> dict[tuple[int, str, str], list[ArmValue]]:
    samples: dict[tuple[int, str, str], list[ArmValue]] = defaultdict(list)
    for value in runs.arm_values(session, run.id):
        if value.metric is not None and value.value is not None:
            samples[value.case_id, value.metric, value.arm].append(value)
    return samples


def _result(
    job: Job,
    run: Run,
    row: VerdictRow,
    series_id: int,
    arm: str,
    sample: list[ArmValue],
    branch: str | None,
) -> NewResult:
    values = [v.value for v in sample if v.value is not None]
    valid = [v.value for v in sample if v.value is not None and not is_void(v)]
    commit_id = job.base_commit_id if arm == "base" else job.head_commit_id
    assert commit_id is not None
    assert run.published_at is not None
    return NewResult(
        series_id=series_id,
        commit_id=commit_id,
        run_id=run.id,
        arm=arm,
        value=median(valid),
        low=min(valid),
        high=max(valid),
        values=values,
        void=[i for i, v in enumerate(sample) if is_void(v)],
        flags=list(row.flags),
        measured_at=run.published_at,
        branch=branch,
    )
