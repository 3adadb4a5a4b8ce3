"""Asked for by hand: a pull request or a commit of a connected repository, which the service fetches itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from httpx import Response
from sqlalchemy import select, text

from app.services.access import Scope, issue_token
from app.services.announce_results import find_unexamined
from app.services.forge.ask_measure import find_lost_requests
from app.services.retention.chore import prune_for_a_while
from app.store.repositories import projects
from app.store.tables import Job
from tests.integration.forge.conftest import SETTINGS, Begin, World
from tests.integration.forge.test_branch import asked, push
from tests.integration.forge.test_forks import press
from tests.integration.forge.test_pull_life import measure
from tests.integration.jobs.test_untrusted import agent_of

pytestmark = pytest.mark.postgres

MEASURE = "/api/v1/projects/acme/vision/measure"


class Asker:
    """Somebody with a token, at a world whose repository is connected."""

    def __init__(self, world: World, token: str) -> None:
        self.world, self.headers = world, {"Authorization": f"Bearer {token}"}

    def post(self, *, settle: bool = True, **body: Any) -> Response:
        """Ask, and have all done that follows."""
        answer = self.world.client.post(MEASURE, json=body, headers=self.headers)
        if settle:
            self.world.settle()
        return answer

    def ask(self, **body: Any) -> dict[str, Any]:
        """Ask, have all done that follows, and return what came of it."""
        answer = self.post(**body)
        assert answer.status_code == 202, answer.text
        return self.read(answer.headers["Location"])

    def read(self, location: str) -> dict[str, Any]:
        answer = self.world.client.get(location, headers=self.headers)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document


@pytest.fixture
def asker(world: World, admin_token: str, begin: Begin) -> Asker:
    begin(measured, world)
    return Asker(world, admin_token)


def measured(world: World) -> None:
    """Have a second commit pushed and measured."""
    world.base = world.commit("second", 2)
    push(world)
    measure(world)


def test_a_commit_is_measured_against_its_parent(asker: Asker) -> None:
    world = asker.world
    head = world.commit("third", 3)
    answer = asker.post(head="main", settle=False)
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    world.settle()
    found = asker.read(answer.headers["Location"])
    assert (found["state"], found["message"]) == ("checked", None)
    assert asked(world)[-1] == ("manual", world.base, head, 0)
    assert found["check"] == 2


def test_a_branch_is_measured_from_where_it_left_the_default_one(asker: Asker) -> None:
    world = asker.world
    world.git("checkout", "--quiet", "-b", "topic/fast")
    head = world.commit("on a branch", 3)
    world.git("checkout", "--quiet", "main")
    world.commit("main goes on", 4)
    assert asker.ask(head="topic/fast")["state"] == "checked"
    assert asked(world)[-1][1:3] == (world.base, head)


@pytest.mark.parametrize("text", ["{head}", "{head:.8}", "main", "main~0"])
def test_a_commit_is_named_as_git_does(asker: Asker, text: str) -> None:
    head = asker.world.commit("third", 3)
    asker.ask(head=text.format(head=head), base="main~1")
    assert asked(asker.world)[-1][1:3] == (asker.world.base, head)


@pytest.mark.parametrize("text", ["nowhere", "0" * 40, "main~77"])
def test_what_no_branch_has_is_refused(asker: Asker, text: str) -> None:
    found = asker.ask(head=text)
    assert (found["state"], found["check"]) == ("refused", None)
    assert found["message"] == f"acme/vision has no branch {text!r}, and no branch has a commit {text!r}"


def test_a_commit_of_a_pull_request_that_is_on_no_branch_is_refused_even_if_it_is_here(asker: Asker) -> None:
    head = asker.world.push(1, "on no branch")
    asker.world.happens(1, "opened")
    assert asker.ask(head=head)["state"] == "refused"


@pytest.mark.parametrize("text", ["--upload-pack=x", "a..b", ":/fix", "HEAD@{1}", "a b", "refs/*", "x" * 256])
def test_gits_other_words_are_no_names_of_commits(asker: Asker, text: str) -> None:
    assert asker.post(head=text).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"pull": 1, "head": "main"},
        {"pull": 1, "base": "main"},
        {"pull": 0},
        {"head": ""},
        {"head": "main", "more": 1},
    ],
)
def test_what_is_not_understood_is_refused_at_once(asker: Asker, body: dict[str, Any]) -> None:
    answer = asker.post(**body)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_payload")


def test_settings_are_those_of_the_head_whatever_starts_its_suites(asker: Asker) -> None:
    never = SETTINGS.replace('"inference"', '"by_hand"').replace("paths =", "on = []\npaths =")
    asker.world.commit("third", 3, settings=never)
    asker.ask(head="main")
    lease = asker.world.agent.claim()
    assert lease is not None
    assert lease.job.suite.name == "by_hand"


@pytest.mark.parametrize(
    ("its_settings", "says"),
    [
        ("[project]\nname = 5\n", "ratchet.toml:2"),
        (SETTINGS.replace("acme/vision", "acme/other"), "is bound to another project than 'acme/other'"),
    ],
)
def test_settings_that_cannot_be_followed_are_told(asker: Asker, its_settings: str, says: str) -> None:
    asker.world.commit("third", 3, settings=its_settings)
    found = asker.ask(head="main")
    assert found["state"] == "refused"
    assert says in found["message"]


def test_suites_and_devices_narrow_it(asker: Asker) -> None:
    asker.world.commit("third", 3)
    assert "no suite named 'other'" in asker.ask(head="main", suites=["other"])["message"]
    assert asker.ask(head="main", suites=["inference"], devices=["cpu-none-*"])["state"] == "checked"
    assert asker.world.agent.claim() is None


def test_what_is_picked_by_hand_extends_no_history(asker: Asker) -> None:
    world = asker.world
    with world.service.database.session() as session:
        before = session.scalar(text("select count(*) from result where branch is not null"))
    world.commit("third", 3)
    asker.ask(head="main")
    measure(world)
    with world.service.database.session() as session:
        find_unexamined(session, world.service.settings)
        rows = session.execute(text("select count(*), count(branch) from result")).one()
    assert rows[0] > rows[1] == before


def test_the_same_key_is_the_same_request(asker: Asker) -> None:
    first, again = asker.ask(head="main", key="ci-1"), asker.ask(head="main", key="ci-1")
    assert first == again
    answer = asker.post(head="main~1", key="ci-1")
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")


# --- a pull request ---


def test_the_check_of_a_pull_request_is_made_again_and_told(asker: Asker) -> None:
    world = asker.world
    head = world.push(1, "a change")
    world.happens(1, "opened")
    first = world.run_of(head)["details_url"]
    found = asker.ask(pull=1)
    assert found["state"] == "checked"
    run = world.run_of(head)
    assert run["status"] == "queued"
    assert run["details_url"] == f"http://testserver/checks/{found['check']}" != first


def test_a_pull_request_that_nobody_told_of_is_measured(asker: Asker) -> None:
    head = asker.world.push(1, "a change")
    assert asker.ask(pull=1)["state"] == "checked"
    assert asker.world.run_of(head)["status"] == "queued"


def test_a_part_of_a_pull_request_is_a_check_of_its_own_that_nobody_is_told_of(asker: Asker) -> None:
    world = asker.world
    head = world.push(1, "a change")
    assert asker.ask(pull=1, suites=["inference"])["state"] == "checked"
    assert asked(world)[-1] == ("manual", world.base, head, 0)
    assert world.github.calls == []


@pytest.mark.parametrize("narrowed", [{}, {"suites": ["inference"]}])
def test_an_approved_commit_of_a_fork_is_measured_where_forks_are(
    asker: Asker, narrowed: dict[str, Any]
) -> None:
    world = asker.world
    world.github.writers = {"grace"}
    agent_of(world.client, world.service, Scope.WORKER_UNTRUSTED, name="stranger")
    head = world.push(1, "from afar", fork=True)
    world.happens(1, "opened")
    press(world, head)
    assert asker.ask(pull=1, **narrowed)["state"] == "checked"
    with world.service.database.session() as session:
        found = session.scalars(select(Job).order_by(Job.id)).all()[-2:]
        assert [(job.is_untrusted, job.spec["benchmarks_from"]) for job in found] == [(True, "base")] * 2


@pytest.mark.parametrize("narrowed", [{}, {"suites": ["inference"]}])
def test_a_pull_request_of_a_fork_is_refused_as_always(asker: Asker, narrowed: dict[str, Any]) -> None:
    asker.world.push(1, "from afar", fork=True)
    found = asker.ask(pull=1, **narrowed)
    assert (found["state"], found["check"]) == ("not_measured", None)
    assert "nobody has approved this commit" in found["message"]
    assert asker.world.agent.claim() is None


@pytest.mark.parametrize("narrowed", [{}, {"devices": ["cpu-*"]}])
def test_a_pull_request_that_is_closed_is_told_so(asker: Asker, narrowed: dict[str, Any]) -> None:
    asker.world.push(1, "a change", state="closed")
    found = asker.ask(pull=1, **narrowed)
    assert (found["state"], found["message"]) == ("not_measured", "pull request 1 is not open")


def test_a_pull_request_that_is_not_there_is_refused(asker: Asker) -> None:
    assert asker.ask(pull=99)["state"] == "refused"


# --- who may, and what gets lost ---


def test_it_needs_the_scope_and_the_project(asker: Asker) -> None:
    with asker.world.service.database.session() as session:
        other = projects.project(session, "acme/other").id
        reading = issue_token(session, "reader", [Scope.RESULTS_READ])
        elsewhere = issue_token(session, "elsewhere", [Scope.JOBS_CREATE], project_id=other)
    made = asker.post(head="main").headers["Location"]
    for token, status in ((reading, 403), (elsewhere, 404), ("none", 401)):
        somebody = Asker(asker.world, token)
        assert somebody.post(head="main").status_code == status
    answers = [
        asker.world.client.get(where, headers=Asker(asker.world, elsewhere).headers)
        for where in (made, made.replace("vision", "other"))
    ]
    assert [answer.status_code for answer in answers] == [404, 404]


def test_a_project_without_a_repository_is_told_so(asker: Asker) -> None:
    with asker.world.service.database.session() as session:
        session.execute(text("update repository set is_connected = false"))
    answer = asker.post(head="main")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_connected")


def test_a_task_that_died_is_found(asker: Asker) -> None:
    world = asker.world
    where = asker.post(head="main", settle=False).headers["Location"]
    with world.service.database.session() as session:
        session.execute(text("update outbox set sent_at = clock_timestamp() where sent_at is null"))
    with world.service.database.session() as session:
        assert find_lost_requests(session, older_than=timedelta(0)) == 1
    world.settle()
    assert asker.read(where)["state"] == "checked"


def test_what_something_came_of_is_forgotten_after_a_while_and_its_check_is_not(asker: Asker) -> None:
    service = asker.world.service
    ended, waiting = asker.post(head="main"), asker.post(head="main", settle=False)
    with service.database.session() as session:
        session.execute(text("update measure_request set created_at = created_at - interval '91 days'"))
    prune_for_a_while(service.database, service.settings)
    with service.database.session() as session:
        left = session.scalars(text("select id from measure_request")).all()
        assert [str(one) for one in left] == [waiting.headers["Location"].rpartition("/")[2]]
        assert session.scalar(text('select count(*) from "check"')) == 2
    answer = asker.world.client.get(ended.headers["Location"], headers=asker.headers)
    assert answer.status_code == 404


def test_a_forge_that_is_never_there_is_not_waited_for_for_ever(asker: Asker) -> None:
    where = asker.post(head="main", settle=False).headers["Location"]
    with asker.world.service.database.session() as session:
        session.execute(text("update measure_request set created_at = created_at - interval '61 minutes'"))
    asker.world.settle()
    assert asker.read(where)["message"] == "the forge could not be asked for an hour"


def test_who_waits_for_it_is_answered_as_soon_as_it_is_there(asker: Asker) -> None:
    where = asker.post(head="main", settle=False).headers["Location"]
    assert asker.read(f"{where}?wait=0.05")["state"] == "waiting"
    asker.world.settle()
    assert asker.read(f"{where}?wait=30")["state"] == "checked"


def test_a_branch_in_the_place_of_a_folder_of_branches_is_fetched(asker: Asker) -> None:
    world = asker.world
    world.git("branch", "topic", "main")
    assert asker.ask(head="topic")["state"] == "checked"
    world.git("branch", "--delete", "topic")
    world.git("branch", "topic/one", "main")
    assert asker.ask(head="topic/one")["state"] == "checked"
    assert asker.ask(head="topic")["state"] == "refused"
