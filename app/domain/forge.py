"""A code forge as Ratchet sees it: repositories, pull requests, what it is told of them, what it says back.

GitHub is the forge that is built; another needs these words and `integrations.forge.Forge`, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True)
class Place:
    """A repository on its forge: `owner/name` as it is called now, and what the service reaches it through.

    `installation` is the forge's id of the app's installation there; None with a plain token. `id` is the forge's id of
    the repository, which stays when it is renamed or moves; 0 where it is not known.
    """

    slug: str
    installation: int | None = None
    id: int = 0

    @property
    def owner(self) -> str:
        """The account that it belongs to."""
        return self.slug.partition("/")[0]

    @property
    def name(self) -> str:
        """Its name in that account."""
        return self.slug.partition("/")[2]


@dataclass(frozen=True)
class Pull:
    """A pull request as the forge has it now."""

    number: int
    title: str
    author: str
    is_open: bool
    is_merged: bool
    base_ref: str
    head_sha: str
    head_repository: int | None
    """The forge's id of the repository that the head is in; None where that was deleted."""
    base_repository: int

    @property
    def is_fork(self) -> bool:
        """Whether the head is in a repository that others may write to."""
        return self.head_repository != self.base_repository


@dataclass(frozen=True)
class OpenPull:
    """As much of an open pull request as a list tells."""

    number: int
    head_sha: str
    base_ref: str


@dataclass(frozen=True)
class MergedPull:
    """As much of a merged pull request as the list of a commit's pull requests tells."""

    number: int
    head_sha: str
    merged_at: datetime


@dataclass(frozen=True)
class LostMessage:
    """A try of the forge to deliver a message that has failed; `guid` is the message's, `id` that of the try."""

    id: int
    guid: str
    sent_at: datetime


class CheckState(StrEnum):
    """Where a check on the forge stands."""

    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class CheckOutcome(StrEnum):
    """What a completed check tells the forge."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    CANCELLED = "cancelled"
    ACTION_REQUIRED = "action_required"
    """Nothing goes on before somebody has said so."""


@dataclass(frozen=True)
class Button:
    """Something that people can ask for where they read a check: what it says, what it does, and its name for us."""

    label: str
    description: str
    identifier: str


@dataclass(frozen=True)
class Annotation:
    """What is said beside a line of a file of the commit, in plain text."""

    file: str
    line: int
    title: str
    message: str


@dataclass(frozen=True)
class CheckText:
    """What a check on a commit should say. `outcome` is set exactly where `state` is completed."""

    name: str
    sha: str
    key: str
    """Ours: a check that has it is ours, whatever became of the answer to its creation."""
    state: CheckState
    title: str
    summary: str
    """Markdown."""
    url: str = ""
    outcome: CheckOutcome | None = None
    buttons: tuple[Button, ...] = ()
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True)
class CommentText:
    """What a comment of ours on a pull request should say, in Markdown; it begins with `marker`."""

    number: int
    marker: str
    body: str


@dataclass(frozen=True)
class IssueText:
    """What an issue of ours should say, in Markdown; its body begins with `marker`."""

    title: str
    marker: str
    body: str
    is_closed: bool = False


Text = CheckText | CommentText | IssueText


@dataclass(frozen=True)
class Source:
    """The repository that a message of the forge is about: the forge's id of it, and what it is called now."""

    id: int
    place: Place
    branch: str
    """Its default branch."""


@dataclass(frozen=True)
class PullEvent:
    """Something happened to a pull request: it is to be looked at. What it was is not trusted, as messages overtake."""

    source: Source
    number: int


@dataclass(frozen=True)
class BranchEvent:
    """Somebody pushed to the repository's default branch: it is to be looked at."""

    source: Source


@dataclass(frozen=True)
class MergeGroupEvent:
    """A merge queue's group waits for its check, or is no more."""

    source: Source
    head_sha: str
    head_ref: str
    """The branch that the queue made for it, without `refs/heads/`."""
    base_sha: str
    base_ref: str
    """The branch that it is merged into, without `refs/heads/`."""
    is_destroyed: bool


@dataclass(frozen=True)
class CommandEvent:
    """Somebody asked for something in a pull request's comment, or by a label that says the same."""

    source: Source
    number: int
    comment: int | None
    """The forge's id of the comment, None of a label."""
    author: str
    text: str
    at: datetime | None = None
    """When, by the forge's clock."""


@dataclass(frozen=True)
class ButtonEvent:
    """Somebody pressed a button of ours on a commit's check; `text` is the command that says the same."""

    source: Source
    sha: str
    author: str
    text: str


@dataclass(frozen=True)
class RerunEvent:
    """Somebody pressed a button of the forge that asks for a commit's check once more."""

    source: Source
    sha: str
    author: str


@dataclass(frozen=True)
class Connected:
    """These repositories are reached through this installation now: the forge's id of each, and what it is called.

    None of them are named where all that were reached through it are again.
    """

    installation: int
    repositories: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Disconnected:
    """The service may not reach these repositories any more through this installation; through another one it may.

    None of them are named where that is so of all. Without an installation it is so through any.
    """

    installation: int | None
    repositories: tuple[int, ...]


@dataclass(frozen=True)
class Ignored:
    """Something that nothing follows from."""

    why: str


Event = (
    PullEvent
    | BranchEvent
    | MergeGroupEvent
    | CommandEvent
    | ButtonEvent
    | RerunEvent
    | Connected
    | Disconnected
    | Ignored
)
