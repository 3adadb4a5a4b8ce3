"""What stands, and what is added up: nothing twice, nothing that came back, nothing that nobody measures any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.costs import Costs, Traffic
from app.domain.hardware import Price
from app.domain.week import parse_week
from app.domain.weekly import Changes
from app.services.weekly.changes import read_changes
from app.services.weekly.levels import read_levels
from app.services.weekly.scope import scope_of
from app.store.tables import BenchmarkCase, ChangePoint, Commit, Project, Result, Series

WEEK = parse_week("2026-W47")
COSTS = Costs(
    prices=(Price(2.0, "EUR", "2026-01-31", "*"),), traffic=(Traffic("*", "*", 1e6, "1", "2026-10-01"),)
)
HOUR_EUR = 1e6 * 365.25 / 12 / 3600 * 2.0
"""What a second a call costs a month."""


class World:
    """A project whose series have a point a day, and changes where they are told to."""

    def __init__(self, session: Session, settings: ServiceSettings) -> None:
        """Take a session."""
        self.session, self.settings = session, settings
        self.project = Project(name="acme/vision")
        session.add(self.project)
        session.flush()
        self.days = [WEEK.start + timedelta(days=day - 60, hours=10) for day in range(66)]
        self.commits = [
            Commit(project_id=self.project.id, sha=f"{n:040x}", position=n, authored_at=day)
            for n, day in enumerate(self.days)
        ]
        session.add_all(self.commits)
        session.flush()
        self.cases: dict[str, BenchmarkCase] = {}

    def series(self, benchmark: str, metric: str, levels: dict[int, float], *, until: int = 66) -> Series:
        """Store a series with these levels [s], each from a day on, and a confirmed change at each but the first."""
        case = self.cases.get(benchmark)
        if case is None:
            case = BenchmarkCase(project_id=self.project.id, benchmark=benchmark, params={}, params_key="{}")
            self.session.add(case)
            self.session.flush()
            self.cases[benchmark] = case
        row = Series(
            project_id=self.project.id,
            case_id=case.id,
            metric=metric,
            unit="s",
            better="lower",
            device_class="gpu",
        )
        self.session.add(row)
        self.session.flush()
        results = []
        for day, commit in enumerate(self.commits[:until]):
            value = levels[max(start for start in levels if start <= day)]
            results.append(
                Result(
                    series_id=row.id,
                    commit_id=commit.id,
                    arm="head",
                    value=value,
                    low=value,
                    high=value,
                    n=5,
                    flags=[],
                    measured_at=datetime.now(UTC),
                    branch="main",
                    place=float(day),
                )
            )
        self.session.add_all(results)
        self.session.flush()
        starts = sorted(levels)
        for before, start in pairwise(starts):
            self._change(row, results[start], start, levels[before], levels[start])
        return row

    def _change(self, row: Series, result: Result, at: int, before: float, after: float) -> None:
        self.session.add(
            ChangePoint(
                project_id=self.project.id,
                series_id=row.id,
                branch="main",
                commit_id=self.commits[at].id,
                previous_commit_id=self.commits[at - 1].id,
                end_commit_id=self.commits[at].id,
                result_id=result.id,
                index=at,
                end_index=at,
                kind="step",
                state="confirmed",
                before=before,
                after=after,
                change=after / before - 1,
                confirmed_at=self.days[at],
            )
        )
        self.session.flush()

    def changes(self) -> Changes:
        """Return what the report tells."""
        scope = scope_of(self.session, None, "acme/vision")
        weeks = read_levels(self.session, scope, WEEK)
        return read_changes(self.session, scope, weeks, {"acme/vision": COSTS}, self.settings)


@pytest.fixture
def world(session: Session, settings: ServiceSettings) -> World:
    return World(session, settings)


def euros(changes: Changes) -> float:
    assert changes.waste_total is not None
    (money,) = changes.waste_total.money
    return money.amount


def test_two_metrics_of_one_work_count_once_though_their_commits_differ(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 30: 0.11})
    world.series("train", "wall_time", {0: 0.10, 31: 0.11})
    found = world.changes()
    assert found.n_waste == 2
    assert euros(found) == pytest.approx(0.01 * HOUR_EUR)


def test_changes_of_one_series_add_up(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 30: 0.11, 40: 0.13})
    assert euros(world.changes()) == pytest.approx(0.03 * HOUR_EUR)


def test_cases_add_up(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 30: 0.11})
    world.series("serve", "latency_p50", {0: 0.20, 30: 0.22})
    found = world.changes()
    assert (found.n_waste, found.waste[0].n_series) == (1, 2), "one commit is one cause"
    assert euros(found) == pytest.approx(0.03 * HOUR_EUR)


def test_what_came_back_by_several_steps_stands_no_more(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 20: 0.12, 30: 0.11, 40: 0.101})
    assert world.changes().n_waste == 0


def test_what_came_back_by_half_stands(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 20: 0.12, 30: 0.11})
    assert world.changes().n_waste == 1


def test_what_nobody_has_measured_for_weeks_stands_no_more(world: World) -> None:
    world.series("old", "latency_p50", {0: 0.10, 20: 0.12}, until=25)
    world.series("lately", "latency_p50", {0: 0.10, 20: 0.12}, until=55)
    (loss,) = world.changes().waste
    assert loss.worst.series.benchmark == "lately"


def test_a_loss_of_the_weeks_last_day_stands_though_the_weeks_level_does_not_show_it(world: World) -> None:
    world.series("train", "latency_p50", {0: 0.10, 65: 0.12})
    found = world.changes()
    assert (found.n_waste, found.n_new) == (1, 1)
