"""Schedules of `ratchet.toml`: known from the branch, due once each time, measured since the last time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import select, text

from app.services.forge.schedules import ask_due, find_lost_ticks, last_time, next_time
from app.store.tables import Commit, Schedule, ScheduleTick
from tests.integration.forge.conftest import SETTINGS, World
from tests.integration.forge.test_branch import asked, push
from tests.integration.forge.test_reconciling import reconcile

pytestmark = pytest.mark.postgres

NIGHTLY = SETTINGS.replace("paths =", 'on = ["nightly"]\npaths =')
TOMORROW = datetime.now(UTC) + timedelta(days=1)


def schedules(world: World) -> dict[str, Schedule]:
    with world.service.database.session() as session:
        return {schedule.name: schedule for schedule in session.scalars(select(Schedule))}


def strike(world: World, now: datetime = TOMORROW) -> int:
    """Let the clock strike, and have all done that follows; return how many schedules were due."""
    with world.service.database.session() as session:
        due = ask_due(session, now)
    world.settle()
    return due


def outcomes(world: World) -> list[str | None]:
    """Return what followed each time that a schedule was due, oldest first."""
    with world.service.database.session() as session:
        return list(session.scalars(select(ScheduleTick.outcome).order_by(ScheduleTick.id)))


@pytest.fixture
def nightly(world: World) -> World:
    """A repository whose suite is measured at night, and whose newest commit is known."""
    world.base = world.commit("second", 2, settings=NIGHTLY)
    push(world)
    return world


def test_the_newest_commit_is_measured_when_its_time_has_come(nightly: World) -> None:
    parent = nightly.git("rev-parse", "main~1")
    assert asked(nightly) == []
    assert strike(nightly) == 1
    assert asked(nightly) == [("schedule", parent, nightly.base, 20)]
    assert outcomes(nightly) == [f"{nightly.base[:10]} is measured against {parent[:10]}"]


def test_a_time_that_strikes_twice_is_one_request(nightly: World) -> None:
    assert (strike(nightly), strike(nightly)) == (1, 0)
    with nightly.service.database.session() as session:
        session.execute(text("update schedule set due_at = now()"))
    strike(nightly)
    assert (len(asked(nightly)), len(outcomes(nightly))) == (1, 1)


def test_it_is_measured_since_the_last_time_and_its_line_is_known(nightly: World) -> None:
    strike(nightly)
    middle, last = nightly.commit("third", 3, settings=NIGHTLY), nightly.commit("fourth", 4, settings=NIGHTLY)
    strike(nightly, TOMORROW + timedelta(days=1))
    assert asked(nightly)[-1] == ("schedule", nightly.base, last, 20)
    with nightly.service.database.session() as session:
        parents = dict(map(tuple, session.execute(select(Commit.sha, Commit.parent_sha))))
        assert (parents[last], parents[middle]) == (middle, nightly.base)


def test_where_nothing_is_new_it_says_so(nightly: World) -> None:
    strike(nightly)
    strike(nightly, TOMORROW + timedelta(days=1))
    assert len(asked(nightly)) == 1
    assert outcomes(nightly)[-1] == f"nothing is new since {nightly.base[:10]}, which was measured"


def test_paths_are_looked_at_over_all_since_the_last_time(nightly: World) -> None:
    strike(nightly)
    elsewhere = NIGHTLY.replace('"benchmarks/"]', '"other/"]')
    quiet = nightly.commit("words", 2, settings=elsewhere)
    strike(nightly, TOMORROW + timedelta(days=1))
    assert outcomes(nightly)[-1] == (
        f"nothing under the paths of its suites has changed since {nightly.base[:10]}"
    )
    loud = nightly.commit("code", 3, settings=elsewhere)
    nightly.commit("words", 3, settings=elsewhere, **{"README.md": "words"})
    strike(nightly, TOMORROW + timedelta(days=2))
    assert asked(nightly)[-1][1] == nightly.base, f"neither {quiet} nor {loud} was measured before"


def test_a_service_that_was_away_catches_up_with_the_last_time_only(nightly: World) -> None:
    strike(nightly, datetime(2050, 1, 5, 9, 30, tzinfo=UTC))
    with nightly.service.database.session() as session:
        assert session.scalars(select(ScheduleTick.planned_at)).all() == [
            datetime(2050, 1, 5, 2, 0, tzinfo=UTC)
        ]
    assert schedules(nightly)["nightly"].due_at == datetime(2050, 1, 6, 2, 0, tzinfo=UTC)


def test_a_time_that_waits_while_the_next_one_comes_is_not_measured_twice(nightly: World) -> None:
    for days in (0, 1):
        with nightly.service.database.session() as session:
            ask_due(session, TOMORROW + timedelta(days=days))
    nightly.settle()
    assert len(asked(nightly)) == 1
    assert outcomes(nightly)[0] == "it was due again before this could be looked at"


def test_a_schedule_is_moved_by_the_settings(nightly: World) -> None:
    moved = NIGHTLY + '[[schedule]]\nname = "nightly"\ncron = "30 4 * * *"\n'
    nightly.commit("later at night", 2, settings=moved)
    push(nightly)
    due = schedules(nightly)["nightly"].due_at
    assert due is not None
    assert (due.hour, due.minute) == (4, 30)


def test_a_schedule_that_is_gone_is_due_no_more_and_remembers_when_it_comes_back(nightly: World) -> None:
    strike(nightly)
    nightly.commit("not at night", 2)
    push(nightly)
    assert schedules(nightly)["nightly"].due_at is None
    assert strike(nightly, TOMORROW + timedelta(days=1)) == 0
    nightly.commit("at night again", 3, settings=NIGHTLY)
    push(nightly)
    strike(nightly, TOMORROW + timedelta(days=2))
    assert asked(nightly)[-1][:2] == ("schedule", nightly.base)


@pytest.mark.parametrize(
    ("its_settings", "says"),
    [
        (SETTINGS, "have no schedule 'nightly'"),
        (NIGHTLY + '[[schedule]]\nname = "nightly"\ncron = "30 4 * * *"\n', "have it at '30 4 * * *'"),
        ("[project]\nname = 5\n", "ratchet.toml:2"),
    ],
)
def test_settings_that_nobody_told_of_are_found_when_it_is_due(
    nightly: World, its_settings: str, says: str
) -> None:
    nightly.commit("nobody told of this", 3, settings=its_settings)
    strike(nightly)
    assert asked(nightly) == []
    assert says in str(outcomes(nightly)[0])


def test_refused_settings_leave_the_schedules_as_they_were(nightly: World) -> None:
    nightly.commit("a mistake", 3, settings="[project]\nname = 5\n")
    push(nightly)
    assert schedules(nightly)["nightly"].due_at is not None


def test_a_task_that_died_is_found(nightly: World) -> None:
    with nightly.service.database.session() as session:
        ask_due(session, TOMORROW)
        session.execute(text("update outbox set sent_at = clock_timestamp() where sent_at is null"))
    with nightly.service.database.session() as session:
        assert find_lost_ticks(session, older_than=timedelta(0)) == 1
    nightly.settle()
    assert len(asked(nightly)) == 1


def test_a_line_that_push_and_schedule_both_tell_is_one_history(world: World) -> None:
    both = SETTINGS.replace("paths =", 'on = ["push", "nightly"]\npaths =')
    world.base = world.commit("second", 2, settings=both)
    push(world)
    strike(world)
    head = world.commit("third", 3, settings=both)
    push(world)
    strike(world, TOMORROW + timedelta(days=1))
    assert [job[0] for job in asked(world)] == ["push", "schedule", "push", "schedule"]
    with world.service.database.session() as session:
        told = session.execute(select(Commit.sha, Commit.parent_sha, Commit.branch).order_by(Commit.id))
        assert [tuple(row) for row in told][1:] == [
            (world.base, world.git("rev-parse", f"{world.base}~1"), "main"),
            (head, world.base, "main"),
        ]


def test_reconciliation_finds_schedules_and_a_push_that_nobody_told_of(world: World) -> None:
    world.push(1, "a change")
    world.happens(1, "opened")
    both = SETTINGS.replace("paths =", 'on = ["push", "nightly"]\npaths =')
    head = world.commit("second", 2, settings=both)
    reconcile(world)
    assert schedules(world)["nightly"].due_at is not None
    assert asked(world)[-1][::2] == ("push", head)


def test_it_is_to_be_seen_what_followed(nightly: World, admin_token: str) -> None:
    def told() -> list[dict[str, object]]:
        headers = {"Authorization": f"Bearer {admin_token}"}
        answer = nightly.client.get("/api/v1/projects/acme/vision/schedules", headers=headers)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["schedules"])

    (before,) = told()
    assert (before["name"], before["last_at"], before["outcome"]) == ("nightly", None, None)
    strike(nightly)
    strike(nightly, TOMORROW + timedelta(days=1))
    (after,) = told()
    assert str(after["outcome"]).startswith("nothing is new since")
    nightly.commit("not at night", 2)
    push(nightly)
    assert told() == []


@pytest.mark.parametrize(
    ("cron", "now", "last", "following"),
    [
        ("0 2 * * *", "2026-11-22T02:00:00", "2026-11-22T02:00:00", "2026-11-23T02:00:00"),
        ("0 2 * * *", "2026-11-22T01:59:59.5", "2026-11-21T02:00:00", "2026-11-22T02:00:00"),
        ("0 3 * * SUN", "2026-11-25T00:00:00", "2026-11-22T03:00:00", "2026-11-29T03:00:00"),
        ("0 0 29 2 *", "2026-11-25T00:00:00", "2024-02-29T00:00:00", "2028-02-29T00:00:00"),
    ],
)
def test_the_times_of_a_schedule_are_utc_and_the_present_counts(
    cron: str, now: str, last: str, following: str
) -> None:
    at = datetime.fromisoformat(f"{now}+00:00").astimezone(timezone(timedelta(hours=9)))
    assert last_time(cron, at).isoformat() == f"{last}+00:00"
    assert next_time(cron, at).isoformat() == f"{following}+00:00"
