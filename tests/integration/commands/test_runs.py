"""`ratchet runs`, and what one run has brought: measured ones and posted ones in one list."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.cli import DATA, USAGE, run
from app.services.access import Scope
from app.services.publish import publish_run
from app.store.tables import Run
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import PROJECT, Poster, sha
from tests.factories.posted_results import bound_token
from tests.factories.serving import served

pytestmark = pytest.mark.postgres

Listed = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def poster(
    client: Any, service: Service, admin_token: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Poster]:
    """A service with two runs of a check, and then five posts, which commands find."""
    with service.database.session() as session:
        stored.check(session, results.regressed())
        for one in session.query(Run):
            publish_run(session, one)
    its = Poster(client, service, admin_token)
    for i in range(4):
        its.post([1.0 + i, 2.0], i, environment={"kernel": "6.8"})
    its.result = {"benchmark": "other"}
    its.post(9.0, 4, device_class="gpu-x")
    with served(service) as address:
        monkeypatch.setenv("RATCHET_URL", address)
        monkeypatch.setenv("RATCHET_TOKEN", admin_token)
        yield its


@pytest.fixture
def listed(poster: Poster, capsys: pytest.CaptureFixture[str]) -> Listed:
    def call(*options: str) -> list[dict[str, Any]]:
        assert run(["runs", *options, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def uploads(*numbers: int) -> list[str]:
    return [f"upload-{number}" for number in numbers]


def test_runs_are_listed_newest_first_page_by_page_and_narrowed(
    listed: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = listed()
    names = [one["run"] for one in every]
    assert names[:5] == uploads(5, 4, 3, 2, 1)
    assert {one["kind"] for one in every[5:]} == {"measured"}
    assert names[5:] == sorted(names[5:], key=int, reverse=True)
    first, last = every[0], every[-1]
    assert (first["head"], first["results"], first["device_class"]) == (sha(4), 1, "gpu-x")
    assert (first["by"], first["outcome"], first["base"]) == ("admin", "ok", None)
    assert (last["base"], bool(last["suite"])) == (results.regressed().base.sha, True)
    assert last["results"] > 0
    for options, wanted in {
        ("--benchmark", "other"): uploads(5),
        ("--device", "gpu-x"): uploads(5),
        ("--commit", sha(2)): uploads(3),
        ("--since", "1h", "--benchmark", "resize", "--device", "cpu-test-2t"): uploads(4, 3, 2, 1),
        ("--since", "2099-01-01"): [],
        ("--limit", "1"): uploads(5),
    }.items():
        assert [one["run"] for one in listed(*options)] == wanted, options
    check = results.regressed()
    suite = check.suites[0]
    for options in (
        ("--commit", check.base.sha[:12]),
        ("--commit", check.head.sha.upper()),
        ("--benchmark", suite.cases[0].benchmark),
        ("--device", suite.device_class),
    ):
        assert suite.name in {one["suite"] for one in listed(*options)}, options
    monkeypatch.setattr("app.commands.runs._PAGE", 2)
    assert listed() == every


@pytest.mark.usefixtures("poster")
def test_table_and_csv_have_a_line_a_run_and_what_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["runs", "--limit", "2"]) == 0
    printed = capsys.readouterr()
    heading, newest, _ = printed.out.splitlines()
    assert heading.split()[:3] == ["run", "begun", "project"]
    assert newest.split()[0] == "upload-5"
    assert sha(4)[:10] in newest
    assert "more than 2" in printed.err
    assert run(["runs", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (rows[0]["run"], rows[0]["head"], rows[0]["results"]) == ("upload-5", sha(4), "1")

    assert run(["runs", "--benchmark", "none"]) == 0
    assert capsys.readouterr() == ("", "no run is of this\n")
    assert run(["runs", "--project", "acme/nope"]) == DATA
    assert run(["runs", "--commit", "main"]) == USAGE
    assert run(["runs", "--json", "--csv"]) == USAGE


def test_results_of_a_run_have_every_value_and_come_page_by_page(poster: Poster) -> None:
    posted = poster.get("runs/upload-2/results")
    (one,) = posted["results"]
    assert (one["values"], one["void"], one["value"], one["commit"]) == ([0.002, 0.002], [], 0.002, sha(1))
    assert (one["series"]["benchmark"], one["series"]["unit"], one["branch"]) == ("resize", "s", "main")
    first = poster.get("runs/1/results", limit=1)
    rest = poster.get("runs/1/results", after=first["next"])
    assert first["results"][0]["series"]["metric"]
    assert rest["next"] is None
    arms = {one["arm"] for one in first["results"] + rest["results"]}
    assert arms == {"base", "head"}
    assert poster.get("runs/1/results", benchmark="none")["results"] == []
    headers = {"Authorization": f"Bearer {poster.token}"}
    answer = poster.client.get("/api/v1/runs", params={"before": "yesterday"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_place")
    assert {"project": PROJECT, "branch": "main"}.items() <= poster.get("projects")["projects"][0].items()


def test_who_is_bound_to_a_project_sees_its_runs_alone(poster: Poster, service: Service) -> None:
    poster.token = bound_token(service, "acme/other", Scope.RESULTS_READ, Scope.RESULTS_WRITE)
    assert poster.get("runs") == {"runs": [], "next": None}
    assert [one["project"] for one in poster.get("projects")["projects"]] == ["acme/other"]
    for path in ("runs/upload-1", "runs/upload-1/results", "runs/1/results", f"export?project={PROJECT}"):
        answer = poster.client.get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {poster.token}"})
        assert answer.status_code == 404, path


def test_stored_sides_are_compared_and_those_that_are_none_refused(
    poster: Poster, capsys: pytest.CaptureFixture[str]
) -> None:
    poster.result = {}
    poster.tell([4.5, 5.5], 4, device_class="gpu-x")
    commits = ["compare", "--stored", sha(0), sha(3), "--project", PROJECT]
    assert run(commits) == 0
    heading, line, *_, note = capsys.readouterr().out.splitlines()
    assert heading.split() == ["series", "device", "change", "base", "head", "n"]
    assert line.split() == [
        "resize[batch=32]",
        "latency_p50",
        "cpu-test-2t",
        "+100",
        "%",
        "1.500",
        "ms",
        "3.000",
        "ms",
        "2",
    ]
    assert note.startswith("(no verdict")
    assert run(["compare", "--stored", sha(0), sha(3), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["benchmark"], row["params"], row["base_n"], row["change"]) == (
        "resize",
        "batch=32",
        "2",
        "1.0",
    )
    assert run(["compare", "--stored", "cpu-test-2t", "gpu-x", "--project", PROJECT, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    both = [one for one in lines if one["base_median"] is not None and one["head_median"] is not None]
    assert [(one["base_commit"], one["head_commit"]) for one in both] == [(sha(3), sha(4))]
    assert run(["compare", "--stored", "cpu-test-2t", "gpu-x", "--project", PROJECT]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Best performance: ")
    assert "gpu-x, price not known: no ratchet.toml is known that has landed" in told
    poster.post(1.0, 0, project="acme/other")
    for words, status, said in (
        (["--stored", "nope", "main", "--project", PROJECT], USAGE, "no branch or device class"),
        (["--stored", "f" * 40, "main", "--project", PROJECT], DATA, "has no commit"),
        (["--stored", "main", "main"], USAGE, "--project; known: acme/other, "),
        (["--stored", "main"], USAGE, "BASE and HEAD"),
        (["main", "other"], USAGE, "--stored BASE HEAD"),
        (["file.csv", "--project", PROJECT], USAGE, "go with --stored"),
    ):
        assert run(["compare", *words]) == status, words
        assert said in capsys.readouterr().err
