"""The weekly report, put together of its sections."""

from __future__ import annotations

from functools import reduce

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.costs import Costs
from app.domain.device_use import Told
from app.domain.week import Week
from app.domain.weekly import Coverage
from app.domain.weekly_report import WeeklyReport
from app.services.costs import costs_of, installation_costs
from app.services.weekly.alerts import alerts_week
from app.services.weekly.bottlenecks import bottlenecks_week
from app.services.weekly.changes import read_changes
from app.services.weekly.efficiency import read_efficiency_of
from app.services.weekly.fleet import fleet_week
from app.services.weekly.hardware import hardware_week
from app.services.weekly.levels import Weeks, read_levels
from app.services.weekly.scaling import scaling_week
from app.services.weekly.scope import Scope
from app.store.repositories import clock, weekly


def read_weekly(
    session: Session, scope: Scope, week: Week, settings: ServiceSettings, told: Told | None = None
) -> WeeklyReport:
    """Return a week's report, as things stand just now: what was said of a change since counts.

    Args:
        session: the session.
        scope: the projects that it is of.
        week: the week; one that has not ended is told as far as it is known.
        settings: of the service.
        told: what was told of the GPUs outside of leases, as `watch.look` returns it.

    Raises UsageError, SettingsError where the installation's file of costs cannot be read.
    """
    installation = installation_costs(settings)
    costs = {project.name: costs_of(session, project, installation) for project in scope.projects}
    of_fleet = reduce(Costs.or_else, costs.values(), installation) if scope.is_whole else costs[scope.name]
    weeks = read_levels(session, scope, week)
    return WeeklyReport(
        project=scope.name,
        week=week,
        made_at=clock.now(session),
        coverage=_coverage(session, scope, weeks),
        changes=read_changes(session, scope, weeks, costs, settings),
        efficiency=read_efficiency_of(session, scope, weeks),
        bottlenecks=bottlenecks_week(session, scope, week),
        hardware=hardware_week(session, scope, week, installation),
        scaling=scaling_week(session, scope, week),
        fleet=fleet_week(session, scope, week, of_fleet, live_for=settings.worker_live_for, told=told),
        alerts=alerts_week(session, scope, week),
    )


def _coverage(session: Session, scope: Scope, weeks: Weeks) -> Coverage:
    ids = scope.project_ids
    return Coverage(
        n_series=weekly.count_series(session, ids),
        n_measured=len(weeks.levels),
        n_points=sum(level.n for level in weeks.levels.values()),
        n_commits=weekly.commits_of(session, ids, weeks.week).n,
        checks=tuple(weekly.checks_by_conclusion(session, ids, weeks.week)),
    )
