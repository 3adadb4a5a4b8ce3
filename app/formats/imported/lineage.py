"""The commits of one branch as a git clone knows them: first parents only, oldest first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from app.formats.imported.model import ImportedCommit

_SHORTEST = 7
"""Digits of the shortest abbreviation of a commit's id that is looked up, git's own default."""


class Lineage:
    """A branch. `commits` are on its line of first parents, oldest first, each with everything that git tells."""

    def __init__(self, name: str, commits: Sequence[ImportedCommit]) -> None:
        self.name = name
        self._commits = {commit.sha: replace(commit, position=place) for place, commit in enumerate(commits)}
        self._shas = sorted(self._commits)

    def __len__(self) -> int:
        return len(self._shas)

    def find(self, sha: str) -> ImportedCommit | None:
        """Return the commit of this id, also of an abbreviated one; None where none, or several, can be meant."""
        wanted = sha.lower()
        if (found := self._commits.get(wanted)) is not None or len(wanted) < _SHORTEST:
            return found
        at = bisect_left(self._shas, wanted)
        meant = [one for one in self._shas[at : at + 2] if one.startswith(wanted)]
        return self._commits[meant[0]] if len(meant) == 1 else None
