"""A suspicion asks our own agents to measure, once, and what they say settles it."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.services.confirm_change import BAND, TRIGGER
from app.store.tables import ChangePoint, Job, Request, Worker
from app.tasks import sweep_suspicions
from tests.factories.histories import deliver, sha
from tests.integration.history.conftest import Branch

pytestmark = pytest.mark.postgres

LEVEL = 0.010
SLOWER = 1.06 * LEVEL


@pytest.fixture
def suspected(branch: Branch) -> Branch:
    """A branch of twelve quick commits and slower ones from commit 12 on, which is suspected just now."""
    draw = random.Random(1)
    branch.check_all([LEVEL * (1 + draw.gauss(0, 0.004)) for _ in range(12)])
    for commit in range(12, 16):
        branch.check(commit, SLOWER)
        if branch.poster.changes():
            return branch
    raise AssertionError("nothing is suspected")


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


def test_measured_equality_withdraws_the_suspicion_for_good(suspected: Branch):
    suspected.agent.claim()
    suspected.measure(LEVEL, LEVEL)
    deliver(suspected.poster.service)
    change = change_of(suspected)
    assert (change["state"], change["reason"]) == ("withdrawn", "measured in pairs: no change")
    suspected.check_all([SLOWER] * 5, first=16)
    of_commit = [c for c in suspected.poster.changes("all") if c["commit"] == sha(12)]
    assert [(c["id"], c["state"]) for c in of_commit] == [(change["id"], "withdrawn")]


def test_failed_measurement_is_no_answer_and_then_somebody_else_may_measure(suspected: Branch):
    suspected.agent.claim()
    suspected.agent.finish("infra_failed", retryable=False, reason="disk_full")
    sweep_suspicions(suspected.poster.service)
    change = change_of(suspected)
    assert (change["state"], change["reason"]) == (
        "suspected",
        "measured in pairs without an answer: disk_full",
    )
    assert {wanted["commit"] for wanted in suspected.poster.wanted()} == {sha(11), sha(12)}
    sweep_suspicions(suspected.poster.service)
    suspected.check(16, SLOWER)
    assert len(suspected.jobs()) == 1, "a suspicion asks once"


def test_without_a_live_agent_a_measurement_is_wanted_until_there_is_one(branch: Branch):
    draw = random.Random(1)
    branch.check_all([LEVEL * (1 + draw.gauss(0, 0.004)) for _ in range(12)])
    service = branch.poster.service
    service.settings.confirmations_most = 0
    for commit in range(12, 16):
        branch.check(commit, SLOWER)
        if branch.poster.changes():
            break
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
    draw = random.Random(1)
    branch.check_all([LEVEL * (1 + draw.gauss(0, 0.004)) for _ in range(12)])
    for commit in range(12, 16):
        branch.check(commit, SLOWER)
        if branch.poster.changes():
            break
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
