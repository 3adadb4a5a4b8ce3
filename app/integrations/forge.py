"""The one interface to code forges: what is asked of them and what is said to them.

Raises, of every method: `ForgeMovedError` where the repository is elsewhere now,
`ForgeBusyError` where the forge asks for time, `ForgeRefusedError` where it will not take it
however often it is asked, `UnavailableError` where nobody knows whether it was heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from app.domain.errors import UnavailableError
from app.domain.forge import LostMessage, MergedPull, OpenPull, Place, Pull, Text


class ForgeBusyError(UnavailableError):
    """The forge takes nothing more for so long."""

    code = "forge_busy"

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ForgeRefusedError(UnavailableError):
    """The forge refuses, and would again: gone, not allowed, or not as it wants it.

    `status` is HTTP's, 0 where there is none.
    """

    code = "forge_refused"

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ForgeMovedError(UnavailableError):
    """The repository is elsewhere now: renamed, or given to another account. Ask again there."""

    code = "forge_moved"

    def __init__(self, place: Place, slug: str, branch: str) -> None:
        super().__init__(f"{place.slug} is {slug} now")
        self.id, self.slug, self.branch = place.id, slug, branch


class ForgeLacksError(UnavailableError):
    """The forge has no such ref: not yet, or not any more."""

    code = "forge_lacks"


@dataclass(frozen=True)
class Quota:
    """How many calls a forge still takes of one identity, until the quota is a new one."""

    remaining: int
    until: datetime


@dataclass(frozen=True)
class Usage:
    """What calls came to: how many there were by status, `none` without an answer; quotas by whose they are."""

    calls: Mapping[str, int]
    quotas: Mapping[str, Quota]


class Forge(Protocol):
    """A code forge."""

    def pull(self, place: Place, number: int) -> Pull:
        """Return the pull request as it is now."""

    def open_pulls(self, place: Place) -> list[OpenPull]:
        """Return all pull requests of the repository that are open now."""

    def merged_pull(self, place: Place, sha: str, branch: str) -> MergedPull | None:
        """Return the pull request whose merging brought a commit to the branch; None where none did.

        However it was merged: with a merge commit, squashed, or rebased.
        """

    def fetch(self, place: Place, into: Path, refs: Mapping[str, str]) -> None:
        """Bring refs and their history into a bare repository, made if it is new: theirs → what we call it there.

        A name that ends in `/*` is all refs that begin so; those that are gone go there, too.
        Raises ForgeLacksError for any other name that is of no ref.
        """

    def may_write(self, place: Place, login: str) -> bool:
        """Say whether this person may push to the repository."""

    def put(self, place: Place, text: Text, known_id: int | None, *, look_first: bool) -> int:
        """Have the forge say this, and return its id of it.

        Args:
            place: the repository.
            text: a check on a commit, a pull request's comment, or an issue.
            known_id: the forge's id of what is there already; None if nothing is known to be.
            look_first: an earlier try may have had an effect: what bears our key is taken for ours.
        """

    def has_ended(self, place: Place, sha: str, name: str) -> bool:
        """Say whether the forge has it from us how a check of this name of a commit ended."""

    def lost_messages(self, since: datetime) -> list[LostMessage]:
        """Return the failed tries to deliver messages to us since then; none where the forge tells us of none."""

    def deliver_again(self, message: LostMessage) -> None:
        """Have a message sent once more."""

    def usage(self) -> Usage:
        """Return what was called since this was last asked; it raises nothing."""
