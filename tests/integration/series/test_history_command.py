"""`ratchet history`: a table with sparklines, JSON Lines or CSV of what a service has stored."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

import app.commands.connection
from app.cli import DATA, USAGE, run
from tests.factories.histories import Poster, deliver, sha, stepped
from tests.factories.serving import found_by_commands
from tests.integration.history.conftest import Branch, branch
from tests.integration.series.conftest import grown
from tests.integration.series.test_marks import marked

pytestmark = pytest.mark.postgres

__all__ = ["branch", "marked"]


@pytest.fixture
def asked(poster: Poster, monkeypatch: pytest.MonkeyPatch) -> Poster:
    """A service with a history of 60 points, which commands find."""
    found_by_commands(poster.client, poster.token, monkeypatch)
    grown(poster, stepped(60, 30, 0.2))
    return poster


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["history", *arguments]) == 0
    return capsys.readouterr().out


def documents(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(capsys, *arguments, "--json").splitlines()]


@pytest.mark.usefixtures("asked")
def test_table_has_a_sparkline_a_series_and_a_line_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    heading, series, change = printed(capsys).splitlines()
    assert heading.split() == ["series", "device", "n", "history", "newest"]
    assert series.startswith("resize[batch=32] latency_p50  cpu-test-2t  60  ")
    assert "│" in series
    assert series.endswith("ms")
    assert change.split()[0] == "▲"
    assert sha(30)[:10] in change
    assert change.endswith("confirmed")


@pytest.mark.usefixtures("asked")
def test_json_has_every_point_and_change(capsys: pytest.CaptureFixture[str]) -> None:
    (document,) = documents(capsys, "resize")
    assert document["points"]["commit"] == [sha(i) for i in range(60)]
    assert [change["row"] for change in document["changes"]] == [30]


@pytest.mark.usefixtures("asked")
def test_csv_has_a_row_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "--csv", "--last", "3"))))
    assert [row["commit"] for row in rows] == [sha(57), sha(58), sha(59)]
    assert {(row["benchmark"], row["params"], row["unit"], row["row"]) for row in rows[:1]} == {
        ("resize", "batch=32", "s", "57")
    }


@pytest.mark.usefixtures("asked")
def test_the_newest_points_have_the_changes_among_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert [len(document["changes"]) for document in documents(capsys, "--last", "40")] == [1]
    assert [len(document["changes"]) for document in documents(capsys, "--last", "20")] == [0]


def test_a_branch_is_chosen(asked: Poster, capsys: pytest.CaptureFixture[str]) -> None:
    asked.tell(10.0, 90, branch="release")
    (document,) = documents(capsys, "--branch", "release")
    assert document["points"]["commit"] == [sha(90)]
    assert documents(capsys, "--branch", "nope") == []


@pytest.mark.usefixtures("asked")
def test_what_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", "nothing"]) == 0
    assert capsys.readouterr() == ("", "no series has all of this\n")
    assert run(["history", "--branch", "nope"]) == 0
    assert "in a history of this branch" in capsys.readouterr().err
    assert run(["history", "--project", "acme/nope"]) == DATA
    assert "no project 'acme/nope'" in capsys.readouterr().err


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("project", "end"),
    [("acme/visoin", "that you may see; did you mean 'acme/vision'?\n"), ("other", "that you may see\n")],
)
def test_project_that_was_probably_meant_is_named(
    project: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["history"], ["runs"], ["alerts"], ["notifier", "list"]):
        assert run([*command, "--project", project]) == DATA
        assert capsys.readouterr().err == f"ratchet: there is no project {project!r} {end}"


@pytest.mark.parametrize("form", [["--csv"], ["--json"], []])
def test_series_that_nobody_has_examined_yet_are_told_of_beside_the_rows(
    form: list[str], poster: Poster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found_by_commands(poster.client, poster.token, monkeypatch)
    poster.post(10.0, 0)
    assert run(["history", *form]) == 0
    assert capsys.readouterr().err == (
        "1 of 1 series without a point in the history yet: what was stored just now is there once it is examined\n"
    )
    deliver(poster.service)
    assert run(["history", *form]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("asked")
def test_both_forms_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", "--json", "--csv"]) == USAGE


def test_without_a_service_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app.commands.connection, "running_service", lambda: None)
    assert run(["history"]) == USAGE
    assert "RATCHET_URL" in capsys.readouterr().err


def test_what_could_explain_a_history_has_its_lines_and_columns(
    marked: Branch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found_by_commands(marked.poster.client, marked.poster.token, monkeypatch)
    told = [" ".join(line.split()) for line in printed(capsys).splitlines()[2:]]
    assert told == [
        f"◆ {sha(4)[:10]} Another machine: driver 550.54 → 560.28",
        f"× {sha(6)[:10]} Fails on base: raised",
        f"× {sha(8)[:10]} The worker's disk was full",
        "budget: at most 11 ms",
    ]
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "--csv", "--last", "5"))))
    assert [(row["row"], row["n_void"], row["epoch"]) for row in rows] == [
        ("2", "1", "0"), ("3", "0", "0"), ("4", "0", "1"), ("5", "0", "1"), ("6", "0", "1"),
    ]  # fmt: skip
    assert [float(row["control"]) for row in rows] == [0.0, 0.0, 0.05, 0.05, 0.05]
    (document,) = documents(capsys, "--last", "2")
    assert (document["control"]["row"], document["void"], len(document["failed"])) == ([5, 6], [], 2)
