"""How well work spreads over devices, by the newest numbers of scaling efficiency at the end of a week and of the last.

Values are of commits: where the branch has none in a week, both numbers are the same.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.week import Week
from app.domain.weekly_scaling import ScalingCase
from app.services.query_runs import name_of_run
from app.services.weekly.bottlenecks import RECENT
from app.services.weekly.scope import Scope
from app.store.repositories import made_on, weekly_newest
from app.store.repositories.sides import StoredNumber

METRIC = "scaling_efficiency"


def scaling_week(session: Session, scope: Scope, week: Week) -> tuple[ScalingCase, ...]:
    """Return the series that have a number of the last weeks, the worst first, in four statements."""
    whose = session, scope.project_ids, [METRIC]
    found = weekly_newest.newest(*whose, since=week.end - RECENT, before=week.end)
    before = weekly_newest.newest(*whose, since=week.start - RECENT, before=week.start)
    last = {one.number.series_id: one.number.value for one in before}
    devices = _devices(session, [one.number for one in found])
    cases = [_case(one.project, one.number, last, devices) for one in found]
    return tuple(sorted(cases, key=lambda case: (case.now, case.series_id)))


def _devices(session: Session, numbers: list[StoredNumber]) -> dict[str, int | None]:
    """Return how many devices each run or upload had, by its name."""
    runs = {one.run_id for one in numbers if one.run_id is not None}
    uploads = {one.upload_id for one in numbers if one.upload_id is not None}
    of_runs = made_on.of_runs(session, runs) if runs else {}
    of_uploads = made_on.of_uploads(session, uploads) if uploads else {}
    return {name_of_run(run, None): its.devices for run, its in of_runs.items()} | {
        name_of_run(None, upload): its.devices for upload, its in of_uploads.items()
    }


def _case(
    project: str, its: StoredNumber, last: dict[int, float], devices: dict[str, int | None]
) -> ScalingCase:
    run = name_of_run(its.run_id, its.upload_id)
    return ScalingCase(
        project=project,
        benchmark=its.benchmark,
        params=its.params,
        device_class=its.device_class,
        series_id=its.series_id,
        now=its.value,
        low=its.low,
        high=its.high,
        last=last.get(its.series_id),
        devices=devices.get(run),
        run=run,
        commit=its.sha,
    )
