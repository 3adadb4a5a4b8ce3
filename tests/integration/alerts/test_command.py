"""`ratchet alerts`: a table, JSON Lines or CSV of the alerts of a service, or all that is known of one."""

from __future__ import annotations

import csv
import io
import json

import pytest

from app.cli import DATA, run
from tests.factories.histories import sha, stepped
from tests.factories.serving import found_by_commands
from tests.integration.alerts.conftest import Team

pytestmark = pytest.mark.postgres


@pytest.fixture
def asked(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A service that commands find, with an alert of two changes and one of a pull request's check."""
    found_by_commands(team.client, team.token, monkeypatch)
    team.grow("resize", stepped(40, 20, 0.2, seed=1))
    team.grow("crop", stepped(40, 20, 0.5, seed=2))
    team.sweep()
    team.pull(team.check())
    team.sweep()
    return team


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["alerts", *arguments]) == 0
    return capsys.readouterr().out


def test_alerts_are_a_table_documents_or_rows_and_one_is_told_whole(
    asked: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.post("alerts/1", state="investigating", owner="ann", comment="the cache")
    heading, check, changes = printed(capsys).splitlines()
    assert heading.split() == ["alert", "state", "what", "commit", "owner", "project", "opened"]
    assert "regressed of" in check
    assert "crop[batch=32] latency_p50 +" in changes
    assert changes.split()[-6:-2] == ["more", sha(20)[:10], "ann", "acme/vision"]
    (document,) = map(json.loads, printed(capsys, "--state", "investigating", "--json").splitlines())
    assert [change["benchmark"] for change in document["changes"]] == ["crop", "resize"]
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "--csv", "--owner", "ann"))))
    assert [(row["benchmark"], row["owner"], row["stands"]) for row in rows] == [
        ("crop", "ann", "True"),
        ("resize", "ann", "True"),
    ]
    whole = printed(capsys, "1")
    assert "ann moved" not in whole
    assert "admin moved it from new to investigating: the cache" in whole
    assert f"came with {sha(20)[:10]}" in whole
    assert printed(capsys, "2").splitlines()[3] == "pull request https://github.com/acme/vision/pull/12"


def test_more_than_wanted_is_told_and_what_is_not_there_is_a_fault(
    asked: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["alerts", "--limit", "1"]) == 0
    assert "there are more than 1 such alerts" in capsys.readouterr().err
    assert run(["alerts", "--state", "noise"]) == 0
    assert capsys.readouterr() == ("", "no alert is like this\n")
    assert run(["alerts", "99"]) == DATA
    assert "there is no alert 99" in capsys.readouterr().err
