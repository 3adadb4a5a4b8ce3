"""Why something that somebody may ask for cannot be done as it was asked, in words for him."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.commands import APPROVE, SETTLED_MIN, Accept, Approve, Command, Rerun, Run
from app.reports.pull_request.markdown import code
from app.services.capacity import live_classes
from app.services.forge.tell_pull import awaits_approval, untaken_key
from app.settings import matching_classes
from app.store.repositories import checks, forge, targets
from app.store.tables import PullRequest

SETTLED = timedelta(minutes=SETTLED_MIN)


def why_not(
    session: Session,
    settings: ServiceSettings,
    pull: PullRequest,
    command: Command,
    asked_at: datetime | None,
) -> str:
    """Return an answer in Markdown; empty where nothing is in the way of it."""
    if isinstance(command, Approve):
        return _not_approved(session, pull, command, asked_at)
    if awaits_approval(pull):
        return f"It comes from a fork: {code(f'{APPROVE} {pull.head_sha}')} first."
    if isinstance(command, Accept):
        return _not_accepted(session, pull)
    if isinstance(command, Run):
        return _no_suite(session, pull, command.suite) or _no_device(session, settings, pull, command.device)
    if isinstance(command, Rerun) and command.suite:
        return _no_suite(session, pull, command.suite)
    return ""


def _not_approved(session: Session, pull: PullRequest, command: Approve, asked_at: datetime | None) -> str:
    """Nobody approves what he cannot have seen: he names the commit, or the check had asked about it before."""
    if not awaits_approval(pull):
        return "Nothing waits for an approval here."
    how = f"{code(f'{APPROVE} {pull.head_sha}')} approves its newest commit as it is known now."
    if command.commit and pull.head_sha != command.commit:
        return f"{code(command.commit)} is not the newest commit of this pull request. {how}"
    if not command.commit and not _was_told(session, pull, asked_at):
        return f"It has come not long ago, or meanwhile: say which commit is meant. {how}"
    return ""


def _not_accepted(session: Session, pull: PullRequest) -> str:
    """Nobody accepts what nobody knows yet."""
    its = checks.one(session, pull.check_id) if pull.check_id is not None else None
    if its is None or its.conclusion is not None:
        return ""
    return "It is still measured: accept what it says once it has ended."


def _was_told(session: Session, pull: PullRequest, asked_at: datetime | None) -> bool:
    target = targets.one(session, untaken_key(pull))
    told_at = target.told_at if target is not None else None
    return told_at is not None and asked_at is not None and told_at + SETTLED <= asked_at


def _no_suite(session: Session, pull: PullRequest, name: str) -> str:
    """Say so where the newest settings that a check of the repository had do not have the suite."""
    known = _suites(session, pull)
    if name in known:
        return ""
    names = ", ".join(map(code, known)) or "none that was measured here"
    return f"There is no suite {code(name)}; there are: {names}."


def _suites(session: Session, pull: PullRequest) -> list[str]:
    its = checks.one(session, pull.check_id) if pull.check_id is not None else None
    newest = its or forge.newest_check(session, pull.repository_id)
    return list(newest.settings.get("suites", ())) if newest is not None else []


def _no_device(session: Session, settings: ServiceSettings, pull: PullRequest, glob: str) -> str:
    live = live_classes(session, settings, untrusted=pull.is_fork)
    if matching_classes((glob,), live):
        return ""
    names = ", ".join(map(code, live)) or "none just now"
    pool = "worker that takes forks" if pull.is_fork else "worker"
    return f"No {pool} has a device of class {code(glob)}; connected are: {names}."
