"""A change in a history that is the machine's is kept, labelled, and asked nobody about; one of the code is not."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.services.device_jobs import tend_devices
from app.store.tables import ChangePoint, Device, Epoch, Job
from tests.factories.agent import FakeAgent
from tests.factories.histories import PROJECT, deliver, sha, sweep_suspicions
from tests.integration.history.conftest import CASE, LISTING, Branch, Grown

pytestmark = pytest.mark.postgres

LEVEL, SLOWER = 0.010, 0.0108
STEP = SLOWER / LEVEL
USUAL_S = 0.0200
OLD, NEW = {"driver": "550.54"}, {"driver": "560.28"}
FIRST = 12
"""The first slower commit."""


@pytest.fixture
def watched(branch: Branch, grown: Grown) -> Branch:
    """A branch of twelve quick commits on an accelerator, whose agent tells of its machine and of its control."""
    return grown(branch, watch)


def watch(branch: Branch) -> None:
    """Have twelve quick commits measured so."""
    branch.agent.machine, branch.agent.kind = dict(OLD), "simulated"
    assert branch.agent.register().status_code == 200
    grow(branch, [LEVEL] * FIRST, 0)
    assert branch.poster.changes("all") == []


def grow(branch: Branch, levels: Iterable[float], first: int, *, control: float = 1.0) -> None:
    """Have commits measured, each on a machine whose control takes so many times its usual time."""
    for i, level in enumerate(levels, first):
        draw = random.Random(i)
        branch.agent.start = {"gemm_bf16": USUAL_S * control * (1 + draw.gauss(0, 0.003))}
        branch.check(i, level * (1 + draw.gauss(0, 0.003)))


def until_suspected(branch: Branch, *, control: float = 1.0, level: float = SLOWER) -> dict[str, Any]:
    """Have slower commits measured until the change is suspected; return it."""
    if control != 1.0:
        let_go_on(branch, control)
    for commit in range(FIRST, FIRST + 5):
        grow(branch, [level], commit, control=control)
        if branch.poster.changes():
            (change,) = branch.poster.changes()
            return change
    raise AssertionError("nothing is suspected")


def let_go_on(branch: Branch, control: float) -> None:
    """Have a control that moved seen for the first time; an administrator ends the quarantine that follows."""
    branch.agent.start = {"gemm_bf16": USUAL_S * control}
    branch.check(FIRST - 1, LEVEL)
    headers = {"Authorization": f"Bearer {branch.poster.token}"}
    assert branch.poster.client.post("/api/v1/devices/1/release", headers=headers).status_code == 200
    with branch.poster.service.database.session() as session:
        session.execute(text("update job set state = 'cancelled' where state = 'queued'"))


def until_confirmed(branch: Branch, *, control: float = 1.0) -> dict[str, Any]:
    """Have more slower commits measured until the change is confirmed; return it."""
    for commit in range(FIRST + 5, FIRST + 40):
        grow(branch, [SLOWER], commit, control=control)
        (change,) = branch.poster.changes()
        if change["state"] == "confirmed":
            return change
    raise AssertionError("nothing is confirmed")


def confirmations(branch: Branch) -> list[Job]:
    with branch.poster.service.database.session() as session:
        jobs = session.scalars(select(Job).where(Job.policy.has_key("history"), Job.device_id.is_(None)))
        return list(jobs)


def wait(branch: Branch) -> None:
    """Let so much time pass that the sweep looks at suspicions that nothing was asked for."""
    with branch.poster.service.database.session() as session:
        session.execute(update(ChangePoint).values(examined_at=ChangePoint.examined_at - timedelta(hours=1)))
    sweep_suspicions(branch.poster.service)


def bridge(branch: Branch, latency: float) -> None:
    """Have the bridge made that the new epoch is due for, and measured with this latency [s]."""
    service = branch.poster.service
    by_day = service.settings.model_copy(update={"self_check_from": 0, "self_check_until": 0})
    with service.database.session() as session:
        assert tend_devices(session, by_day) == 1
    lease = branch.agent.claim()
    assert lease is not None
    assert (lease.job.purpose, lease.job.head_sha) == ("bridge", sha(FIRST - 1))
    assert branch.agent.prepare(None, [LISTING]).head_only
    branch.agent.block(CASE, lambda arm, pair: latency * (1 + 0.001 * pair), arms=["head"])
    assert branch.agent.finish().status_code == 200
    deliver(service)


# --- the control ----------------------------------------------------------------------------------------------


def test_a_control_that_shares_the_step_labels_it(watched: Branch) -> None:
    change = until_suspected(watched, control=STEP)
    assert (change["state"], change["label"], change["commit"]) == ("suspected", "machine_change", sha(FIRST))
    evidence = change["evidence"]
    assert (evidence["probe"], evidence["device"]) == ("gemm_bf16", 1)
    assert evidence["after_s"] / evidence["before_s"] == pytest.approx(STEP, abs=0.005)
    assert change["reason"] is None


def test_a_labelled_suspicion_asks_nobody(watched: Branch) -> None:
    until_suspected(watched, control=STEP)
    for _ in range(3):
        wait(watched)
    assert confirmations(watched) == []
    assert watched.poster.wanted() == []
    assert watched.agent.claim() is None


def test_a_labelled_suspicion_is_confirmed_by_later_points_and_keeps_its_label(watched: Branch) -> None:
    until_suspected(watched, control=STEP)
    change = until_confirmed(watched, control=STEP)
    assert (change["label"], change["commit"]) == ("machine_change", sha(FIRST))
    assert change["evidence"]["probe"] == "gemm_bf16"
    (of_project,) = watched.poster.get("changes", project=PROJECT)["changes"]
    assert of_project["label"] == "machine_change"
    assert confirmations(watched) == []


def test_a_machine_that_became_faster_is_one_too(watched: Branch) -> None:
    change = until_suspected(watched, control=1 / STEP, level=LEVEL / STEP)
    assert (change["label"], change["worse"]) == ("machine_change", False)


def test_a_step_of_the_code_beside_a_quiet_control_is_not_labelled_and_is_measured(watched: Branch) -> None:
    change = until_suspected(watched)
    assert (change["label"], change["evidence"]) == (None, None)
    (job,) = confirmations(watched)
    assert (job.spec["base_sha"], job.spec["head_sha"]) == (sha(FIRST - 1), sha(FIRST))
    assert change["measurement"]["job"] == job.id


@pytest.mark.parametrize("control", [1 / STEP, 1 + (STEP - 1) / 4])
def test_a_control_that_moves_otherwise_explains_nothing(watched: Branch, control: float) -> None:
    assert until_suspected(watched, control=control)["label"] is None


def test_a_device_without_a_control_has_its_changes_measured(branch: Branch) -> None:
    for i in range(FIRST):
        branch.check(i, LEVEL * (1 + random.Random(i).gauss(0, 0.003)))
    for i in range(FIRST, FIRST + 4):
        branch.check(i, SLOWER)
    (change,) = branch.poster.changes()
    assert change["label"] is None
    assert len(confirmations(branch)) == 1


# --- epochs ---------------------------------------------------------------------------------------------------


@pytest.fixture
def upgraded(watched: Branch) -> Branch:
    """The same branch, after somebody gave the machine another driver."""
    watched.agent.machine = dict(NEW)
    return watched


def test_a_step_that_comes_with_a_new_epoch_is_labelled_by_it(upgraded: Branch) -> None:
    change = until_suspected(upgraded)
    assert change["label"] == "machine_change"
    with upgraded.poster.service.database.session() as session:
        newest = session.scalars(select(Epoch).order_by(Epoch.id.desc()).limit(1)).one()
        expected = {"epoch": newest.id, "device": newest.device_id, "changes": newest.changes}
    assert change["evidence"] == expected
    assert expected["changes"] == {"driver": ["550.54", "560.28"]}
    wait(upgraded)
    assert confirmations(upgraded) == []


def test_a_bridge_joins_the_history_at_its_commit(upgraded: Branch) -> None:
    grow(upgraded, [SLOWER], FIRST)
    bridge(upgraded, SLOWER)
    with upgraded.poster.service.database.session() as session:
        query = (
            "select sha, value from result join commit on commit.id = commit_id where result.branch = 'main'"
        )
        points = session.execute(text(f"{query} order by place, result.id")).all()
    assert [point.sha for point in points[-3:]] == [sha(FIRST - 1), sha(FIRST - 1), sha(FIRST)]
    assert [point.value for point in points[-3:]] == pytest.approx([LEVEL, SLOWER, SLOWER], rel=0.02)


def test_a_bridge_that_is_slow_too_blames_the_machine(upgraded: Branch) -> None:
    grow(upgraded, [SLOWER], FIRST)
    bridge(upgraded, SLOWER)
    grow(upgraded, [SLOWER] * 4, FIRST + 1)
    (change,) = upgraded.poster.changes()
    assert change["commit"] in (sha(FIRST - 1), sha(FIRST)), "both have been seen slow on the new machine"
    assert change["label"] == "machine_change"
    assert confirmations(upgraded) == []
    assert until_confirmed(upgraded)["label"] == "machine_change"


def test_a_bridge_that_is_as_quick_as_before_blames_the_code(upgraded: Branch) -> None:
    grow(upgraded, [SLOWER], FIRST)
    bridge(upgraded, LEVEL)
    grow(upgraded, [SLOWER] * 4, FIRST + 1)
    (change,) = upgraded.poster.changes()
    assert (change["commit"], change["label"]) == (sha(FIRST), None)
    assert len(confirmations(upgraded)) == 1


def test_a_label_is_taken_back_by_a_bridge_that_comes_later(upgraded: Branch) -> None:
    assert until_suspected(upgraded)["label"] == "machine_change"
    bridge(upgraded, LEVEL)
    (change,) = upgraded.poster.changes()
    assert (change["label"], change["evidence"], change["state"]) == (None, None, "suspected")
    assert len(confirmations(upgraded)) == 1, "now it is to be measured"


def test_an_epoch_in_the_midst_of_a_level_explains_no_later_step(watched: Branch) -> None:
    watched.agent.machine = dict(NEW)
    grow(watched, [LEVEL] * 5, FIRST)
    for commit in range(FIRST + 5, FIRST + 10):
        grow(watched, [SLOWER], commit)
    (change,) = watched.poster.changes()
    assert (change["commit"], change["label"]) == (sha(FIRST + 5), None)


def test_a_machine_that_goes_to_and_fro_without_effect_explains_nothing(watched: Branch) -> None:
    for commit in range(FIRST, FIRST + 12):
        watched.agent.machine = dict(OLD if commit % 2 else NEW)
        grow(watched, [LEVEL if commit < FIRST + 6 else SLOWER], commit)
    (change,) = watched.poster.changes()
    assert (change["commit"], change["label"]) == (sha(FIRST + 6), None)


def second_agent(branch: Branch) -> FakeAgent:
    """Return an agent with another device of the class, registered."""
    agent = FakeAgent(
        branch.poster.client,
        branch.agent.token,
        name="other",
        host="elsewhere",
        hardware_id="cpu-0002",
        machine=dict(OLD),
    )
    assert agent.register().status_code == 200
    return agent


def test_an_epoch_of_one_device_does_not_explain_a_step_that_another_shows_too(watched: Branch) -> None:
    first, second = watched.agent, second_agent(watched)
    watched.agent = second
    grow(watched, [LEVEL] * 2, FIRST)
    first.machine = dict(NEW)
    for commit in range(FIRST + 2, FIRST + 8):
        watched.agent = first if commit % 2 else second
        grow(watched, [SLOWER], commit)
    (change,) = watched.poster.changes()
    assert (change["commit"], change["label"]) == (sha(FIRST + 2), None)


def test_an_upgrade_of_every_device_of_the_class_explains_the_step_that_all_show(watched: Branch) -> None:
    first, second = watched.agent, second_agent(watched)
    watched.agent = second
    grow(watched, [LEVEL] * 2, FIRST)
    first.machine, second.machine = dict(NEW), dict(NEW)
    for commit in range(FIRST + 2, FIRST + 8):
        watched.agent = first if commit % 2 else second
        grow(watched, [SLOWER], commit)
    (change,) = watched.poster.changes()
    assert (change["commit"], change["label"]) == (sha(FIRST + 2), "machine_change")


def test_a_first_epoch_explains_nothing(watched: Branch) -> None:
    with watched.poster.service.database.session() as session:
        session.execute(text("delete from epoch"))
    assert until_suspected(watched)["label"] is None


def test_another_device_of_the_class_is_no_new_epoch(watched: Branch) -> None:
    watched.agent = second_agent(watched)
    watched.agent.machine = dict(NEW)
    assert until_suspected(watched)["label"] is None
    with watched.poster.service.database.session() as session:
        assert len(session.scalars(select(Device)).all()) == 2
