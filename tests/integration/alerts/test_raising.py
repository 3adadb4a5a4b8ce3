"""What raises alerts, what one alert is, and how it settles by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.domain.notices import Acceptance
from app.store.repositories import origins
from app.store.tables import ChangePoint, Origin, Result
from tests.factories import results
from tests.factories.histories import noisy, sha, stepped
from tests.integration.alerts.conftest import Team

pytestmark = pytest.mark.postgres


def test_changes_of_one_commit_are_one_alert_and_those_of_another_are_not(team: Team) -> None:
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    team.grow("crop", stepped(60, 30, 0.5, seed=2), params={"batch": 8})
    team.grow("decode", stepped(60, 40, 0.3, seed=3))
    team.grow("steady", noisy(60, seed=4))
    team.grow("faster", stepped(60, 30, -0.3, seed=5))
    later, first = team.raised()
    assert [(c["benchmark"], round(c["change"], 1)) for c in first["changes"]] == [
        ("crop", 0.5),
        ("resize", 0.2),
    ]
    assert (first["commit"]["sha"], first["previous"], first["n_changes"]) == (sha(30), sha(29), 2)
    assert (first["state"], first["owner"], first["branch"]) == ("new", None, "main")
    assert [c["benchmark"] for c in later["changes"]] == ["decode"]
    team.sweep()
    assert len(team.alerts(state="all")) == 2, "each change is told once"
    whole = team.get(f"alerts/{first['id']}")
    assert [(deed["by"], deed["what"]) for deed in whole["history"]] == [
        ("ratchet", "opened"),
        ("ratchet", "joined"),
    ]


def test_what_was_measured_long_ago_and_brought_along_raises_nothing(team: Team) -> None:
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    with team.service.database.session() as session:
        session.execute(update(Result).values(measured_at=datetime.now(UTC) - timedelta(days=100)))
    assert team.raised(state="all") == []
    assert [change["worse"] for change in team.series["resize"].changes()] == [True]


def test_what_is_mended_is_fixed_and_what_comes_back_is_opened_again(team: Team) -> None:
    worse = stepped(90, 30, 0.3, seed=1)
    team.grow("resize", worse[:60])
    (alert,) = team.raised()
    team.grow("resize", [*worse[:60], *noisy(30, seed=7)])
    assert team.raised() == []
    fixed = team.get(f"alerts/{alert['id']}")
    assert fixed["state"] == "fixed"
    assert fixed["history"][-1]["comment"] == f"mended by {sha(60)[:10]}"
    team.grow("resize", [*worse[:60], *noisy(30, seed=7), *noisy(30, level=13, seed=8)])
    (back,) = team.raised()
    assert (back["id"], back["state"], back["commit"]["sha"]) == (alert["id"], "new", sha(90))
    assert [deed["what"] for deed in team.get(f"alerts/{alert['id']}")["history"]][-2:] == [
        "joined",
        "reopened",
    ]
    assert team.raised() == [back], "the first change is mended, the second is not"


def test_failed_checks_of_a_pull_request_are_one_alert_until_one_passes(team: Team) -> None:
    first = team.check()
    team.pull(first)
    (alert,) = team.raised()
    assert (alert["pull_request"], alert["pull_request_url"]) == (
        12,
        "https://github.com/acme/vision/pull/12",
    )
    assert [check["id"] for check in alert["checks"]] == [first]
    second = team.check()
    team.pull(second)
    (same,) = team.raised()
    assert (same["id"], same["n_checks"]) == (alert["id"], 2)
    team.pull(team.check(results.passed()))
    assert team.raised() == []
    assert team.get(f"alerts/{alert['id']}")["state"] == "fixed"
    team.pull(team.check())
    (again,) = team.raised()
    assert (again["id"], again["state"], again["n_checks"]) == (alert["id"], "new", 3)
    team.pull(second, state="closed")
    assert team.raised() == []
    told = team.get(f"alerts/{alert['id']}")["history"][-1]
    assert (told["to"], told["comment"]) == ("fixed", "closed without being merged")


def test_only_what_nobody_asked_for_by_hand_raises_an_alert(team: Team) -> None:
    team.check(trigger="manual")
    team.check(results.passed(), trigger="schedule")
    superseded = team.check()
    team.pull(superseded)
    team.pull(team.check(results.passed()))
    assert team.raised() == []
    nightly = team.check(trigger="schedule")
    (alert,) = team.raised()
    assert [check["id"] for check in alert["checks"]] == [nightly]


def test_what_is_accepted_on_the_pull_request_is_accepted_and_what_is_taken_back_was_noise(
    team: Team,
) -> None:
    team.grow("resize", stepped(40, 20, 0.2, seed=1))
    team.grow("crop", stepped(40, 30, 0.3, seed=2))
    crop, resize = team.raised()
    with team.service.database.session() as session:
        told = Acceptance("ann", "wanted: exact", datetime.now(UTC), 12)
        origins.accept(session, resize["changes"][0]["id"], None, told)
        change = session.get_one(ChangePoint, crop["changes"][0]["id"])
        change.state, change.closed_at, change.reason = "corrected", datetime.now(UTC), "it is a spike"
    assert team.raised() == []
    accepted, noise = (team.get(f"alerts/{alert['id']}") for alert in (resize, crop))
    assert (accepted["state"], accepted["history"][-1]["by"]) == ("accepted", "ann")
    assert accepted["changes"][0]["accepted_by"] == "ann"
    assert (noise["state"], noise["changes"][0]["stands"], noise["n_changes"]) == ("noise", False, 0)
    assert [(deed["what"], deed.get("comment")) for deed in noise["history"][1:]] == [
        ("left", "it is a spike"),
        ("moved", "all that it told of was taken back"),
    ]


def test_a_further_change_opens_what_the_service_had_closed(team: Team) -> None:
    team.grow("resize", stepped(40, 20, 0.2, seed=1))
    (alert,) = team.raised()
    with team.service.database.session() as session:
        change = session.get_one(ChangePoint, alert["changes"][0]["id"])
        change.state, change.closed_at = "corrected", datetime.now(UTC)
    assert team.raised() == []
    team.grow("crop", stepped(40, 20, 0.5, seed=2))
    (again,) = team.raised()
    assert (again["id"], again["state"], again["n_changes"]) == (alert["id"], "new", 1)
    assert team.get(f"alerts/{alert['id']}")["history"][-1]["what"] == "reopened"


def test_a_change_is_waited_for_whose_pull_request_is_not_known_yet(team: Team) -> None:
    team.pull(team.check())
    (alert,) = team.raised()
    team.grow("resize", stepped(40, 20, 0.2, seed=1))
    assert team.raised() == [alert]
    with team.service.database.session() as session:
        change_id = session.scalars(select(ChangePoint.id)).one()
        its = {"repository_id": 1, "number": 12, "commits": [], "n_commits": 1, "shown": "confirmed"}
        session.add(Origin(change_point_id=change_id, **its))
    (same,) = team.raised()
    assert (same["id"], same["n_changes"], same["n_checks"]) == (alert["id"], 1, 1)
