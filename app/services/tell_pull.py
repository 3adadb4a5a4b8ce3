"""What the forge should say of a pull request just now; whoever writes to the forge says the newest of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.forge import CheckOutcome, CheckState, CheckText, CommentText, Text
from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion
from app.reports.pull_request import check_summary, comment_body, is_worth_a_comment, marker_of
from app.reports.pull_request.markdown import code, words
from app.reports.titles import check_title
from app.services.read_check import read_check
from app.settings.values import COMMENTS
from app.store.repositories import forge, outbox
from app.store.tables import Check, PullRequest, Repository

NAME = "ratchet"
"""What the check is called on the forge; branch protection refers to it."""

TOPIC = "forge.tell"
LONGEST_TITLE = 250

OUTCOMES = {
    Conclusion.PASSED: CheckOutcome.SUCCESS,
    Conclusion.REGRESSED: CheckOutcome.FAILURE,
    Conclusion.INCONCLUSIVE: CheckOutcome.NEUTRAL,
    Conclusion.NOT_MEASURED: CheckOutcome.NEUTRAL,
}


def show_check(session: Session, settings: ServiceSettings, check_id: int) -> None:
    """Have the forge told how a check stands, if it is a pull request's newest."""
    found = forge.pull_of_check(session, check_id)
    if found is not None:
        tell_pull(session, settings, found[1], found[0])


def tell_pull(session: Session, settings: ServiceSettings, repository: Repository, pull: PullRequest) -> None:
    """Have the forge told how a pull request stands."""
    if pull.check_id is None:
        want_text(session, repository, _check_key(repository, pull.head_sha), _untaken(repository, pull))
        return
    result = read_check(session, pull.check_id)
    page = f"{settings.address}/checks/{result.id}"
    text = _of_check(repository, result, page, strict=_is_strict(session, result.id))
    if pull.accepted_sha == pull.head_sha and text.outcome is CheckOutcome.FAILURE:
        text = _accepted(text, pull)
    want_text(session, repository, _check_key(repository, pull.head_sha), text)
    _comment(session, repository, pull, result, page)


def tell_ended(
    session: Session, settings: ServiceSettings, repository: Repository, check: Check, sha: str, why: str
) -> None:
    """Have the forge told that a check is not gone on with."""
    text = CheckText(
        name=NAME,
        sha=sha,
        key=_external_id(repository, sha),
        state=CheckState.COMPLETED,
        title=why,
        summary=words(why),
        url=f"{settings.address}/checks/{check.id}",
        outcome=CheckOutcome.CANCELLED,
    )
    want_text(session, repository, _check_key(repository, sha), text)


def _comment(
    session: Session, repository: Repository, pull: PullRequest, result: CheckResult, page: str
) -> None:
    """Have the comment made where there is something to say, and an earlier one brought up to date."""
    key = f"comment/{repository.id}/{pull.number}"
    if pull.state != "open" or result.conclusion is None:
        return
    when = session.get_one(Check, result.id).settings.get("comment", COMMENTS[0])
    has_one = forge.target(session, key) is not None
    if when != "never" and (when == "always" or has_one or is_worth_a_comment(result)):
        marker = marker_of(repository.external_id, pull.number)
        want_text(
            session, repository, key, CommentText(pull.number, marker, comment_body(result, marker, page))
        )


def _of_check(repository: Repository, result: CheckResult, page: str, *, strict: bool) -> CheckText:
    state, outcome = CheckState.QUEUED, None
    if result.conclusion is not None:
        state, outcome = CheckState.COMPLETED, OUTCOMES[result.conclusion]
        if strict and outcome is CheckOutcome.NEUTRAL:
            outcome = CheckOutcome.FAILURE
    elif result.state == "running":
        state = CheckState.IN_PROGRESS
    return CheckText(
        name=NAME,
        sha=result.head.sha,
        key=_external_id(repository, result.head.sha),
        state=state,
        title=check_title(result)[:LONGEST_TITLE],
        summary=check_summary(result, page),
        url=page,
        outcome=outcome,
    )


def _accepted(text: CheckText, pull: PullRequest) -> CheckText:
    """Return a check that does not pass by itself as one that somebody lets pass."""
    by, why = pull.accepted_by or "", pull.accepted_reason or ""
    return replace(
        text,
        outcome=CheckOutcome.SUCCESS,
        title=f"accepted by {by}: {text.title}"[:LONGEST_TITLE],
        summary=f"Accepted by {code(by)}: {words(why)}\n\n{text.summary}",
    )


def _untaken(repository: Repository, pull: PullRequest) -> CheckText:
    """Return what is said of a head of which nothing is measured, and why."""
    why = pull.trouble or "nothing of it is measured"
    return CheckText(
        name=NAME,
        sha=pull.head_sha,
        key=_external_id(repository, pull.head_sha),
        state=CheckState.COMPLETED,
        title=f"not measured: {why.partition(chr(10))[0]}"[:LONGEST_TITLE],
        summary="\n".join(f"- {words(line)}" for line in why.splitlines()),
        outcome=CheckOutcome.NEUTRAL,
    )


def _is_strict(session: Session, check_id: int) -> bool:
    return bool(session.get_one(Check, check_id).settings["strict"])


def _external_id(repository: Repository, sha: str) -> str:
    return f"{NAME}/{repository.external_id}/{sha}"


def _check_key(repository: Repository, sha: str) -> str:
    return f"check/{repository.id}/{sha}"


def want_text(session: Session, repository: Repository, key: str, text: Text) -> None:
    """Have the forge say this under the key, in place of what it said there before."""
    kind, wanted = ("check" if isinstance(text, CheckText) else "comment"), asdict(text)
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    target = forge.want(session, key, repository.id, kind, wanted, digest)
    if target.told_digest != digest:
        want_telling(session, repository.id)


def want_telling(session: Session, repository_id: int, *, delay_s: float = 0.0) -> None:
    """Have told what a repository's forge should say; several wishes are one."""
    payload = {"repository_id": repository_id}
    outbox.put_again(session, TOPIC, f"{TOPIC}/{repository_id}", payload, delay_s=delay_s)


def find_untold(session: Session, *, older_than: timedelta) -> int:
    """Have told what waits although nobody is about to tell it; return of how many repositories."""
    waiting = {repository for _, repository in forge.waiting_targets(session)}
    for repository_id in sorted(waiting):
        payload = {"repository_id": repository_id}
        outbox.put_again(session, TOPIC, f"{TOPIC}/{repository_id}", payload, sent_before=older_than)
    return len(waiting)
