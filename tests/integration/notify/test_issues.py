"""Alerts as issues of the project's repository on GitHub."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.errors import DataError
from app.domain.notifications import About, Wishes
from app.services.notify.manage_notifiers import send_test
from app.store.repositories import projects
from app.store.tables import Repository
from tests.factories.fake_github import FakeGitHub, Mood
from tests.factories.keys import private_key_pem
from tests.factories.repository import SETTINGS, ToyRepository
from tests.integration.notify.conftest import ADMIN, PROJECT, Crowd
from tests.integration.notify.rack import Rack

pytestmark = pytest.mark.postgres


@pytest.fixture
def github():
    with FakeGitHub().serving() as its:
        yield its


@pytest.fixture(scope="module")
def key() -> str:
    return private_key_pem()


@pytest.fixture
def connected(crowd: Crowd, github: FakeGitHub, key: str, tmp_path: Any) -> Crowd:
    (tmp_path / "key.pem").write_text(key)
    its = crowd.service.settings
    its.github_api_url, its.github_app_id, its.github_key_file = github.url, "77", str(tmp_path / "key.pem")
    with crowd.service.database.session() as session:
        project = projects.project(session, PROJECT)
        session.add(
            Repository(
                external_id=5, slug="acme/vision", branch="main", installation=9, project_id=project.id
            )
        )
    return crowd


def test_issue_is_opened_updated_closed_and_opened_again(connected: Crowd, github: FakeGitHub) -> None:
    crowd = connected
    crowd.add("issues", "github_issue")
    (alert,) = crowd.alert("regressed: <b>resize</b> @everyone is `slower`", owner="ada")
    crowd.settle()
    (issue,) = github.issues.values()
    assert issue["state"] == "open"
    assert issue["title"] == "<b>resize</b> @\u200beveryone is `slower`"
    assert f"[Alert {alert}](http://testserver/alerts/{alert})" in issue["body"]
    assert "&lt;b&gt;resize" in issue["body"]
    assert "@everyone" not in issue["body"]
    crowd.move(alert, "fixed", comment="reverted")
    crowd.settle()
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert "fixed by ada: reverted" in issue["body"]
    crowd.move(alert, "new")
    crowd.settle()
    assert issue["state"] == "open"
    assert len(github.issues) == 1
    told = crowd.facts("issues").deliveries
    assert [its.state for its in told] == ["sent"] * 3
    assert told[0].title.endswith("back: <b>resize</b> @everyone is `slower`")


def test_many_alerts_at_once_are_one_issue_that_closes_with_the_last(
    connected: Crowd, github: FakeGitHub
) -> None:
    crowd = connected
    crowd.add("issues", "github_issue")
    alerts = crowd.alert(n=7)
    crowd.settle()
    (issue,) = github.issues.values()
    assert issue["title"] == "acme/vision: 7 new alerts"
    for alert in alerts[:-1]:
        crowd.move(alert, "noise")
    crowd.settle()
    assert issue["state"] == "open"
    assert issue["body"].count(": noise") == 6
    crowd.move(alerts[-1], "noise")
    crowd.settle()
    assert issue["state"] == "closed"


def test_answer_that_was_lost_opens_no_second_issue(connected: Crowd, github: FakeGitHub) -> None:
    crowd = connected
    crowd.add("issues", "github_issue")
    github.moods = [Mood(cut_after=True)]
    crowd.alert()
    crowd.settle()
    assert len(github.issues) == 1
    (delivery,) = crowd.facts("issues").deliveries
    assert (delivery.state, delivery.error) == ("sent", "")


def test_refusal_of_github_is_shown(connected: Crowd, github: FakeGitHub) -> None:
    crowd = connected
    crowd.add("issues", "github_issue")
    github.moods = [Mood(status=403, message="Resource not accessible by integration", times=9)]
    crowd.alert()
    crowd.settle()
    (delivery,) = crowd.facts("issues").deliveries
    assert delivery.state == "handed"
    assert "Resource not accessible by integration" in delivery.error
    assert crowd.facts("issues").is_failing


def test_test_of_it_is_an_issue_that_is_closed_at_once(connected: Crowd, github: FakeGitHub) -> None:
    crowd = connected
    crowd.add("issues", "github_issue")
    with crowd.service.database.session() as session:
        send_test(session, crowd.service.settings, ADMIN, PROJECT, "issues")
    crowd.settle()
    (issue,) = github.issues.values()
    assert issue["state"] == "closed"
    assert "notifications of acme/vision arrive here" in issue["body"]


def test_incidents_of_machines_are_issues_that_close_when_they_are_over(
    connected: Crowd, github: FakeGitHub
) -> None:
    rack = Rack(connected)
    rack.used_by()
    connected.add("issues", "github_issue", Wishes(about=(About.FLEET,)))
    rack.quarantine(1)
    rack.settle()
    (issue,) = github.issues.values()
    assert issue["title"].startswith("device gpu-1 (h100) was put into quarantine: gemm_bf16 of its control")
    assert "No commit of yours is to blame" in issue["body"]
    assert "Calibrations look whether it is over" in issue["body"]
    rack.quarantine(*range(2, 9))
    rack.settle()
    _, many = github.issues.values()
    assert many["title"] == "7 devices quarantined"
    assert many["body"].count("takes no jobs; other devices") == 7
    rack.release(*range(1, 8))
    rack.settle()
    assert (issue["state"], many["state"]) == ("closed", "open")
    assert "takes jobs again" in issue["body"]
    rack.release(8)
    rack.settle()
    assert many["state"] == "closed"
    assert [its.state for its in connected.facts("issues").deliveries] == ["sent"] * 5


def test_issues_of_what_is_not_wanted_any_more_close_when_it_is_over(
    connected: Crowd, github: FakeGitHub
) -> None:
    rack = Rack(connected)
    rack.used_by()
    connected.add("ops", "github_issue", Wishes(about=(About.FLEET, About.CHECKS)))
    (alert,) = connected.alert()
    rack.quarantine(1)
    rack.settle()
    assert [issue["state"] for issue in github.issues.values()] == ["open", "open"]
    rack.stops_using()
    connected.change(Wishes(about=(About.CONTROL,)))
    rack.release(1)
    connected.move(alert, "fixed")
    connected.alert()
    rack.quarantine(2, ecc_uncorrected=1)
    rack.settle()
    assert [issue["state"] for issue in github.issues.values()] == ["closed", "closed"]


def test_project_without_a_repository_has_none(crowd: Crowd) -> None:
    with pytest.raises(DataError, match="no repository on GitHub"):
        crowd.add("issues", "github_issue")


def test_owners_are_those_whom_the_repository_names_for_what_was_touched(
    connected: Crowd, tmp_path: Any
) -> None:
    crowd = connected
    toy = ToyRepository(tmp_path / "github" / "acme" / "vision.git")
    crowd.service.settings.github_url = f"file://{tmp_path / 'github'}"
    tree = {".github/CODEOWNERS": "*.cu @acme/kernels\n", "src/a.py": "1", "b.cu": "1"}
    owned = '\n[owners]\n"src/" = ["bob"]\n'
    settings = SETTINGS.format(device_minutes=1) + owned
    base = toy.commit("base", tree, settings=settings)
    python = toy.commit("python", tree | {"src/a.py": "2"}, settings=settings)
    kernel = toy.commit("kernel", tree | {"src/a.py": "2", "b.cu": "2"}, settings=settings)
    crowd.add("kernels", wishes=Wishes(owners=("acme/kernels",)))
    crowd.add("bobs", wishes=Wishes(owners=("bob",)))
    crowd.alert("regressed: python", between=(base, python))
    crowd.settle()
    crowd.alert("regressed: kernel", between=(python, kernel))
    crowd.settle()
    crowd.alert("regressed: unknown")
    crowd.settle()
    told = {
        name: [its.title.rpartition(": ")[2] for its in reversed(crowd.facts(name).deliveries)]
        for name in ("kernels", "bobs")
    }
    assert told == {"kernels": ["Kernel", "Unknown"], "bobs": ["Python", "Unknown"]}
    assert crowd.hook.posts[0].json["data"]["alerts"][0]["owners"] == ["bob"]
