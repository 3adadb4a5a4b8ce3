"""How people name a commit: by a branch or an id, and how many commits before that."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.errors import DataError

LONGEST = 255
_WRITTEN = re.compile(
    r"(?P<name>[^\s~^:?*\[\\\x00-\x1f-][^\s~^:?*\[\\\x00-\x1f]*)(?P<up>(?:[~^]\d{0,4}){0,9})"
)
_ID = re.compile(r"[0-9a-fA-F]{7,64}")


@dataclass(frozen=True)
class Revision:
    """A branch or a commit's id, and git's words for an ancestor of it: empty, `~3`, `^2`."""

    name: str
    up: str = ""

    @property
    def may_be_id(self) -> bool:
        """Whether the name can be a commit's id, or the first seven or more characters of one."""
        return _ID.fullmatch(self.name) is not None


def read_revision(text: str) -> Revision:
    """Return what the text names. Raises DataError for what is no branch and no id, such as git's other words."""
    found = _WRITTEN.fullmatch(text)
    if found is None or len(text) > LONGEST or ".." in text or "@{" in text:
        raise DataError(
            f"{text[:80]!r} names no commit: right is a branch, a commit's id, or one of them with ~1",
            code="bad_revision",
        )
    return Revision(found["name"], found["up"])
