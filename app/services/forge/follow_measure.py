"""What somebody wants measured is looked at, and becomes a check; or it is said why it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place
from app.integrations.forge import Forge
from app.services.access import Principal, Scope
from app.services.check_request import CheckRequest
from app.services.forge.ask_measure import end_request, want_measuring
from app.services.forge.comparison import Comparison
from app.services.forge.follow_pull import follow_pull
from app.services.forge.look_at_commits import look_at_commits
from app.services.forge.look_at_pull import Known, Seen, look_at_pull
from app.services.forge.project_owner import why_not_its_own
from app.services.request_check import request_check
from app.store.repositories import clock, forge, measure_requests, pulls
from app.store.tables import MeasureRequest, Repository

TRIGGER = "manual"

LONGEST = timedelta(hours=1)
"""How long the forge is asked in vain."""


@dataclass(frozen=True)
class Asked:
    """A request that waits, and where its repository is."""

    request_id: int
    repository_id: int
    place: Place
    external_id: int
    branch: str
    pull: int | None
    head: str | None
    base: str | None
    suites: tuple[str, ...]
    devices: tuple[str, ...]
    approved_sha: str | None
    """The head of the pull request that somebody lets run, where it comes from a fork."""

    @property
    def is_whole_pull(self) -> bool:
        """Whether the check of a pull request itself is to be made again, and not one of a part of it."""
        return self.pull is not None and not self.suites and not self.devices


@dataclass(frozen=True)
class Refused:
    """Nothing can be measured: what was asked for is not there, or its settings are refused."""

    why: str


SeenAsked = Seen | Comparison | Refused


def take_request(session: Session, request_id: int) -> Asked | None:
    """Return a request that waits; None where something came of it, or has just because it waited too long."""
    request = measure_requests.waiting(session, request_id)
    if request is None:
        return None
    if clock.now(session) - request.created_at > LONGEST:
        end_request(session, request_id, "refused", message="the forge could not be asked for an hour")
        return None
    repository = session.get_one(Repository, request.repository_id)
    pull = None if request.pull is None else pulls.locked(session, repository.id, request.pull)
    return Asked(
        request_id=request_id,
        repository_id=repository.id,
        place=repository.place,
        external_id=repository.external_id,
        branch=repository.branch,
        pull=request.pull,
        head=request.head,
        base=request.base,
        suites=tuple(request.suites),
        devices=tuple(request.devices),
        approved_sha=None if pull is None else pull.approved_sha,
    )


def look_at_asked(its_forge: Forge, settings: ServiceSettings, asked: Asked) -> SeenAsked:
    """Ask the forge for what is to be measured, without a session. Raises what the forge raises."""
    try:
        if asked.pull is not None:
            return look_at_pull(
                its_forge,
                settings,
                asked.place,
                asked.external_id,
                asked.pull,
                Known(approved_sha=asked.approved_sha),
                asked.suites,
            )
        assert asked.head is not None
        return look_at_commits(
            its_forge,
            settings,
            asked.place,
            asked.external_id,
            asked.branch,
            asked.head,
            asked.base,
            asked.suites,
        )
    except DataError as error:
        return Refused(str(error))


def follow_request(
    session: Session, settings: ServiceSettings, asked: Asked, seen: SeenAsked, asked_at: datetime
) -> None:
    """Make the check of a request, once.

    Raises UsageError for a suite that is not there, AccessError for settings that name another project.
    """
    if isinstance(seen, Refused):
        end_request(session, asked.request_id, "refused", message=seen.why)
        return
    repository = forge.locked(session, asked.repository_id)
    request = measure_requests.waiting(session, asked.request_id)
    if request is None:
        return
    if isinstance(seen, Seen) and asked.is_whole_pull:
        _whole_pull(session, settings, request, seen, asked_at)
        return
    comparison = seen.comparison if isinstance(seen, Seen) else seen
    trouble = _trouble(seen) or why_not_its_own(session, repository, seen.settings)
    if trouble or comparison is None:
        end_request(session, request.id, "not_measured", message=trouble)
        return
    is_strange = isinstance(seen, Seen) and seen.pull.is_fork
    wanted = _wanted(asked, comparison, is_strange=is_strange)
    check = request_check(session, settings, _whoever(request), wanted)
    end_request(session, request.id, "checked", check_id=check.id)


def _whole_pull(
    session: Session, settings: ServiceSettings, request: MeasureRequest, seen: Seen, asked_at: datetime
) -> None:
    """Have the check of a pull request made again, as `/ratchet rerun` does.

    Where somebody has looked at it later, it is looked at once more.
    """
    known = pulls.locked(session, request.repository_id, seen.pull.number)
    if known is not None:
        known.rerun = True
        session.flush()
    follow_pull(session, settings, request.repository_id, seen.pull.number, seen, asked_at)
    pull = pulls.locked(session, request.repository_id, seen.pull.number)
    assert pull is not None
    if pull.rerun:
        want_measuring(session, request.id)
    elif pull.check_id is None:
        message = pull.trouble if pull.state == "open" else None
        end_request(session, request.id, "not_measured", message=message or _closed(pull.number))
    else:
        end_request(session, request.id, "checked", check_id=pull.check_id)


def _closed(number: int) -> str:
    return f"pull request {number} is not open"


def _trouble(seen: Seen | Comparison) -> str:
    if isinstance(seen, Comparison):
        return ""
    return seen.trouble if seen.pull.is_open else _closed(seen.pull.number)


def _whoever(request: MeasureRequest) -> Principal:
    """Return who asked, as the one who may have measured what is of the request's project."""
    return Principal(request.asked_by, projects={request.project_id: frozenset({Scope.JOBS_CREATE})})


def _wanted(asked: Asked, comparison: Comparison, *, is_strange: bool) -> CheckRequest:
    """Return the check: nobody knows where what was picked by hand belongs in a history, so it extends none."""
    return replace(
        comparison.request(TRIGGER, f"{TRIGGER}/{asked.request_id}"),
        devices=asked.devices,
        base_branch="",
        benchmarks_from="base" if is_strange else "head",
        untrusted=is_strange,
    )
