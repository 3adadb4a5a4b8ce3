"""Somebody wants what became worse, before it is merged or after: it is recorded with the reason, and told no more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from app.services.change_settled import find_unfollowed
from app.store.tables import AuditLog
from tests.integration.forge.conftest import Begin
from tests.integration.forge.merging import BETTER, MIB, MORE, OTHER, Line, line, worse
from tests.integration.forge.test_commands import answers, say
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres

__all__ = ["line"]

WHY = "the cache is worth it"


@pytest.fixture
def told(line: Line, begin: Begin) -> Line:
    """A merged pull request that was told that it made something worse, and somebody who may say something to it."""
    begin(tell, line)
    return line


def tell(line: Line) -> None:
    """Have what a merged pull request made worse be told."""
    line.world.github.writers = {"grace"}
    worse(line)
    line.world.settle()


@pytest.fixture
def accepted_open(line: Line, begin: Begin) -> Line:
    """An open pull request that somebody has accepted as it is, once it was measured."""
    begin(accept, line)
    return line


def accept(line: Line) -> None:
    """Have somebody accept an open pull request."""
    line.world.github.writers = {"grace"}
    measure(line.world, slower=1.2)
    line.world.settle()
    say(line.world, f"/ratchet accept {WHY}")


def acceptance(line: Line) -> dict[str, Any] | None:
    """Return the acceptance of the newest change, as the API tells it."""
    found: dict[str, Any] | None = line.changes()[0]["acceptance"]
    return found


def test_a_merged_pull_request_is_accepted_and_its_comment_says_so(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    (comment,) = told.notices()
    assert comment.startswith("### ✓ Accepted: 1 result is worse since this was merged")
    assert f"| `grace` | {WHY} |" in comment
    assert "/ratchet accept" not in comment
    said = acceptance(told)
    assert said is not None
    assert (said["by"], said["reason"], said["pull_request"]) == ("grace", WHY, 1)
    assert datetime.fromisoformat(said["at"]).tzinfo is not None
    assert told.changes()[0]["pull_request"] == 1
    assert answers(told.world) == []


def test_who_accepted_is_in_the_audit_log(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    with told.world.service.database.session() as session:
        (entry,) = session.scalars(select(AuditLog).where(AuditLog.action == "changes.accepted"))
        assert (entry.actor, entry.detail) == ("grace", {"asked": f"/ratchet accept {WHY}", "changes": 1})


def test_who_may_not_push_accepts_nothing(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}", author="mallory")
    assert acceptance(told) is None
    assert answers(told.world) == ["Only people with write access to this repository can ask for that."]


def test_what_was_accepted_keeps_its_numbers_and_stays_confirmed(told: Line) -> None:
    (before,) = told.changes()
    say(told.world, f"/ratchet accept {WHY}")
    (after,) = told.changes()
    assert before | {"acceptance": None} == after | {"acceptance": None}


def test_what_was_accepted_is_neither_told_nor_wanted_again(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    calls = len(told.world.github.calls)
    for _ in range(3):
        told.grow("one more")
        told.measure(MORE)
    told.world.settle()
    assert len(told.world.github.calls) == calls
    headers = {"Authorization": f"Bearer {told.token}"}
    wanted = told.world.client.get("/api/v1/wanted", params={"project": "acme/vision"}, headers=headers)
    assert wanted.json()["wanted"] == []
    with told.world.service.database.session() as session:
        assert find_unfollowed(session, older_than=timedelta(0)) == 0


def test_the_first_reason_stays(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    say(told.world, "/ratchet accept another reason")
    said = acceptance(told)
    assert said is not None
    assert said["reason"] == WHY
    assert answers(told.world) == ["This pull request is not open, so there is nothing to do."]


def test_what_is_found_later_is_told_beside_what_was_accepted(line: Line) -> None:
    for sha in line.commits:
        line.measure(10 * MIB, sha=sha, **OTHER)
    line.world.github.writers = {"grace"}
    worse(line)
    line.world.settle()
    say(line.world, f"/ratchet accept {WHY}")
    line.measure(20 * MIB, **OTHER)
    line.world.settle()
    (comment,) = line.notices()
    assert comment.startswith("### ✗ 1 result is worse since this was merged · decode")
    assert "#### Accepted (1)" in comment


def test_what_is_taken_back_is_so_although_it_was_accepted(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    told.measure(BETTER)
    told.world.settle()
    (comment,) = told.notices()
    assert comment.startswith("### ✓ Taken back")


def test_what_was_accepted_while_it_was_open_is_recorded_and_not_told(accepted_open: Line) -> None:
    worse(accepted_open)
    accepted_open.world.settle()
    assert accepted_open.notices() == []
    said = acceptance(accepted_open)
    assert said is not None
    assert (said["by"], said["reason"], said["pull_request"]) == ("grace", WHY, 1)
    (change,) = accepted_open.changes()
    assert said["at"] < change["confirmed_at"]


def test_an_acceptance_of_an_earlier_head_counts_for_nothing(accepted_open: Line) -> None:
    accepted_open.world.push(1, "pushed after it was accepted")
    accepted_open.world.happens(1, "synchronize")
    worse(accepted_open)
    accepted_open.world.settle()
    assert acceptance(accepted_open) is None
    assert len(accepted_open.notices()) == 1


def test_commits_of_one_pull_request_are_all_accepted_with_it(accepted_open: Line) -> None:
    worse(accepted_open, commits=3)
    accepted_open.world.settle()
    assert acceptance(accepted_open) is not None
    assert accepted_open.notices() == []


@pytest.mark.parametrize("by_pull_request", [True, False])
def test_what_others_may_have_caused_is_told_although_one_was_accepted(
    accepted_open: Line, by_pull_request: bool
) -> None:
    line = accepted_open
    if by_pull_request:
        line.world.push(2, "another change")
        line.world.happens(2, "opened")
        line.merge(2, "Read ahead")
    else:
        line.grow("pushed by hand")
    worse(line)
    line.world.settle()
    assert acceptance(line) is None
    assert len(line.notices()) == 1


def test_a_correction_inherits_the_acceptance_of_what_it_takes_the_place_of(told: Line) -> None:
    say(told.world, f"/ratchet accept {WHY}")
    with told.world.service.database.session() as session:
        columns = (
            "project_id, series_id, branch, commit_id, previous_commit_id, end_commit_id, result_id, index,"
            " end_index, before, after, change"
        )
        session.execute(text("update change_point set state = 'corrected', reason = 'it is a ramp'"))
        session.execute(
            text(
                f"insert into change_point (kind, state, confirmed_at, corrects_id, {columns})"
                f" select 'ramp', 'confirmed', clock_timestamp(), id, {columns} from change_point"
            )
        )
    with told.world.service.database.session() as session:
        assert find_unfollowed(session, older_than=timedelta(0)) == 1
    told.world.settle()
    said = acceptance(told)
    assert said is not None
    assert said["reason"] == WHY
    (comment,) = told.notices()
    assert comment.startswith("### ✓ Accepted: 1 result")
    assert "Taken back" not in comment
