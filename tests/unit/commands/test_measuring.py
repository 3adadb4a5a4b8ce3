"""`ratchet check --project`: what is asked of the service, and how it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.cli import run
from app.commands import measuring


class Service:
    """A service that answers so many times that a request waits, then with what came of it."""

    def __init__(self, outcome: dict[str, Any], conclusion: str = "passed", waits: int = 2) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        waiting = {"state": "waiting", "check": None, "message": None}
        self._answers = [waiting] * waits + [outcome]
        self._conclusion = conclusion

    def ask_measure(self, project: str, wanted: dict[str, Any]) -> int:
        self.asked.append((project, wanted))
        return 12

    def measure(self, project: str, request_id: int) -> dict[str, Any]:
        assert (project, request_id) == ("acme/vision", 12)
        return self._answers.pop(0)

    def progress(self, check_id: int, seen: str) -> dict[str, Any]:
        return {"check": check_id, "version": "1", "state": "complete", "jobs": []}

    def check(self, check_id: int) -> dict[str, Any]:
        return {"check": check_id, "conclusion": self._conclusion, "page": "http://service/checks/7"}

    def report(self, check_id: int) -> str:
        return "<!DOCTYPE html>"


CHECKED = {"state": "checked", "check": 7, "message": None}


def check(monkeypatch: pytest.MonkeyPatch, service: Service | None, *options: str) -> int:
    monkeypatch.setattr(measuring, "running_service", lambda patience_s: service)
    return run(["check", "--json", *options])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--pull", "7"], {"pull": 7, "suites": [], "devices": []}),
        (["--head", "topic"], {"head": "topic", "suites": [], "devices": []}),
        (
            ["--head", "topic", "--base", "main~1", "--suite", "a", "--suite", "b", "--device", "cpu-*"],
            {"head": "topic", "base": "main~1", "suites": ["a", "b"], "devices": ["cpu-*"]},
        ),
    ],
)
def test_what_is_asked(monkeypatch: pytest.MonkeyPatch, options: list[str], wanted: dict[str, Any]) -> None:
    service = Service(CHECKED)
    assert check(monkeypatch, service, "--project", "acme/vision", *options) == 0
    assert service.asked == [("acme/vision", wanted)]


@pytest.mark.parametrize(
    ("conclusion", "status"), [("passed", 0), ("regressed", 1), ("not_measured", 2), ("inconclusive", 3)]
)
def test_it_ends_as_a_check_of_a_local_repository_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], conclusion: str, status: int
) -> None:
    service = Service(CHECKED, conclusion)
    assert check(monkeypatch, service, "--project", "acme/vision", "--pull", "7") == status
    printed = capsys.readouterr()
    assert json.loads(printed.out)["check"] == 7
    assert "fetching" in printed.err


def test_what_is_not_measured_is_said_and_ends_as_such(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service({"state": "not_measured", "check": None, "message": "it comes from a fork"})
    assert check(monkeypatch, service, "--project", "acme/vision", "--pull", "7") == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["check"], document["conclusion"], document["status"]) == (None, "not_measured", 2)
    assert document["reason"] == "it comes from a fork"


def test_what_is_refused_is_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service({"state": "refused", "check": None, "message": "there is no branch 'x'"})
    assert check(monkeypatch, service, "--project", "acme/vision", "--head", "x") == 65
    assert "there is no branch 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--project", "p"], "either --pull or --head"),
        (["--project", "p", "--pull", "1", "--head", "x"], "either --pull or --head"),
        (["--project", "p", "--pull", "1", "--base", "x"], "--base goes with --head"),
        (["--project", "p", "--repo", ".", "--head", "x"], "either --repo or --project"),
        (["--pull", "1"], "--project and --pull"),
        (["--head", "x"], "--base and --head"),
        (["--project", "p", "--head", "x"], "set RATCHET_URL"),
    ],
)
def test_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert check(monkeypatch, None, *options) == 64
    assert says in capsys.readouterr().err
