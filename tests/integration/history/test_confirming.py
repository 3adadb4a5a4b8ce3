"""A suspicion asks our own agents to measure, once, and what they say settles it."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.confirm_change import BAND, TRIES, TRIGGER
from app.store.repositories import changes
from app.store.tables import ChangePoint, Commit, Job, Request, Result, Worker
from app.tasks import sweeping
from app.tasks.sweeping import sweep_suspicions
from tests.factories.histories import PROJECT, deliver, sha
from tests.integration.history.conftest import Branch, Grown

pytestmark = pytest.mark.postgres

LEVEL = 0.010
SLOWER = 1.06 * LEVEL


def grow(branch: Branch) -> None:
    """Let a branch have twelve quick commits, and slower ones until it is suspected."""
    draw = random.Random(1)
    branch.check_all([LEVEL * (1 + draw.gauss(0, 0.004)) for _ in range(12)])
    for commit in range(12, 16):
        branch.check(commit, SLOWER)
        if branch.poster.changes():
            return
    raise AssertionError("nothing is suspected")


@pytest.fixture
def suspected(branch: Branch, grown: Grown) -> Branch:
    """A branch of twelve quick commits and slower ones from commit 12 on, which is suspected just now."""
    return grown(branch, grow)


def change_of(branch: Branch) -> dict[str, Any]:
    (change,) = branch.poster.changes("all")
    return change


def test_suspicion_becomes_a_paired_job_of_the_commit_before_and_the_suspected_one(suspected: Branch):
    change = change_of(suspected)
    assert (change["state"], change["commit"], change["previous"]) == ("suspected", sha(12), sha(11))
    assert change["measurement"]["state"] == "queued"
    lease = suspected.agent.claim()
    assert lease is not None
    assert (lease.job.job_id, lease.job.base_sha, lease.job.head_sha) == (
        change["measurement"]["job"],
        sha(11),
        sha(12),
    )
    with suspected.poster.service.database.session() as session:
        job = session.get_one(Job, lease.job.job_id)
        triggers = session.scalars(select(Request.trigger).where(Request.trigger == TRIGGER)).all()
        assert (job.band, job.policy["gate"], len(triggers)) == (BAND, ["latency_p50"], 1)
    assert suspected.poster.wanted() == [], "nobody else is asked for what our own agents measure"


def test_pull_requests_are_measured_before_suspicions(suspected: Branch):
    suspected.check(11, LEVEL)
    assert suspected.agent.claim() is not None
    assert suspected.agent.lease is not None
    assert suspected.agent.lease.job.head_sha == sha(12)


def test_measured_regression_confirms_the_suspicion(suspected: Branch):
    suspected.agent.claim()
    suspected.measure(LEVEL, SLOWER)
    deliver(suspected.poster.service)
    change = change_of(suspected)
    assert (change["state"], change["commit"], change["worse"]) == ("confirmed", sha(12), True)
    assert change["reason"] == "measured in pairs: regressed"


def test_both_arms_of_the_measurement_become_points_of_the_history(suspected: Branch):
    before = suspected.poster.get(f"series/{suspected.poster.series}/points")["points"]
    suspected.agent.claim()
    suspected.measure(LEVEL, SLOWER)
    deliver(suspected.poster.service)
    with suspected.poster.service.database.session() as session:
        query = "select branch, place is not null from result order by id desc limit 2"
        assert [tuple(row) for row in session.execute(text(query))] == [("main", True)] * 2
        heads = "select count(*) from result where arm = 'head' and branch is null"
        assert session.scalar(text(heads)) == len(before) // 2, "heads of checks are on no branch"


def test_measured_equality_withdraws_the_suspicion_for_good(branch: Branch):
    branch.blocks = 24  # as many as it takes
    grow(branch)
    branch.agent.claim()
    branch.measure(LEVEL, LEVEL)
    deliver(branch.poster.service)
    change = change_of(branch)
    assert (change["state"], change["reason"]) == ("withdrawn", "measured in pairs: no change")
    branch.check_all([SLOWER] * 5, first=16)
    of_commit = [c for c in branch.poster.changes("all") if c["commit"] == sha(12)]
    assert [(c["id"], c["state"]) for c in of_commit] == [(change["id"], "withdrawn")]


def fail(branch: Branch) -> None:
    """Have the measurement that is asked for fail, and the sweep look at it."""
    assert branch.agent.claim() is not None
    branch.agent.finish("infra_failed", retryable=False, reason="disk_full")
    sweep_suspicions(branch.poster.service)


def wait(branch: Branch) -> None:
    """Let so much time pass that the sweep looks at suspicions that nothing was asked for."""
    with branch.poster.service.database.session() as session:
        session.execute(update(ChangePoint).values(examined_at=ChangePoint.examined_at - timedelta(hours=1)))
    sweep_suspicions(branch.poster.service)


def test_failed_measurement_is_no_answer_and_then_somebody_else_may_measure(suspected: Branch):
    fail(suspected)
    change = change_of(suspected)
    assert (change["state"], change["reason"]) == (
        "suspected",
        "measured in pairs without an answer: disk_full",
    )
    assert {wanted["commit"] for wanted in suspected.poster.wanted()} == {sha(11), sha(12)}


def test_measurement_that_never_came_about_is_asked_for_again_and_settles(suspected: Branch):
    fail(suspected)
    wait(suspected)
    assert suspected.poster.wanted() == []
    suspected.agent.claim()
    suspected.measure(LEVEL, SLOWER)
    sweep_suspicions(suspected.poster.service)
    assert change_of(suspected)["reason"] == "measured in pairs: regressed"


def test_measurement_that_fails_each_time_is_given_up(suspected: Branch):
    for _ in range(TRIES):
        fail(suspected)
        wait(suspected)
    assert suspected.agent.claim() is None
    assert change_of(suspected)["state"] == "suspected"
    assert {wanted["commit"] for wanted in suspected.poster.wanted()} == {sha(11), sha(12)}


def move(branch: Branch, commit: int) -> None:
    """Have the suspicion be about another commit, and the one before it."""
    with branch.poster.service.database.session() as session:
        ids = {row.sha: row.id for row in session.scalars(select(Commit))}
        session.execute(
            update(ChangePoint).values(
                commit_id=ids[sha(commit)], previous_commit_id=ids[sha(commit - 1)], index=commit
            )
        )


def test_measurement_of_other_commits_settles_no_suspicion_that_has_moved(suspected: Branch):
    suspected.agent.claim()
    move(suspected, 11)
    suspected.measure(LEVEL, LEVEL)
    sweep_suspicions(suspected.poster.service)
    change = change_of(suspected)
    assert (change["state"], change["reason"], change["measurement"]) == ("suspected", None, None)
    wait(suspected)
    lease = suspected.agent.claim()
    assert lease is not None
    assert (lease.job.base_sha, lease.job.head_sha) == (sha(10), sha(11))


def test_request_is_shared_with_a_suspicion_of_the_commits_that_its_job_measures(suspected: Branch):
    """The first suspicion has moved after it asked: what it asked for is about the commits of the second one."""
    with suspected.poster.service.database.session() as session:
        first = session.scalars(select(ChangePoint)).one()
        second = {
            column.name: getattr(first, column.name)
            for column in ChangePoint.__table__.columns
            if column.name not in ("id", "request_id")
        }
        asked = first.request_id
    move(suspected, 11)
    with suspected.poster.service.database.session() as session:
        moved = session.scalars(select(ChangePoint)).one()
        there = ChangePoint(**second)
        other = ChangePoint(
            **second | {"commit_id": moved.commit_id, "previous_commit_id": moved.previous_commit_id}
        )
        session.add_all([there, other])
        session.flush()
        assert changes.asked_before(session, there) == asked
        assert changes.asked_before(session, other) is None


def test_settings_and_source_are_those_of_a_head_that_has_landed(branch: Branch):
    """However many heads were measured since that nobody has merged, and whatever they ask for."""
    branch.check(0, LEVEL)
    branch.landed, branch.source = None, {"kind": "git", "location": "/repositories/fork-of-vision"}
    with branch.poster.service.database.session() as session:
        landed = session.scalars(select(Job)).one()
        session.execute(text("alter table job disable trigger job_transition"))
        landed.spec = landed.spec | {"suite": landed.spec["suite"] | {"env": {"LANDED": "1"}}}
        session.flush()
        session.execute(text("alter table job enable trigger job_transition"))
    grow(branch)
    lease = branch.agent.claim()
    assert lease is not None
    assert (lease.job.base_sha, lease.job.head_sha) == (sha(11), sha(12))
    assert lease.job.suite.env == {"LANDED": "1"}
    assert lease.job.source.location == "/repositories/vision"


def test_nothing_is_measured_with_settings_that_nobody_has_merged(branch: Branch):
    branch.landed = None
    grow(branch)
    sweep_suspicions(branch.poster.service)
    assert branch.agent.claim() is None
    assert {wanted["commit"] for wanted in branch.poster.wanted()} == {sha(11), sha(12)}


def test_head_that_only_a_post_says_to_be_on_the_branch_has_not_landed(branch: Branch):
    branch.landed = None
    branch.check(0, LEVEL)
    with branch.poster.service.database.session() as session:
        base = session.scalars(select(Result).where(Result.arm == "base")).one()
        head = session.scalars(select(Job.head_commit_id)).one()
        posted = {c.name: getattr(base, c.name) for c in Result.__table__.columns}
        session.add(Result(**posted | {"id": None, "run_id": None, "commit_id": head, "place": None}))
    grow(branch)
    assert branch.agent.claim() is None


def test_head_that_was_checked_against_itself_has_not_landed(branch: Branch):
    branch.landed = None
    grow(branch)
    with branch.poster.service.database.session() as session:
        session.execute(text("alter table job disable trigger job_transition"))
        session.execute(update(Job).values(base_commit_id=Job.head_commit_id))
        session.execute(
            text(
                "update result set commit_id = job.head_commit_id from run join job on job.id = run.job_id"
                " where run.id = result.run_id and place = 1"
            )
        )
        session.execute(text("alter table job enable trigger job_transition"))
    wait(branch)
    assert branch.agent.claim() is None


def test_suspicion_of_a_commit_that_has_the_same_confirmed_change_is_withdrawn(suspected: Branch):
    with suspected.poster.service.database.session() as session:
        row = session.scalars(select(ChangePoint)).one()
        skipped = ("id", "request_id", "state")
        values = {
            c.name: getattr(row, c.name) for c in ChangePoint.__table__.columns if c.name not in skipped
        }
        session.add(ChangePoint(**values, state="confirmed"))
    suspected.agent.claim()
    suspected.measure(LEVEL, SLOWER)
    sweep_suspicions(suspected.poster.service)
    states = {change["id"]: change["state"] for change in suspected.poster.changes("all")}
    assert states == {1: "withdrawn", 2: "confirmed"}


def test_suspicion_that_cannot_be_looked_at_keeps_no_other_from_it(
    suspected: Branch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    seen = []

    def broken(session: Session, settings: ServiceSettings, change_id: int) -> None:
        seen.append(change_id)
        if change_id == 1:
            raise RuntimeError("out of order")

    monkeypatch.setattr(sweeping, "find_stale_suspicions", lambda *_: [1, 2])
    monkeypatch.setattr(sweeping, "sweep_suspicion", broken)
    sweep_suspicions(suspected.poster.service)
    assert seen == [1, 2]
    assert "change 1 could not be looked at" in caplog.text


def test_wanted_goes_on_where_it_was_cut_and_counts_only_what_is_wanted(suspected: Branch):
    """Of five suspicions the newest is being measured."""
    with suspected.poster.service.database.session() as session:
        row = session.scalars(select(ChangePoint)).one()
        skipped = ("id", "request_id")
        values = {
            c.name: getattr(row, c.name) for c in ChangePoint.__table__.columns if c.name not in skipped
        }
        session.add_all(ChangePoint(**values) for _ in range(4))
        session.flush()
        asked, row.request_id = row.request_id, None
        session.get_one(ChangePoint, 5).request_id = asked
    pages, before = [], {}
    while not pages or pages[-1]["more"]:
        pages.append(suspected.poster.get("wanted", project=PROJECT, limit=2, **before))
        before = {"before": pages[-1]["wanted"][-1]["change"]}
    assert [[entry["change"] for entry in page["wanted"][::2]] for page in pages] == [[4, 3], [2, 1]]


def test_without_a_live_agent_a_measurement_is_wanted_until_there_is_one(branch: Branch):
    service = branch.poster.service
    service.settings.confirmations_most = 0
    grow(branch)
    assert branch.jobs() == [], "the cap is none at all"
    assert {wanted["commit"] for wanted in branch.poster.wanted()} == {sha(11), sha(12)}
    service.settings.confirmations_most = 1
    with service.database.session() as session:
        session.execute(update(ChangePoint).values(examined_at=ChangePoint.examined_at - timedelta(hours=1)))
        session.execute(update(Worker).values(last_seen_at=Worker.last_seen_at - timedelta(hours=1)))
    sweep_suspicions(service)
    assert branch.jobs() == [], "no agent is live"
    with service.database.session() as session:
        session.execute(update(ChangePoint).values(examined_at=ChangePoint.examined_at - timedelta(hours=1)))
        session.execute(update(Worker).values(last_seen_at=Worker.last_seen_at + timedelta(hours=1)))
    sweep_suspicions(service)
    assert [job["state"] for job in branch.jobs()] == ["queued"]
    assert branch.poster.wanted() == []


def test_bundle_without_both_commits_cannot_be_measured(branch: Branch):
    bundles: Path = branch.poster.service.settings.data_dir / "bundles"
    bundles.mkdir(parents=True)
    digest = "ab" * 32
    (bundles / digest).write_bytes(b"# v2 git bundle\n")
    branch.source = {"kind": "bundle", "location": digest}
    grow(branch)
    assert branch.jobs() == []
    assert {wanted["commit"] for wanted in branch.poster.wanted()} == {sha(11), sha(12)}


def test_suspicion_that_nothing_settles_is_withdrawn_in_time(suspected: Branch):
    service = suspected.poster.service
    with service.database.session() as session:
        session.execute(text("alter table change_point disable trigger change_point_guard"))
        session.execute(
            update(ChangePoint).values(first_seen_at=ChangePoint.first_seen_at - timedelta(days=31))
        )
        session.execute(text("alter table change_point enable trigger change_point_guard"))
    sweep_suspicions(service)
    change = change_of(suspected)
    assert (change["state"], change["reason"]) == ("withdrawn", "nothing settled it in time")
