"""Which commit somebody means by the first digits of its id."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.store.repositories import projects
from app.store.tables import Commit

_PREFIX = re.compile(r"[0-9a-f]{7,64}")


def looks_like_commit(text: str) -> bool:
    """Tell whether it is at least seven hexadecimal digits."""
    return _PREFIX.fullmatch(text.lower()) is not None


def commits_named(session: Session, project_id: int, text: str) -> Sequence[Commit]:
    """Return the commit of these digits, or two where they are the beginning of several; none for any other text."""
    if not looks_like_commit(text):
        return []
    digits = text.lower()
    found = projects.commits_like(session, project_id, digits)
    return found[:1] if found and found[0].sha == digits else found
