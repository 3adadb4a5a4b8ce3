"""One step of the pruning: what a single short transaction looks at, and what it came upon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

BATCH = 1_000
"""Rows that one step looks at, and deletes, at the most."""


@dataclass(frozen=True)
class Reach:
    """What a step is about: what arrived before a time and is behind a cursor, some rows of it."""

    before: datetime
    after: int = 0
    most: int = BATCH
    is_dry: bool = False
    """Whether it is only counted."""


@dataclass(frozen=True)
class Found:
    """What a step came upon: where the next one goes on, and how many rows were due, their size and the oldest time."""

    last: int
    has_more: bool
    rows: int
    size_b: int
    oldest: datetime | None


Step = Callable[[Session, Reach], Found]
