"""A pull request was looked at: its check is made, or it is said why there is none; an older one is let go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.forge import Pull
from app.domain.jobs import JobState
from app.services.access import FORGE
from app.services.cancel_check import cancel_check
from app.services.check_request import CheckRequest
from app.services.forge.comparison import Compared, Comparison
from app.services.forge.look_at_pull import EVENT, Known, Seen, wished_of
from app.services.forge.project_owner import request_for, why_not_its_own
from app.services.forge.receive_delivery import want_look
from app.services.forge.tell_pull import tell_ended, tell_pull
from app.services.plan_check import Wish
from app.settings import matching_classes
from app.store.repositories import checks, forge, jobs, pulls
from app.store.tables import PullRequest, Repository


def follow_pull(
    session: Session,
    settings: ServiceSettings,
    repository_id: int,
    number: int,
    seen: Seen,
    asked_at: datetime,
) -> None:
    """Store what was seen when it was asked for, and have measured what is to be measured; not what is known newer."""
    repository = forge.locked(session, repository_id)
    pull = pulls.locked(session, repository_id, number)
    if pull is not None and pull.seen_at > asked_at:
        return
    pull = _stored(session, repository, pull, seen.pull)
    pull.seen_at = asked_at
    if pull.state != "open":
        pull.rerun, pull.wishes = False, []
        _let_go(session, settings, repository, pull, "the pull request was closed")
        return
    trouble = seen.trouble or why_not_its_own(session, repository, seen.settings)
    if trouble or seen.comparison is None:
        _let_go(session, settings, repository, pull, f"superseded by {pull.head_sha[:10]}")
        pull.wishes = [wish for wish in pull.wishes if Wish(**wish) not in seen.wishes]
        if pull.wishes:  # they came after it was looked at, and may be what there is to measure
            want_look(session, repository_id, number)
    elif pull.rerun or pull.wishes or not _has_its_check(session, pull, seen.comparison):
        if not seen.comparison.bundle:  # it had a check when it was looked at
            want_look(session, repository_id, number)
            return
        pull.checks_made += 1  # under the pull request's lock
        wanted = _wanted(session, repository, pull, seen.comparison)
        check_id = request_for(session, settings, repository, wanted).id
        _let_go(session, settings, repository, pull, f"superseded by {pull.head_sha[:10]}")
        pull.check_id, pull.wishes = check_id, []
    pull.base_sha, pull.trouble = seen.base_sha, trouble or None
    pull.rerun = False
    session.flush()
    tell_pull(session, settings, repository, pull)


def _stored(session: Session, repository: Repository, pull: PullRequest | None, told: Pull) -> PullRequest:
    fields = {
        "title": told.title,
        "author": told.author,
        "state": "open" if told.is_open else "merged" if told.is_merged else "closed",
        "is_fork": told.is_fork,
        "base_ref": told.base_ref,
        "head_sha": told.head_sha,
    }
    if pull is None:
        pull = PullRequest(repository_id=repository.id, number=told.number, **fields)
        session.add(pull)
    if pull.head_sha != told.head_sha:
        pull.retries = 0
    for name, value in fields.items():
        setattr(pull, name, value)
    session.flush()
    return pull


def _has_its_check(session: Session, pull: PullRequest, comparison: Comparison) -> bool:
    """Say whether the check that there is compares just what was seen, by the same settings."""
    return _compared(session, pull) == comparison.compared


def known_of(session: Session, repository_id: int, number: int) -> Known:
    """Return what is known of a pull request."""
    pull = pulls.locked(session, repository_id, number)
    if pull is None:
        return Known()
    return Known(_compared(session, pull), pull.rerun, pull.approved_sha, _wishes(pull))


def refuse_look(session: Session, repository_id: int, number: int, why: str) -> None:
    """Note that the forge does not tell of a pull request: what is wanted of it is not asked for again and again."""
    pull = pulls.locked(session, repository_id, number)
    if pull is not None:
        pull.rerun, pull.wishes, pull.trouble = False, [], why


def _wishes(pull: PullRequest) -> tuple[Wish, ...]:
    return tuple(Wish(**wish) for wish in pull.wishes)


def _compared(session: Session, pull: PullRequest) -> Compared | None:
    found = None if pull.check_id is None else checks.with_context(session, pull.check_id)
    return None if found is None else (found[2].sha, found[3].sha, found[0].settings["digest"])


def _let_go(
    session: Session,
    settings: ServiceSettings,
    repository: Repository,
    pull: PullRequest,
    why: str,
) -> None:
    """Cancel the check of an earlier head, or of a closed pull request, and have the forge told that it has ended.

    One of the same head is measured again, whatever else is said of the others.
    """
    found = None if pull.check_id is None else checks.with_context(session, pull.check_id)
    if found is None:
        return
    check, head = found[0], found[3]
    if check.state != "complete":
        cancel_check(session, FORGE, check.id)
        is_again = pull.state == "open" and head.sha == pull.head_sha
        tell_ended(session, settings, repository, check.id, head.sha, "measured again" if is_again else why)
    pull.check_id = None
    session.flush()


def _wanted(
    session: Session, repository: Repository, pull: PullRequest, comparison: Comparison
) -> CheckRequest:
    has_check = _has_its_check(session, pull, comparison)
    besides = _besides(session, pull, comparison) if has_check and pull.rerun else ()
    key = f"pull/{repository.id}/{pull.number}/{pull.checks_made}"
    return replace(
        comparison.request(EVENT, key),
        base_branch=pull.base_ref,
        wishes=(*besides, *wished_of(_wishes(pull), comparison.settings)),
        beside=pull.check_id if has_check and not pull.rerun else None,
        benchmarks_from="base" if pull.is_fork else "head",
        untrusted=pull.is_fork,
    )


def _besides(session: Session, pull: PullRequest, comparison: Comparison) -> tuple[Wish, ...]:
    """Return what was measured of a pull request only because somebody had asked for it: it is measured again, too."""
    assert pull.check_id is not None
    check = checks.one(session, pull.check_id)
    assert check is not None
    suites = comparison.settings.suites
    usual = {suite.name: suite.devices for suite in suites if suite.name in comparison.suites}
    return tuple(
        Wish(job.suite, "" if job.state == JobState.NO_CAPACITY else job.device_class)
        for job in jobs.of_request(session, check.request_id)
        if not matching_classes(usual.get(job.suite, ()), (job.device_class,))
    )
