"""What the forge should say of a pull request just now: its check, the one comment, or why there is neither."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.forge import CheckOutcome, CheckState, CommentText
from app.domain.results import CheckResult
from app.reports.pull_request import (
    accepted_run,
    comment_body,
    ended_run,
    is_worth_a_comment,
    marker_of,
    run_of_check,
    unapproved_run,
    untaken_run,
)
from app.services.forge.want_text import run_key, want_run, want_text
from app.services.read_check import read_check
from app.services.report_links import report_link
from app.settings.values import COMMENTS
from app.store.repositories import pulls, targets
from app.store.tables import Check, PullRequest, Repository


def tell_pull(session: Session, settings: ServiceSettings, repository: Repository, pull: PullRequest) -> None:
    """Have the forge told how a pull request stands. The caller has locked it: what is newer must not be overtaken."""
    if pull.check_id is None:
        _tell_why_not(session, repository, pull)
        return
    result = tell_check(session, settings, repository, pull.check_id, pull)
    check = session.get_one(Check, result.id)
    if check.adopted_at is not None:
        return
    page, when = report_link(session, settings, check), check.settings.get("comment", COMMENTS[0])
    _comment(session, repository, pull, result, page, when)


def tell_check(
    session: Session,
    settings: ServiceSettings,
    repository: Repository,
    check_id: int,
    pull: PullRequest | None,
) -> CheckResult:
    """Have the forge told how a check stands, and return it; what somebody accepted of the pull request passes.

    Of one whose end the forge has had from a service that was lost since, it keeps what it was told then.
    """
    result = read_check(session, check_id)
    check = session.get_one(Check, result.id)
    if check.adopted_at is not None:
        return result
    text = run_of_check(result, report_link(session, settings, check), strict=check.settings["strict"])
    if text.state is not CheckState.COMPLETED:  # whoever follows it wants the page that renews itself
        text = replace(text, url=_page(settings, check.id))
    want_run(session, repository, text, f"{result.id}", asked_at=check.created_at)
    is_accepted = pull is not None and pull.accepted_sha == pull.head_sha
    if pull is not None and is_accepted and text.outcome in (CheckOutcome.FAILURE, CheckOutcome.NEUTRAL):
        passing = accepted_run(text, pull.accepted_by or "", pull.accepted_reason or "")
        want_run(session, repository, passing, f"{result.id}/accepted")
    return result


def tell_ended(
    session: Session, settings: ServiceSettings, repository: Repository, check_id: int, sha: str, why: str
) -> None:
    """Have the forge told that the check of a head is not gone on with."""
    want_run(session, repository, ended_run(sha, why, _page(settings, check_id)), f"{check_id}")


def tell_untaken(session: Session, repository: Repository, sha: str, why: str | None, which: str) -> None:
    """Have the forge told that nothing is measured of a head, and why; `which` tells whose head it is."""
    want_run(session, repository, untaken_run(sha, why or "nothing of it is measured"), which)


def _page(settings: ServiceSettings, check_id: int) -> str:
    return f"{settings.address}/checks/{check_id}"


def _tell_why_not(session: Session, repository: Repository, pull: PullRequest) -> None:
    """Have it told that nothing is measured; not over what another pull request's check says of the same commit."""
    others = pulls.of_head(session, repository.id, pull.head_sha)
    if any(other.check_id is not None for other in others):
        return
    which = _untaken_name(pull)
    if awaits_approval(pull):
        want_run(session, repository, unapproved_run(pull.head_sha, pull.base_ref), which)
    else:
        tell_untaken(session, repository, pull.head_sha, pull.trouble, which)


def awaits_approval(pull: PullRequest) -> bool:
    """Tell whether its head is a fork's that nobody has let run."""
    return pull.state == "open" and pull.is_fork and pull.approved_sha != pull.head_sha


def untaken_key(pull: PullRequest) -> str:
    """Return the key of what the forge is told of a head of which nothing is measured."""
    return run_key(pull.repository_id, pull.head_sha, _untaken_name(pull))


def _untaken_name(pull: PullRequest) -> str:
    return f"pull {pull.number}"


def _comment(
    session: Session, repository: Repository, pull: PullRequest, result: CheckResult, page: str, when: str
) -> None:
    """Have the comment made where there is something to say, and an earlier one brought up to date."""
    key = f"comment/{repository.id}/{pull.number}"
    if pull.state != "open" or result.conclusion is None:
        return
    has_one = targets.one(session, key) is not None
    if when != "never" and (when == "always" or has_one or is_worth_a_comment(result)):
        marker = marker_of(repository.external_id, pull.number)
        text = CommentText(pull.number, marker, comment_body(result, marker, page))
        want_text(session, repository, key, text)
