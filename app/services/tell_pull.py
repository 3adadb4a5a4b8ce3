"""What the forge should say of a pull request just now; whoever writes to the forge says the newest of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Unpack

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.commands import APPROVE_BUTTON
from app.domain.forge import CheckOutcome, CheckState, CheckText, CommentText, Text
from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion
from app.reports.pull_request import (
    annotations_of,
    approval_summary,
    approval_title,
    check_summary,
    comment_body,
    is_worth_a_comment,
    marker_of,
    rests_on_rough_machines,
)
from app.reports.pull_request.markdown import code, words
from app.reports.text import shorten
from app.reports.titles import check_title
from app.services.check_moved import want_showing
from app.services.read_check import read_check
from app.services.report_links import report_link
from app.settings.values import COMMENTS
from app.store.repositories import forge, merge_groups, outbox
from app.store.tables import Check, PullRequest, Repository

NAME = "ratchet"
"""What the check is called on the forge; branch protection refers to it."""

TOPIC = "forge.tell"
LONGEST_TITLE = 250
LONGEST_LINE, MOST_LINES = 500, 50
"""Of what is said of a head that is not measured."""


OUTCOMES = {
    Conclusion.PASSED: CheckOutcome.SUCCESS,
    Conclusion.REGRESSED: CheckOutcome.FAILURE,
    Conclusion.INCONCLUSIVE: CheckOutcome.NEUTRAL,
    Conclusion.NOT_MEASURED: CheckOutcome.NEUTRAL,
}


def tell_pull(session: Session, settings: ServiceSettings, repository: Repository, pull: PullRequest) -> None:
    """Have the forge told how a pull request stands. The caller has locked it: what is newer must not be overtaken."""
    if pull.check_id is None:
        _tell_why_not(session, repository, pull)
        return
    result = tell_check(session, settings, repository, pull.check_id, pull)
    check = session.get_one(Check, result.id)
    page, when = report_link(session, settings, check), check.settings.get("comment", COMMENTS[0])
    _comment(session, repository, pull, result, page, when)


def tell_check(
    session: Session,
    settings: ServiceSettings,
    repository: Repository,
    check_id: int,
    pull: PullRequest | None,
) -> CheckResult:
    """Have the forge told how a check stands, and return it; what somebody accepted of the pull request passes."""
    result = read_check(session, check_id)
    check = session.get_one(Check, result.id)
    text = _of_check(result, report_link(session, settings, check), strict=check.settings["strict"])
    if text.state is not CheckState.COMPLETED:  # whoever follows it wants the page that renews itself
        text = replace(text, url=f"{settings.address}/checks/{check.id}")
    _want_run(session, repository, text, f"{result.id}")
    is_accepted = pull is not None and pull.accepted_sha == pull.head_sha
    if pull is not None and is_accepted and text.outcome in (CheckOutcome.FAILURE, CheckOutcome.NEUTRAL):
        _want_run(session, repository, _accepted(text, pull), f"{result.id}/accepted")
    return result


def _tell_why_not(session: Session, repository: Repository, pull: PullRequest) -> None:
    """Have it told that nothing is measured; not over what another pull request's check says of the same commit."""
    others = forge.pulls_of_head(session, repository.id, pull.head_sha)
    if not any(other.check_id is not None for other in others):
        which = _untaken_name(pull)
        if awaits_approval(pull):
            _want_run(session, repository, _unapproved(pull), which)
        else:
            tell_untaken(session, repository, pull.head_sha, pull.trouble, which)


def awaits_approval(pull: PullRequest) -> bool:
    """Tell whether its head is a fork's that nobody has let run."""
    return pull.state == "open" and pull.is_fork and pull.approved_sha != pull.head_sha


def untaken_key(pull: PullRequest) -> str:
    """Return the key of what the forge is told of a head of which nothing is measured."""
    return _run_key(pull.repository_id, pull.head_sha, _untaken_name(pull))


def _untaken_name(pull: PullRequest) -> str:
    return f"pull {pull.number}"


def _run_key(repository_id: int, sha: str, which: str) -> str:
    return f"check/{repository_id}/{sha}/{which}"


def tell_ended(
    session: Session, settings: ServiceSettings, repository: Repository, check_id: int, sha: str, why: str
) -> None:
    """Have the forge told that the check of a head is not gone on with."""
    text = CheckText(
        name=NAME,
        sha=sha,
        key="",
        state=CheckState.COMPLETED,
        title=why,
        summary=words(why),
        url=f"{settings.address}/checks/{check_id}",
        outcome=CheckOutcome.CANCELLED,
    )
    _want_run(session, repository, text, f"{check_id}")


def _want_run(session: Session, repository: Repository, text: CheckText, which: str) -> None:
    """Have a check run told. Each is of one check of ours: what has ended on GitHub is never taken up again there."""
    named = replace(text, key=f"{NAME}/{repository.external_id}/{text.sha}/{which}")
    want_text(session, repository, _run_key(repository.id, text.sha, which), named)


def _comment(
    session: Session, repository: Repository, pull: PullRequest, result: CheckResult, page: str, when: str
) -> None:
    """Have the comment made where there is something to say, and an earlier one brought up to date."""
    key = f"comment/{repository.id}/{pull.number}"
    if pull.state != "open" or result.conclusion is None:
        return
    has_one = forge.target(session, key) is not None
    if when != "never" and (when == "always" or has_one or is_worth_a_comment(result)):
        marker = marker_of(repository.external_id, pull.number)
        want_text(
            session, repository, key, CommentText(pull.number, marker, comment_body(result, marker, page))
        )


def _of_check(result: CheckResult, page: str, *, strict: bool) -> CheckText:
    state, outcome = CheckState.QUEUED, None
    if result.conclusion is not None:
        state, outcome = CheckState.COMPLETED, OUTCOMES[result.conclusion]
        if outcome is CheckOutcome.FAILURE and rests_on_rough_machines(result):
            outcome = CheckOutcome.NEUTRAL
        if strict and outcome is CheckOutcome.NEUTRAL:
            outcome = CheckOutcome.FAILURE
    elif result.state == "running":
        state = CheckState.IN_PROGRESS
    return CheckText(
        name=NAME,
        sha=result.head.sha,
        key="",
        state=state,
        title=check_title(result)[:LONGEST_TITLE],
        summary=check_summary(result, page),
        url=page,
        outcome=outcome,
        annotations=annotations_of(result) if result.conclusion is not None else (),
    )


def _accepted(text: CheckText, pull: PullRequest) -> CheckText:
    """Return a check that does not pass by itself as one that somebody lets pass."""
    by, why = pull.accepted_by or "", pull.accepted_reason or ""
    return replace(
        text,
        outcome=CheckOutcome.SUCCESS,
        annotations=(),
        title=f"accepted by {by}: {text.title}"[:LONGEST_TITLE],
        summary=f"Accepted by {code(by)}: {words(why)}\n\n{text.summary}",
    )


def tell_untaken(session: Session, repository: Repository, sha: str, why: str | None, which: str) -> None:
    """Have the forge told that nothing is measured of a head, and why; `which` tells whose head it is."""
    _want_run(session, repository, _untaken(sha, why or "nothing of it is measured"), which)


def _untaken(sha: str, why: str) -> CheckText:
    """Return what is said of a head of which nothing is measured, and why."""
    return CheckText(
        name=NAME,
        sha=sha,
        key="",
        state=CheckState.COMPLETED,
        title=f"not measured: {why.partition(chr(10))[0]}"[:LONGEST_TITLE],
        summary="\n".join(
            f"- {words(shorten(line, LONGEST_LINE))}" for line in why.splitlines()[:MOST_LINES]
        ),
        outcome=CheckOutcome.NEUTRAL,
    )


def _unapproved(pull: PullRequest) -> CheckText:
    """Return what is said of a fork's head before somebody lets it run."""
    return CheckText(
        name=NAME,
        sha=pull.head_sha,
        key="",
        state=CheckState.COMPLETED,
        title=approval_title(pull.head_sha),
        summary=approval_summary(pull.head_sha, pull.base_ref),
        outcome=CheckOutcome.ACTION_REQUIRED,
        buttons=(APPROVE_BUTTON,),
    )


def want_text(session: Session, repository: Repository, key: str, text: Text) -> None:
    """Have the forge say this under the key, in place of what it said there before."""
    kind, wanted = ("check" if isinstance(text, CheckText) else "comment"), asdict(text)
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    target = forge.want(session, key, repository.id, kind, wanted, digest)
    if target.told_digest != digest:
        want_telling(session, repository.id)


def want_telling(session: Session, repository_id: int, **when: Unpack[outbox.When]) -> None:
    """Have told what a repository's forge should say; several wishes are one."""
    payload = {"repository_id": repository_id}
    outbox.put_again(session, TOPIC, f"{TOPIC}/{repository_id}", payload, **when)


def find_untold(session: Session, *, older_than: timedelta) -> int:
    """Have told what waits although nobody is about to tell it; return of how many repositories.

    Whatever a task that died should have wished is found in what it was about.
    """
    for check_id in (*forge.unshown(session), *merge_groups.unshown(session)):
        want_showing(session, check_id, sent_before=older_than)
    waiting = {repository for _, repository in forge.waiting_targets(session)}
    for repository_id in sorted(waiting):
        want_telling(session, repository_id, sent_before=older_than)
    return len(waiting)
