"""A merge queue's group: its check is made, or it is said why there is none; that of one that is no more is let go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.access import FORGE
from app.services.cancel_check import cancel_check
from app.services.check_request import CheckRequest
from app.services.forge.comparison import Comparison
from app.services.forge.look_at_group import Queued, SeenGroup
from app.services.forge.merge_queue import want_group
from app.services.forge.project_owner import request_for, why_not_its_own
from app.services.forge.tell_group import pull_number, tell_group
from app.services.forge.tell_pull import tell_ended
from app.store.repositories import checks, clock, forge, merge_groups
from app.store.tables import MergeGroup, Repository

TRIGGER = "merge_group"

BELOW_S = 10.0
"""When it is looked at again whether the group below in the queue is known [s]."""

PATIENCE = timedelta(minutes=10)
"""How long the message of the group below is waited for."""

LONGEST = timedelta(hours=6)
"""How long a group is looked at in vain: GitHub's queues wait no longer for a check."""

UNKNOWN = "its branch does not tell which pull request it is of"
TOO_LATE = "it could not be looked at for six hours"
ON_UNKNOWN = "it is on top of a group of the queue that is not known"
ON_KEPT_OUT = "it is on top of a group of the queue whose code is not run"


def take_group(session: Session, settings: ServiceSettings, group_id: int) -> Queued | None:
    """Return a group that is to be looked at; None where its check is there, or it is no more and let go."""
    repository, group = _locked(session, group_id)
    number = pull_number(group.head_ref)
    if group.state == "destroyed":
        _let_go(session, settings, repository, group, "the merge queue has let it go")
    elif number is None:
        refuse_group(session, settings, group_id, UNKNOWN)
    elif group.check_id is None and clock.now(session) - group.created_at > LONGEST:
        refuse_group(session, settings, group_id, TOO_LATE)
    elif group.check_id is None or group.rerun:
        return _queued(repository, group, number)
    return None


def _queued(repository: Repository, group: MergeGroup, number: int) -> Queued:
    return Queued(
        group.id,
        repository.id,
        repository.place,
        repository.external_id,
        number,
        group.head_sha,
        group.head_ref,
        group.base_sha,
        group.base_ref,
    )


def _locked(session: Session, group_id: int) -> tuple[Repository, MergeGroup]:
    """Lock the repository, then the group."""
    repository_id = session.get_one(MergeGroup, group_id).repository_id
    return forge.locked(session, repository_id), merge_groups.locked(session, group_id)


def follow_group(session: Session, settings: ServiceSettings, group_id: int, found: SeenGroup) -> None:
    """Have measured what is to be measured, once, or have it told why nothing is."""
    repository, group = _locked(session, group_id)
    if group.state == "destroyed" or (group.check_id is not None and not group.rerun):
        want_group(session, group_id)
        return
    seen, below = found.seen, _below(session, repository, group) if found.is_on_top else _Below()
    if below.is_unknown and clock.now(session) - group.created_at < PATIENCE:
        want_group(session, group_id, delay_s=BELOW_S)
        return
    group.is_kept_out = found.is_kept_out or bool(below.why)
    trouble = seen.trouble or below.why or why_not_its_own(session, repository, seen.settings)
    if trouble or seen.comparison is None:
        _not_measured(session, settings, repository, group, trouble)
        return
    _let_go(session, settings, repository, group, "measured again")
    group.checks_made += 1  # under the group's lock
    wanted = _wanted(group, seen.comparison, is_on_top=found.is_on_top)
    group.check_id = request_for(session, settings, repository, wanted).id
    group.trouble, group.rerun = None, False
    session.flush()
    tell_group(session, settings, repository, group)


@dataclass(frozen=True)
class _Below:
    """What the group below in the queue means for one on top of it: why that is not run, either."""

    why: str = ""
    is_unknown: bool = False


def _below(session: Session, repository: Repository, group: MergeGroup) -> _Below:
    below = merge_groups.of_head(session, repository.id, group.base_sha)
    if below is not None and below.is_kept_out:
        return _Below(ON_KEPT_OUT)
    is_looked_at = below is not None and (below.check_id is not None or below.trouble is not None)
    return _Below() if is_looked_at else _Below(ON_UNKNOWN, is_unknown=True)


def refuse_group(session: Session, settings: ServiceSettings, group_id: int, why: str) -> None:
    """Have it told that nothing is measured, and why; nobody knows what is in it."""
    repository, group = _locked(session, group_id)
    if group.state == "open":
        group.is_kept_out = True
        _not_measured(session, settings, repository, group, why)


def _not_measured(
    session: Session, settings: ServiceSettings, repository: Repository, group: MergeGroup, why: str
) -> None:
    _let_go(session, settings, repository, group, "measured again")
    group.trouble, group.rerun = why, False
    session.flush()
    tell_group(session, settings, repository, group)


def _let_go(
    session: Session, settings: ServiceSettings, repository: Repository, group: MergeGroup, why: str
) -> None:
    """Cancel a group's check, if it goes on, and have the forge told that it has ended."""
    check = None if group.check_id is None else checks.one(session, group.check_id)
    if check is not None and check.state != "complete":
        cancel_check(session, FORGE, check.id)
        tell_ended(session, settings, repository, check.id, group.head_sha, why)
    group.check_id = None
    session.flush()


def _wanted(group: MergeGroup, comparison: Comparison, *, is_on_top: bool) -> CheckRequest:
    wanted = comparison.request(TRIGGER, f"{TRIGGER}/{group.id}/{group.checks_made}")
    return replace(wanted, base_branch="" if is_on_top else group.base_ref)
