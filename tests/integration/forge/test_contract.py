"""Every call that we make is one that GitHub's own description of its API allows, and its answer is understood."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.config import ServiceSettings
from app.domain.commands import APPROVE_BUTTON
from app.domain.forge import (
    CheckOutcome,
    CheckState,
    CheckText,
    CommentText,
    Ignored,
    IssueText,
    LostMessage,
    Place,
)
from app.integrations.forge import ForgeRefusedError
from app.integrations.github.connection import Credentials
from app.integrations.github.creation import take_created_app
from app.integrations.github.events import read_event
from app.integrations.github.github import GitHub
from app.integrations.github.inspection import inspect
from app.reports.notifications.issue_text import issue_marker
from app.reports.pull_request import annotations_of, check_summary, comment_body, marker_of
from tests.factories import results
from tests.integration.forge.contract import contract_home, contract_url

__all__ = ["contract_home", "contract_url"]

PLACE = Place("acme/vision", 9)
SHA = "b" * 40
MARKER = marker_of(5, 1)


@pytest.fixture
def app(contract_url: str, private_key: str) -> GitHub:
    return GitHub("https://github.com", contract_url, Credentials(app_id="77", private_key=private_key))


@pytest.fixture
def token(contract_url: str) -> GitHub:
    return GitHub("https://github.com", contract_url, Credentials(token="github_pat_x"))


def check(state: CheckState, outcome: CheckOutcome | None = None, summary: str = "A summary.") -> CheckText:
    return CheckText(
        name="ratchet",
        sha=SHA,
        key=f"ratchet/5/{SHA}",
        state=state,
        title="a title",
        summary=summary,
        url="https://ratchet.test/checks/1",
        outcome=outcome,
    )


STATES = [
    (CheckState.QUEUED, None),
    (CheckState.IN_PROGRESS, None),
    *((CheckState.COMPLETED, outcome) for outcome in CheckOutcome),
]


@pytest.mark.parametrize(("state", "outcome"), STATES)
def test_a_check_run_in_every_state(app: GitHub, state: CheckState, outcome: CheckOutcome | None) -> None:
    assert app.put(PLACE, check(state, outcome), None, look_first=False) > 0
    assert app.put(PLACE, check(state, outcome), 4, look_first=False) > 0
    assert app.put(PLACE, check(state, outcome), None, look_first=True) > 0


def test_a_check_run_with_a_button_and_annotations(app: GitHub) -> None:
    text = replace(
        check(CheckState.COMPLETED, CheckOutcome.ACTION_REQUIRED),
        buttons=(APPROVE_BUTTON,),
        annotations=annotations_of(results.in_files(results.worst_case())),
    )
    assert text.annotations
    assert app.put(PLACE, text, None, look_first=False) > 0
    assert app.put(PLACE, text, 4, look_first=False) > 0


@pytest.mark.parametrize(("state", "outcome"), STATES)
def test_a_status_in_every_state(token: GitHub, state: CheckState, outcome: CheckOutcome | None) -> None:
    assert token.put(PLACE, check(state, outcome), None, look_first=False) > 0


@pytest.mark.parametrize("told", [results.regressed, results.failing, results.hostile, results.worst_case])
def test_the_texts_that_we_make(app: GitHub, token: GitHub, told: object) -> None:
    result = told()  # type: ignore[operator]
    page = "https://ratchet.test/checks/1"
    summary = check_summary(result, page)
    assert app.put(PLACE, check(CheckState.COMPLETED, CheckOutcome.FAILURE, summary), None, look_first=False)
    comment = CommentText(1, MARKER, comment_body(result, MARKER, page))
    for github in (app, token):
        assert github.put(PLACE, comment, None, look_first=True) > 0
        assert github.put(PLACE, comment, 4, look_first=False) > 0


def test_an_issue_that_is_opened_kept_true_and_closed(app: GitHub, token: GitHub) -> None:
    text = IssueText("a title", issue_marker("issue/msg_1"), "a body" + "ä" * 40_000)
    for github in (app, token):
        assert github.put(PLACE, text, None, look_first=False) > 0
        assert github.put(PLACE, text, None, look_first=True) > 0
        for is_closed in (False, True):
            assert github.put(PLACE, replace(text, is_closed=is_closed), 4, look_first=False) == 4


def test_a_pull_request(app: GitHub) -> None:
    pull = app.pull(PLACE, 1)
    assert pull.number > 0
    assert pull.is_open
    assert len(pull.head_sha) == 40


def test_the_open_pull_requests(app: GitHub) -> None:
    (pull,) = app.open_pulls(PLACE)
    assert pull.number > 0
    assert len(pull.head_sha) == 40


def test_the_pull_request_that_brought_a_commit(app: GitHub, token: GitHub) -> None:
    for github in (app, token):
        pull = github.merged_pull(PLACE, SHA, "master")
        assert pull is not None
        assert (pull.number > 0, len(pull.head_sha)) == (True, 40)
        assert github.merged_pull(PLACE, SHA, "another-branch") is None


def test_what_is_asked_again_with_the_tag_of_its_answer(app: GitHub) -> None:
    """The description tells of no tags, so the answers are the same; that the header is taken is what counts."""
    app._remembered._keep((PLACE, 1), '"a-tag"', None)
    app._remembered._keep((PLACE, "open", 1), '"a-tag"', None)
    assert app.pull(PLACE, 1).number > 0
    assert len(app.open_pulls(PLACE)) == 1


def test_messages_that_were_lost(app: GitHub, token: GitHub) -> None:
    assert token.lost_messages(datetime(2000, 1, 1, tzinfo=UTC)) == []
    assert app.lost_messages(datetime(2000, 1, 1, tzinfo=UTC)) == [], "the example has arrived"
    app.deliver_again(LostMessage(12_345_678, "0b989ba4-242f-11e5-81e1-c7b6966d2516", datetime.now(UTC)))


def test_who_may_write(app: GitHub) -> None:
    assert app.may_write(PLACE, "ada") is True


def test_what_the_doctor_asks(
    contract_url: str, private_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(private_key)
    monkeypatch.setenv("RATCHET_GITHUB_API_URL", contract_url)
    monkeypatch.setenv("RATCHET_GITHUB_APP_ID", "1")
    monkeypatch.setenv("RATCHET_GITHUB_KEY_FILE", str(tmp_path / "key"))
    settings = ServiceSettings(database_url="postgresql://", redis_url="redis://")
    found = {finding.what: finding.says for finding in inspect(settings, None)}
    assert found["App"].startswith("Octocat App")
    assert found["Installations"] == "installed at octocat"
    assert "GitHub sends to https://example.com/webhook" in found["Webhook"]
    assert "last" in found["Messages"]


def test_an_app_that_was_made_from_a_manifest(contract_url: str) -> None:
    made = take_created_app(contract_url, "c0de")
    assert made.id > 0
    assert "PRIVATE KEY" in made.private_key
    assert made.webhook_secret


def test_a_token_for_one_repository(app: GitHub) -> None:
    assert app._connection.git_token(9, "vision")


def test_what_breaks_the_description_is_refused_before_it_is_sent(app: GitHub) -> None:
    with pytest.raises(ForgeRefusedError, match="GitHub would not take it"):
        app.put(PLACE, check(CheckState.COMPLETED, None), None, look_first=False)


def test_what_is_too_long_is_cut(app: GitHub) -> None:
    assert app.put(PLACE, check(CheckState.QUEUED, summary="ä" * 70_000), None, look_first=False) > 0
    assert app.put(PLACE, CommentText(1, MARKER, "ä" * 70_000), None, look_first=False) > 0


def test_every_recorded_message_is_read_or_ignored_with_a_reason(contract_home: Path) -> None:
    index = contract_home / "node_modules/@octokit/webhooks-examples/api.github.com/index.json"
    recorded = json.loads(index.read_text())
    assert len(recorded) > 50
    for event in recorded:
        for payload in event["examples"]:
            read = read_event(event["name"], payload)
            assert not (isinstance(read, Ignored) and "not understood" in read.why), (event["name"], read)
