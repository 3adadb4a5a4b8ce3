"""The one interface to code forges: what is asked of them and what is said to them.

Raises, of every method: `ForgeBusyError` where the forge asks for time, `ForgeRefusedError` where it will not take it
however often it is asked, `UnavailableError` where nobody knows whether it was heard.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from app.domain.errors import UnavailableError
from app.domain.forge import OpenPull, Place, Pull, Text


class ForgeBusyError(UnavailableError):
    """The forge takes nothing more for so long."""

    code = "forge_busy"

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ForgeRefusedError(UnavailableError):
    """The forge refuses, and would again: gone, not allowed, or not as it wants it."""

    code = "forge_refused"


class ForgeLacksError(UnavailableError):
    """The forge has no such ref: not yet, or not any more."""

    code = "forge_lacks"


class Forge(Protocol):
    """A code forge."""

    def pull(self, place: Place, number: int) -> Pull:
        """Return the pull request as it is now."""

    def open_pulls(self, place: Place) -> list[OpenPull]:
        """Return all pull requests of the repository that are open now."""

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
            text: a check on a commit, or a pull request's comment.
            known_id: the forge's id of what is there already; None if nothing is known to be.
            look_first: an earlier try may have had an effect: what bears our key is taken for ours.
        """
