"""GitHub's messages, read leniently: what we need of them, and nothing else of them can be wrong.

Payloads of real repositories lack what GitHub's own description requires; whatever is not needed is not looked at, and
whatever is not understood is ignored with a reason.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from app.domain.commands import APPROVE, APPROVE_BUTTON, APPROVING_LABEL, read_command
from app.domain.forge import (
    BranchEvent,
    ButtonEvent,
    CommandEvent,
    Connected,
    Disconnected,
    Event,
    Ignored,
    MergeGroupEvent,
    Place,
    PullEvent,
    RerunEvent,
    Source,
)

PULL_ACTIONS = frozenset(
    ("opened", "synchronize", "reopened", "closed", "edited", "ready_for_review", "labeled", "unlabeled")
)
"""What happens to a pull request that may change what is to be measured, or what is to be said."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Repository(_Lenient):
    id: int
    full_name: str
    default_branch: str = "main"


class _Installation(_Lenient):
    id: int


class _Numbered(_Lenient):
    number: int


class _OfRepository(_Lenient):
    repository: _Repository
    installation: _Installation | None = None

    @property
    def source(self) -> Source:
        place = Place(
            self.repository.full_name,
            self.installation.id if self.installation else None,
            self.repository.id,
        )
        return Source(self.repository.id, place, self.repository.default_branch)


class _Person(_Lenient):
    login: str


class _Changed(_Numbered):
    updated_at: datetime | None = None


class _Label(_Lenient):
    name: str = ""


class _PullRequest(_OfRepository):
    action: str
    pull_request: _Changed
    label: _Label | None = None
    sender: _Person | None = None


class _Push(_OfRepository):
    ref: str
    deleted: bool = False


class _Group(_Lenient):
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


class _MergeGroup(_OfRepository):
    action: str
    merge_group: _Group


class _Issue(_Numbered):
    pull_request: dict[str, Any] | None = None


class _Comment(_Lenient):
    id: int
    body: str | None = None
    user: _Person | None = None
    created_at: datetime | None = None


class _IssueComment(_OfRepository):
    action: str
    issue: _Issue
    comment: _Comment


class _OfCommit(_Lenient):
    head_sha: str | None = None


class _Requested(_Lenient):
    identifier: str = ""


class _Pressed(_OfRepository):
    action: str
    check_run: _OfCommit | None = None
    check_suite: _OfCommit | None = None
    requested_action: _Requested | None = None
    sender: _Person | None = None


class _Known(_Lenient):
    id: int
    full_name: str = ""


class _InstallationRepositories(_Lenient):
    action: str
    installation: _Installation | None = None
    repositories_added: list[_Known] = []
    repositories_removed: list[_Known] = []


class _InstallationEvent(_Lenient):
    action: str
    installation: _Installation | None = None
    repositories: list[_Known] = []


def read_event(name: str, payload: Any) -> Event:
    """Return what a message says: `name` is the header `X-GitHub-Event`, `payload` its JSON."""
    read = _READERS.get(name)
    if read is None:
        return Ignored(f"nothing follows from {name}")
    try:
        return read(payload)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return Ignored(f"not understood: {where}: {first['msg']}")


def _pull_request(payload: Any) -> Event:
    message = _PullRequest.model_validate(payload)
    if message.action not in PULL_ACTIONS:
        return Ignored(f"nothing follows from a pull request that is {message.action}")
    if message.action == "labeled" and message.label and message.label.name == APPROVING_LABEL:
        author = message.sender.login if message.sender else ""
        pull = message.pull_request
        return CommandEvent(message.source, pull.number, None, author, APPROVE, pull.updated_at)
    return PullEvent(message.source, message.pull_request.number)


def _push(payload: Any) -> Event:
    message = _Push.model_validate(payload)
    if message.deleted or message.ref != f"refs/heads/{message.source.branch}":
        return Ignored("no push to the default branch")
    return BranchEvent(message.source)


def _merge_group(payload: Any) -> Event:
    message = _MergeGroup.model_validate(payload)
    if message.action not in ("checks_requested", "destroyed"):
        return Ignored(f"nothing follows from a merge group that is {message.action}")
    group = message.merge_group
    return MergeGroupEvent(
        source=message.source,
        head_sha=group.head_sha,
        head_ref=group.head_ref.removeprefix("refs/heads/"),
        base_sha=group.base_sha,
        base_ref=group.base_ref.removeprefix("refs/heads/"),
        is_destroyed=message.action == "destroyed",
    )


def _issue_comment(payload: Any) -> Event:
    message = _IssueComment.model_validate(payload)
    if message.issue.pull_request is None or message.action != "created":
        return Ignored("no new comment on a pull request")
    if read_command(message.comment.body or "") is None:
        return Ignored("a comment that asks for nothing")
    comment = message.comment
    author = comment.user.login if comment.user else ""
    body, at = comment.body or "", comment.created_at
    return CommandEvent(message.source, message.issue.number, comment.id, author, body, at)


def _pressed(payload: Any) -> Event:
    message = _Pressed.model_validate(payload)
    what = message.check_run or message.check_suite
    author = message.sender.login if message.sender else ""
    if what is not None and what.head_sha:
        if message.action == "rerequested":
            return RerunEvent(message.source, what.head_sha, author)
        asked = message.requested_action
        if message.action == "requested_action" and asked and asked.identifier == APPROVE_BUTTON.identifier:
            return ButtonEvent(message.source, what.head_sha, author, f"{APPROVE} {what.head_sha}")
    return Ignored(f"nothing follows from a check that is {message.action}")


def _installation(payload: Any) -> Event:
    message = _InstallationEvent.model_validate(payload)
    if message.action in ("created", "unsuspend"):
        return _connected(message.installation, message.repositories)
    if message.action in ("deleted", "suspend"):
        return _disconnected(message.installation, message.repositories)
    return Ignored(f"nothing follows from an installation that is {message.action}")


def _installation_repositories(payload: Any) -> Event:
    message = _InstallationRepositories.model_validate(payload)
    if message.repositories_removed:
        return _disconnected(message.installation, message.repositories_removed)
    if message.repositories_added:
        return _connected(message.installation, message.repositories_added)
    return Ignored("no repository was given or taken away")


def _connected(its: _Installation | None, repositories: list[_Known]) -> Event:
    named = tuple(
        (repository.id, repository.full_name) for repository in repositories if repository.full_name
    )
    return Connected(its.id, named) if its else Ignored("an installation that is not named")


def _disconnected(its: _Installation | None, repositories: list[_Known]) -> Event:
    if its is None and not repositories:
        return Ignored("an installation that is not named")
    return Disconnected(its.id if its else None, tuple(repository.id for repository in repositories))


def _ping(payload: Any) -> Event:
    return Ignored("the connection works")


_READERS: dict[str, Callable[[Any], Event]] = {
    "pull_request": _pull_request,
    "installation": _installation,
    "installation_repositories": _installation_repositories,
    "push": _push,
    "merge_group": _merge_group,
    "issue_comment": _issue_comment,
    "check_run": _pressed,
    "check_suite": _pressed,
    "ping": _ping,
}
